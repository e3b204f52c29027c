# Distributed under the Boost Software License, Version 1.0.
"""Answers about one job. Memory is in bytes, as whole numbers; times are in seconds."""
from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional

from ._ask import Document, ask
from .job import Job


def gib(amount: int) -> str:
    return f"{amount / 2**30:.2f} GiB"


@dataclass(frozen=True)
class Range:
    """Where a measured value is expected, with a report's confidence. Bytes, or seconds of a step."""

    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Rank:
    """GPUs that occupy alike: those of a pipeline stage, of one kind of GPU. Bytes."""

    pipeline_stage: int
    count: int  #: how many GPUs
    gpu: str
    allocated: int  #: the peak of torch.cuda.memory_allocated()
    reserved: int  #: … of torch.cuda.memory_reserved()
    device: int  #: … of nvidia-smi
    capacity: int
    headroom: int  #: what is left of the capacity, negative where it is too little
    fits: bool
    peak_phase: str
    at_peak: Mapping[str, int]  #: what `allocated` is made of
    bounds: Mapping[str, Range]

    @staticmethod
    def of(said: Mapping[str, Any]) -> "Rank":
        known = {name: said[name] for name in ("pipeline_stage", "count", "gpu", "allocated", "reserved", "device", "capacity", "headroom", "fits", "peak_phase", "at_peak")}
        return Rank(**known, bounds={name: Range(r["low"], r["high"]) for name, r in said["bounds"].items()})


@dataclass(frozen=True)
class Cost:
    """A step's predicted time, in seconds, and what that makes."""

    seconds: float
    bounds: Range
    tokens_per_second: float
    mfu: float  #: a share
    parts: Mapping[str, float]
    assumptions: tuple[str, ...]

    @staticmethod
    def of(said: Mapping[str, Any]) -> "Cost":
        bounds = said["step_bounds"]
        return Cost(said["step_seconds"], Range(bounds["low"], bounds["high"]), said["tokens_per_second"], said["mfu"], said["step_parts"], tuple(said["step_assumptions"]))


@dataclass(frozen=True)
class Advice:
    """Changes that make a job fit, the least first: keys and values in the words of a job file."""

    changes: tuple[str, ...]
    device: int  #: bytes, of the fullest GPU
    headroom: int


def advice_of(said: Optional[list[Document]]) -> tuple[Advice, ...]:
    return tuple(Advice(tuple(a["changes"]), a["device"], a["headroom"]) for a in said or [])


@dataclass(frozen=True)
class Report:
    """What a job occupies, and whether it fits. In a notebook it shows itself as a picture of the step; print() has it as text."""

    job: Job = field(repr=False)
    fits: bool  #: with the confidence that was asked for; without one by the prediction itself
    sentence: str
    ranks: tuple[Rank, ...] = field(repr=False)
    host: int  #: bytes of host memory on each node
    nvme: int  #: … of NVMe
    parameters: int
    assumptions: tuple[str, ...] = field(repr=False)
    cost: Optional[Cost]  #: None where no time is predicted: `untimed` says why
    untimed: Optional[str]
    advice: tuple[Advice, ...] = field(repr=False)
    confidence: Optional[float]
    document: Document = field(repr=False, compare=False)  #: all of it

    @staticmethod
    def of(job: Job, said: Document, confidence: Optional[float]) -> "Report":
        return Report(job=job, fits=said["decision"] == "fits", sentence=said["sentence"], ranks=tuple(Rank.of(r) for r in said["ranks"]), host=said["host"]["per_node"],
                      nvme=said["nvme"]["per_node"], parameters=said["parameters"]["total"], assumptions=tuple(said["assumptions"]),
                      cost=Cost.of(said) if "step_seconds" in said else None, untimed=said.get("step_refused"), advice=advice_of(said.get("advice")), confidence=confidence, document=said)

    @property
    def fullest(self) -> Rank:
        """The kind of GPU with the least left."""
        return min(self.ranks, key=lambda r: r.headroom)

    @property
    def device(self) -> int:
        """Bytes that nvidia-smi shows at the peak, of the fullest kind of GPU."""
        return self.fullest.device

    def svg(self) -> str:
        """The step as a picture."""
        return str(ask("svg", self.job.request(confidence=self.confidence))["text"])

    def html(self) -> str:
        """A page of the job: pictures, and what other settings would do."""
        return str(ask("html", self.job.request(confidence=self.confidence))["text"])

    def __str__(self) -> str:
        return str(ask("text", self.job.request(confidence=self.confidence))["text"])

    def _repr_html_(self) -> str:
        colour = "#2e7d32" if self.fits else "#c0392b"
        return f'<div><p style="color:{colour}"><b>{html.escape(self.sentence)}</b></p>{self.svg()}</div>'


@dataclass(frozen=True)
class Solution:
    """The largest (or least) value of a key that fits; None: none does."""

    key: str
    value: Any
    sentence: str
    document: Document = field(repr=False, compare=False)

    def __bool__(self) -> bool:
        return self.value is not None


@dataclass(frozen=True)
class Fit:
    """The longest sequence and the largest micro-batch of a fine-tuning; None: none fits. `sure`: with the confidence."""

    job: Job = field(repr=False)
    sentence: str
    longest_sequence: Optional[int]
    longest_sequence_sure: Optional[int]
    largest_micro: Optional[int]
    largest_micro_sure: Optional[int]
    granted: Mapping[str, Any] = field(repr=False)  #: what was taken for granted, by key
    advice: tuple[Advice, ...] = field(repr=False)  #: for a sequence twice as long
    document: Document = field(repr=False, compare=False)


@dataclass(frozen=True)
class Diagnosis:
    """Why a run went out of memory."""

    cause: str  #: "capacity", "fragmentation", "other-processes", "outside-allocator", "host" or "engine-share"
    asked: Optional[int]  #: bytes of the allocation that failed
    died_in: Optional[str]  #: the phase of the step
    suspects: tuple[Mapping[str, Any], ...]
    fits: bool  #: as predicted
    advice: tuple[Advice, ...]
    document: Document = field(repr=False, compare=False)
