# Distributed under the Boost Software License, Version 1.0.
"""Measured records in the format of measured.jsonl, which headroom's `validate` reads."""

from __future__ import annotations

import datetime
import hashlib
import json
from pathlib import Path
from typing import Any

from .accelerator import ALLOCATOR_SETTINGS
from .jobs import Job
from .keys import fail

SOURCE = "tests/accuracy/measure.py"
CPU_FAMILY = "cpu-count"
Record = dict[str, Any]


def digest(job: Job, environment: dict[str, Any], how: dict[str, Any]) -> str:
    """Tells runs apart that may occupy different amounts."""
    text = json.dumps([job.raw, environment, how], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def base_id(name: str, job: Job, environment: dict[str, Any], how: dict[str, Any]) -> str:
    return f"{name}-{environment['gpu']}-{digest(job, environment, how)}"


def stated_job(job: Job, environment: dict[str, Any], how: dict[str, Any]) -> dict[str, Any]:
    """The job as it ran: the GPU that was there, and the versions."""
    gpu: Any = "cpu"
    if environment["gpu"] != "cpu":
        gpu = {"name": environment["gpu"], "memory_gib": environment["memory"] / 2**30}
        if environment["gpu"] not in KNOWN_GPUS:
            gpu["compute_capability"] = float(environment["capability"])
    month = datetime.date.today().strftime("%Y-%m")
    modules = f"transformers {environment['transformers']}" if how["modules"] == "transformers" else "modules of measure.py"
    more = "".join(f", {name} {environment[name]}" for name in ("bitsandbytes", "deepspeed") if environment.get(name))
    framework = {"name": "deepspeed" if job.sharding == "zero" else "libtorch",
                 "version": f"{month}, torch {environment['torch']}, {modules}{more}"}
    set_here = stated_environment(how["settings"]) | ({"torch": environment["torch"]} if environment["gpu"] != "cpu" else {})
    return {**job.raw, **({"environment": set_here} if set_here else {}), "hardware": {"gpu": gpu, "nodes": 1, "gpus_per_node": job.gpus}, "framework": framework,
            "attention": job.attention}


def stated_environment(settings: dict[str, str]) -> dict[str, Any]:
    """Variables in the words of a job file, wherever they were set."""
    stated: dict[str, Any] = {}
    allocator = next((settings[name] for name in ALLOCATOR_SETTINGS if settings.get(name)), "")
    if "expandable_segments:true" in allocator.replace(" ", "").lower():
        stated["allocator"] = {"expandable_segments": True}
    if "CUBLAS_WORKSPACE_CONFIG" in settings:
        stated["cublas_workspace"] = settings["CUBLAS_WORKSPACE_CONFIG"]
    if settings.get("NCCL_BUFFSIZE", "").isdigit():
        stated["nccl_buffsize"] = int(settings["NCCL_BUFFSIZE"])
    return stated


def note_of(job: Job, environment: dict[str, Any], how: dict[str, Any], result: dict[str, Any]) -> str:
    """Everything that a later reader may want to know, in one line."""
    settings = ", ".join(f"{name}={value}" for name, value in how["settings"].items()) or "default"
    kernel = f" ({result['kernel']})" if result.get("kernel") else ""
    parts = [f"GPU {environment['product']}, driver {environment.get('driver') or 'unknown'}, {environment.get('runtime') or 'CUDA ' + environment.get('cuda', 'none')}, "
             f"torch {environment['torch']}, settings {settings}, attention {job.attention}{kernel}"]
    if how["keep_gradients"]:
        parts.append("zero_grad(set_to_none=False): gradients stay through the whole step, which no key of the job says")
    if "out_of_memory" in result:
        return "; ".join([*parts, f"went out of memory: {result['out_of_memory']}; value = capacity less what others used"])
    for title, section in (("peaks of allocated by phase", "phases"), ("held after the step", "holds")):
        parts.append(f"{title}: " + ", ".join(f"{key} {value}" for key, value in result[section].items()))
    parts.append(f"parameters {result['parameters']}, trained {result['trained']}; peaks of the second step and later")
    if environment["gpu"] == "cpu":
        parts.append("counted on a CPU, no measurement of a GPU: no rounding, no cache, no context, CPU kernels")
    return "; ".join(parts)


def records_of(name: str, job: Job, environment: dict[str, Any], how: dict[str, Any], result: dict[str, Any]) -> list[Record]:
    """One record a metric, or the one-sided record of a run that went out of memory."""
    on_cpu = environment["gpu"] == "cpu"
    family = CPU_FAMILY if on_cpu else "torch-step-kept-gradients" if how["keep_gradients"] else "torch-step"
    identity = base_id(name, job, environment, how)
    gone = "out_of_memory" in result
    values = {"device": result["capacity"]} if gone else result["metrics"]
    return [{"id": f"{identity}-{metric}", "family": family, "source": SOURCE, "grade": "C" if on_cpu else "A",
             "job": stated_job(job, environment, how), "metric": metric, "rank": "single" if job.gpus == 1 else "max", "value": value,
             "bound": "at-least" if gone else "equal", "note": note_of(job, environment, how, result)} for metric, value in values.items()]


def read_records(file: Path) -> list[Record]:
    if not file.exists():
        return []
    found = []
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if line.strip():
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError as error:
                fail(f"{file} line {number} is not JSON: {error}")
    return found


def append(file: Path, new: list[Record]) -> None:
    """CPU counts and measurements never share a file."""
    old = read_records(file)
    for record in new:
        if old and (record["family"] == CPU_FAMILY) != all(each.get("family") == CPU_FAMILY for each in old):
            fail(f"{file} holds {'measured runs' if record['family'] == CPU_FAMILY else 'counts on a CPU'}; choose another file")
    with file.open("a") as out:
        for record in new:
            out.write(json.dumps(record) + "\n")


def recorded(file: Path | None, identity: str) -> bool:
    return file is not None and any(str(each.get("id", "")).startswith(identity + "-") for each in read_records(file))


def known_gpus() -> frozenset[str]:
    from .environment import GPU_NAMES

    return frozenset(name for _, name in GPU_NAMES)


KNOWN_GPUS = known_gpus()
