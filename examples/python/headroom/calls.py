# Distributed under the Boost Software License, Version 1.0.
"""The calls. All take `seconds`, after which they raise NotDecided, and raise Refused for bad input; a job may be a Job, a dictionary or the
path of a job file. `confidence` (0.5 to 0.999) judges by the upper end of that range in place of the prediction itself."""
from __future__ import annotations

import os
import pathlib
from typing import Any, Mapping, Optional, Sequence, Union

from ._ask import Refused, ask
from .job import Job, JobLike, Path, job_of
from .plans import Plans
from .report import Cost, Diagnosis, Fit, Report, Solution, advice_of


def _report(call: str, job: JobLike, confidence: Optional[float], seconds: Optional[float]) -> Report:
    of = job_of(job)
    return Report.of(of, ask(call, of.request(confidence=confidence), seconds), confidence)


def estimate(job: JobLike, *, confidence: Optional[float] = None, seconds: Optional[float] = None) -> Report:
    """What a job occupies, in microseconds, without fragmentation. Bytes and seconds."""
    return _report("estimate", job, confidence, seconds)


def replay(job: JobLike, *, confidence: Optional[float] = None, seconds: Optional[float] = None) -> Report:
    """The same with the allocator's fragmentation, two steps written out allocation by allocation, and advice where it does not fit."""
    return _report("replay", job, confidence, seconds)


def cost(job: JobLike, *, confidence: Optional[float] = None, seconds: Optional[float] = None) -> Cost:
    """A step's time."""
    return Cost.of(ask("cost", job_of(job).request(confidence=confidence), seconds))


def plan(job: JobLike, *, top: int = 10, threads: int = 0, confidence: Optional[float] = None, seconds: Optional[float] = None) -> Plans:
    """The fastest plans that fit, of all that the keys given as "auto" allow. `threads` 0: all cores. After `seconds` it is the best so far."""
    return sweep(job, top=top, threads=threads, confidence=confidence, seconds=seconds, _one=True)[0]


def sweep(job: JobLike, *, top: int = 10, threads: int = 0, confidence: Optional[float] = None, seconds: Optional[float] = None, _one: bool = False) -> list[Plans]:
    """A search for each entry of the key "sweep"; without one, the only search."""
    of = job_of(job)
    if _one and "sweep" in of.keys:
        raise Refused("headroom: the job has a sweep, which is several searches: sweep() names them all")
    said = ask("plan", of.request(top=top, threads=threads, confidence=confidence), seconds)
    if "searches" not in said and "plans" not in said:  # the time was over before anything was searched
        from ._ask import NotDecided

        raise NotDecided(said["sentence"])
    return [Plans.of(one, said["sentence"]) for one in said.get("searches", [said])]


def solve(job: JobLike, key: str, *, confidence: Optional[float] = None, seconds: Optional[float] = None) -> Solution:
    """The largest (or least) value of a key that fits: "batch.micro", "batch.sequence", "hardware.nodes", "model", …"""
    said = ask("solve", job_of(job).request(**{"for": key}, confidence=confidence), seconds)
    return Solution(said["key"], said["value"], said["sentence"], said)


def fit(model: str, method: str, gpu: str, *, gpus: int = 1, sequence: int = 2048, micro: int = 1, rank: int = 0, taken_gib: float = 0.0,
        set: Optional[Mapping[str, Any]] = None, confidence: float = 0.95, seconds: Optional[float] = None) -> Fit:
    """The longest sequence and the largest micro-batch of a fine-tuning ("qlora", "lora" or "full"). `model`: a name, or the path of a
    config.json or its folder. `taken_gib`: of each GPU, what others hold."""
    named = Job(model=model)
    said = ask("fit", {"model": named.keys["model"], "files": named.files or None, "method": method, "gpu": gpu, "gpus": gpus, "sequence": sequence, "micro": micro, "rank": rank,
                       "taken_gib": taken_gib, "set": dict(set or {}), "confidence": confidence}, seconds)
    longest, largest = said["longest_sequence"], said["largest_micro"]
    return Fit(Job(said["job"]), said["sentence"], longest["predicted"], longest["sure"], largest["predicted"], largest["sure"], said["granted"], advice_of(said["more"]["advice"]), said)


def diagnose(job: JobLike, message: str, *, seconds: Optional[float] = None) -> Diagnosis:
    """Why a run went out of memory. `message`: its log, or str() of the torch.cuda.OutOfMemoryError."""
    said = ask("diagnose", job_of(job).request(message=message), seconds)
    return Diagnosis(said["cause"], said["asked"], said["died_in"], tuple(said["suspects"]), said["decision"] == "fits", advice_of(said.get("advice")), said)


Files = Union[Mapping[str, Union[str, Mapping[str, Any]]], Sequence[Path]]


def import_files(files: Files, *, model: Optional[str] = None, gpu: Optional[str] = None, kind: Optional[str] = None, automatic: str = "trainer", program: Optional[str] = None,
                 line: int = 0, env: Optional[Mapping[str, str]] = None, ignore: Sequence[str] = (), set: Optional[Mapping[str, Any]] = None, seconds: Optional[float] = None) -> Job:
    """A job from the files of other programs: paths, or names and texts. `set`: keys of the job, dotted; last of all. What the files leave
    open stands in the job's `notes`."""
    named = Job(model=model) if model is not None else None
    texts: Any
    if isinstance(files, Mapping):
        texts = {**files, **(named.files if named else {})}
    else:
        texts = []
        for one in files:
            path = pathlib.Path(os.fspath(one))
            try:
                texts.append({"name": path.name, "text": path.read_text(encoding="utf-8")})
            except (OSError, UnicodeDecodeError) as wrong:
                raise Refused(f"headroom: {path} cannot be read: {wrong}") from None
        texts += [{"name": name, "text": text} for name, text in (named.files if named else {}).items()]
    said = ask("import", {"files": texts, "as": kind, "model": named.keys["model"] if named else None, "gpu": gpu, "auto": automatic, "program": program, "line": line, "env": dict(env or {}),
                          "ignore": list(ignore), "set": dict(set or {})}, seconds)
    job = Job(said["job"])
    job.notes = tuple(said["notes"])
    return job


def export(job: JobLike, to: str) -> str:
    """The job as the file of another program: "deepspeed", "accelerate", "megatron", "torchtitan", "sbatch", …"""
    return str(ask("export", job_of(job).request(to=to))["text"])


def names(what: str) -> list[str]:
    """Names that a job may use: of "models", "gpus", "frameworks", "optimizers" or "precisions"."""
    return [str(name) for name in ask("list", {"what": what})["names"]]
