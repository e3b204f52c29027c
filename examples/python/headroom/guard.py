# Distributed under the Boost Software License, Version 1.0.
"""Before the first step: refuse. After it: compare what was predicted with what PyTorch counted."""
from __future__ import annotations

import sys
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Mapping, Optional, Type

from .calls import replay
from .job import JobLike
from .report import Range, Report, gib


class DoesNotFit(RuntimeError):
    """The job does not fit; `report` says why, and what would help."""

    def __init__(self, report: Report) -> None:
        self.report = report
        help = f"; would fit: {', '.join(report.advice[0].changes)}" if report.advice else ""
        super().__init__(f"headroom: {report.sentence}{help}")


@dataclass(frozen=True)
class Comparison:
    """Bytes that were predicted and measured, of the peak."""

    what: str  #: "allocated" or "reserved"
    predicted: int
    measured: int
    expected: Range

    @property
    def error(self) -> float:
        """The prediction's, as a share of what was measured."""
        return (self.predicted - self.measured) / self.measured

    @property
    def inside(self) -> bool:
        return self.measured in self.expected

    def __str__(self) -> str:
        return f"{self.what}: {gib(self.predicted)} predicted, {gib(self.measured)} measured ({self.error:+.1%})"


#: torch.cuda.memory_stats(): what a report calls what.
_COUNTERS = {"allocated": "allocated_bytes.all.peak", "reserved": "reserved_bytes.all.peak"}


def compare(report: Report, stats: Optional[Mapping[str, int]] = None, *, pipeline_stage: int = 0) -> list[Comparison]:
    """The peaks of torch.cuda.memory_stats() beside the prediction for a stage's GPUs. `stats` None: those of the current device; an empty list
    where torch is not loaded or has no GPU."""
    if stats is None:
        torch: Any = sys.modules.get("torch")
        if torch is None or not torch.cuda.is_available():
            return []
        stats = torch.cuda.memory_stats()
    assert stats is not None
    ranks = [r for r in report.ranks if r.pipeline_stage == pipeline_stage] or list(report.ranks)
    rank = min(ranks, key=lambda r: r.headroom)
    return [Comparison(what, int(getattr(rank, what)), int(stats[counter]), rank.bounds[what]) for what, counter in _COUNTERS.items() if stats.get(counter)]


class fitting:
    """with headroom.fitting(job) as guard: train() — raises DoesNotFit before anything is allocated; after the block `guard.compared` holds
    what PyTorch counted beside the prediction. `refuse` False: it only compares."""

    def __init__(self, job: JobLike, *, confidence: Optional[float] = None, seconds: Optional[float] = None, refuse: bool = True, pipeline_stage: int = 0) -> None:
        self.report = replay(job, confidence=confidence, seconds=seconds)
        self.compared: list[Comparison] = []
        self._refuse, self._stage = refuse, pipeline_stage

    def check(self) -> None:
        """Raises DoesNotFit where it does not."""
        if self._refuse and not self.report.fits:
            raise DoesNotFit(self.report)

    def look(self) -> list[Comparison]:
        self.compared = compare(self.report, pipeline_stage=self._stage)
        return self.compared

    def __enter__(self) -> "fitting":
        self.check()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.look()
