# Distributed under the Boost Software License, Version 1.0.
"""What a search found."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Optional

from ._ask import Document
from .job import Job

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Plan:
    """A job that fits; its memory is that of its fullest GPU, in bytes."""

    job: Job = field(repr=False)
    step_seconds: Optional[float]
    tokens_per_second: Optional[float]
    device: int
    headroom: int

    @staticmethod
    def of(said: Mapping[str, Any]) -> "Plan":
        fullest = min(said["report"]["ranks"], key=lambda r: int(r["headroom"]))
        return Plan(Job(said["job"]), said["step_seconds"], said["tokens_per_second"], fullest["device"], fullest["headroom"])

    def row(self) -> Document:
        """One flat dictionary: the job's keys, dotted, and what is predicted."""
        row: Document = {"step_seconds": self.step_seconds, "tokens_per_second": self.tokens_per_second, "device": self.device, "headroom": self.headroom}

        def flatten(at: Mapping[str, Any], path: str) -> None:
            for key, value in at.items():
                if isinstance(value, Mapping):
                    flatten(value, f"{path}{key}.")
                else:
                    row[path + key] = value

        flatten(self.job.keys, "")
        return row


@dataclass(frozen=True)
class Plans:
    """The fastest plans that fit, the fastest first; `front`: those that no other beats in both memory and time."""

    sentence: str
    plans: tuple[Plan, ...]
    front: tuple[Plan, ...]
    rejected: Mapping[str, int]  #: how many jobs for which reason
    complete: bool  #: False: the time was over, and this is the best so far
    sweep: Optional[Document] = None  #: what sets this search of a sweep apart
    document: Document = field(repr=False, compare=False, default_factory=dict)

    @staticmethod
    def of(said: Mapping[str, Any], sentence: str) -> "Plans":
        return Plans(sentence, tuple(Plan.of(p) for p in said["plans"]), tuple(Plan.of(p) for p in said["front"]),
                     {r["reason"]: r["count"] for r in said["rejected"]}, said["complete"], said.get("sweep"), dict(said))

    def rows(self) -> list[Document]:
        """A flat dictionary for each plan."""
        return [p.row() for p in self.plans]

    def frame(self) -> "pandas.DataFrame":
        """The rows as a table of pandas, which must be installed."""
        import pandas

        return pandas.DataFrame(self.rows())

    def __iter__(self) -> Iterator[Plan]:
        return iter(self.plans)

    def __len__(self) -> int:
        return len(self.plans)

    def __getitem__(self, index: int) -> Plan:
        return self.plans[index]
