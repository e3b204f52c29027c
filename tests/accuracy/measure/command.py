# Distributed under the Boost Software License, Version 1.0.
"""The command line: grid, run, and the worker that both start."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Sequence

from . import records
from .accelerator import ALLOCATOR_SETTINGS
from .environment import environment, settings_of, which_modules
from .grid import Entry, grid
from .jobs import Job, read_job, read_job_file
from .keys import Mistake, fail

SCRIPT = Path(__file__).resolve().parent.parent / "measure.py"
LONGEST = 3600  # seconds for one job
WRITING = threading.Lock()  # one job at a time reads or writes the file of records


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser("measure.py", description="Runs the training step of a headroom job file and records what it occupied.")
    commands = top.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure one job file")
    run.add_argument("job", type=Path)
    run.add_argument("--keep-gradients", action="store_true", help="zero_grad(set_to_none=False)")
    many = commands.add_parser("grid", help="list the jobs worth measuring, one job file a line; or write or run them")
    many.add_argument("--run", action="store_true", help="measure all of them that fit on this machine")
    many.add_argument("--write", type=Path, metavar="FOLDER", help="write them as job files")
    many.add_argument("--only", default="", metavar="TEXT", help="those whose name has TEXT in it")
    many.add_argument("--beside", type=int, default=1, metavar="N", help="how many to run at a time; more than one records no `device`")
    for each in (run, many):
        each.add_argument("--append", type=Path, metavar="FILE", help="append records to FILE, skipping what it has")
        each.add_argument("--headroom", type=Path, metavar="PATH", help="headroom's program: print what it predicts beside what was measured")
    worker = commands.add_parser("worker")
    worker.add_argument("job", type=Path)
    worker.add_argument("--result", type=Path, required=True)
    worker.add_argument("--keep-gradients", action="store_true")
    real = commands.add_parser("trainer", help="measure steps of transformers.Trainer: many jobs, a few processes")
    real.add_argument("jobs", type=Path, nargs="?", help="a file of jobs, one a line: {\"name\": …, \"job\": {…}}; left out: those of trainer_jobs.py")
    real.add_argument("--list", action="store_true", help="print them, one a line")
    real.add_argument("--only", default="", metavar="TEXT,TEXT", help="those whose name has one of the texts in it; =NAME: is it")
    real.add_argument("--append", type=Path, metavar="FILE", help="append records to FILE; what failed goes to FILE.log")
    real.add_argument("--workers", type=int, default=1, metavar="N", help="processes at a time; only one alone measures time")
    real.add_argument("--seconds", type=float, default=3600, metavar="S", help="begin no job after so long")
    inner = commands.add_parser("trainer-worker")
    inner.add_argument("--fraction", type=float, required=True)
    about = commands.add_parser("environment", help="print what a record says about this machine")
    for each in (run, many, worker, about):
        each.add_argument("--device", choices=("cuda", "npu", "cpu"), default="cuda", help="cuda: NVIDIA's and, under ROCm, AMD's GPUs; npu: Ascend's, by torch_npu; cpu: count on a CPU, for tests")
        each.add_argument("--modules", choices=("auto", "own", "transformers"), default="auto", help="who builds the model")
        each.add_argument("--steps", type=int, default=3, help="steps to run; the first is not counted")
    return top


def child(arguments: Sequence[str], job: Job | None) -> subprocess.CompletedProcess[str]:
    """A fresh process: contexts, caches and settings of the allocator end with it."""
    launch = [sys.executable]
    if job is not None and job.gpus > 1:
        launch += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(job.gpus)]
    variables = {**os.environ, **(job.environment if job is not None else {})}
    for name in ALLOCATOR_SETTINGS[2:]:  # what a job says of the allocator, in each maker's word for it
        if job is not None and "PYTORCH_CUDA_ALLOC_CONF" in job.environment:
            variables[name] = job.environment["PYTORCH_CUDA_ALLOC_CONF"]
    try:
        return subprocess.run([*launch, str(SCRIPT), *arguments], env=variables, text=True, capture_output=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        fail(f"took longer than {LONGEST // 60} minutes")


def reason(stderr: str) -> str:
    """What a process said of its end: the last line that names an error, not the summary that torchrun adds."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("measure.py: ") or re.match(r"(\[rank\d+\]:? *)?[\w.]*(Error|Exception|Mistake)\b", line)]
    chosen = next((line for line in reversed(errors) if "ChildFailedError" not in line), lines[-1] if lines else "no message")
    return chosen.removeprefix("measure.py: ")


def machine(asked: argparse.Namespace) -> dict[str, Any]:
    done = child(["environment", "--device", asked.device], None)
    if done.returncode != 0:
        fail(reason(done.stderr))
    return json.loads(done.stdout)


class Crowded(Exception):
    """A job went out of memory while others were on the GPU: it says nothing, and runs again alone."""


def measure(name: str, job: Job, keep: bool, asked: argparse.Namespace, here: dict[str, Any],
            beside: bool = False) -> list[records.Record] | None:
    """Records of one job, or None where they are there already. Raises Mistake where it did not run. Beside other jobs on the same
    GPU what the driver says is everybody's, so that `device` is left out."""
    how = {"modules": which_modules(asked.modules), "keep_gradients": keep, "steps": asked.steps,
           "settings": settings_of({**os.environ, **job.environment})}
    with WRITING:
        if records.recorded(asked.append, records.base_id(name, job, here, how)):
            return None
    if job.gpus > here["gpus"]:
        fail(f"needs {job.gpus} GPUs, this machine has {here['gpus']}")
    with tempfile.TemporaryDirectory() as folder:
        file, result = Path(folder) / "job.json", Path(folder) / "result.json"
        file.write_text(json.dumps(job.raw))
        flags = ["--keep-gradients"] if keep else []
        done = child(["worker", str(file), "--result", str(result), "--device", asked.device, "--modules", how["modules"],
                      "--steps", str(asked.steps), *flags], job)
        if not result.exists():
            fail(reason(done.stderr))
        found = json.loads(result.read_text())
    if beside:
        if "out_of_memory" in found:
            raise Crowded("went out of memory beside other jobs")
        del found["metrics"]["device"]
    made = records.records_of(name, job, here, how, found)
    if asked.append is not None:
        with WRITING:
            records.append(asked.append, made)
    return made


def gib(value: float) -> str:
    return f"{value / 2**30:10.3f}"


def show(made: list[records.Record], headroom: Path | None) -> None:
    """Measured values, and beside them headroom's, read by its own `validate`."""
    predicted: dict[str, Any] = {}
    if headroom is not None:
        lines = "".join(json.dumps(record) + "\n" for record in made)
        try:
            done = subprocess.run([str(headroom), "validate", "-", "--json"], input=lines, text=True, capture_output=True)
        except OSError as error:
            fail(f"--headroom {headroom}: {error}")
        if done.returncode != 0:
            fail(f"--headroom {headroom}: {reason(done.stderr)}")
        predicted = {each["id"]: each for each in json.loads(done.stdout)["records"]}
    for record in made:
        line = f"  {record['metric']:<10}{gib(record['value'])} GiB {'or more' if record['bound'] == 'at-least' else ''}"
        other = predicted.get(record["id"])
        if other is not None and other["refused"]:
            line += f"  not predicted: {other['refused']}"
        elif other is not None:
            line += f"  predicted{gib(other['predicted'])} GiB  {100 * other['error']:+6.2f} %"
        print(line)


def attempt(entry: Entry, asked: argparse.Namespace, here: dict[str, Any], beside: bool) -> tuple[str, str, list[records.Record] | None]:
    """How one job of the grid ended, why, and its records."""
    try:
        made = measure(entry.name, read_job(entry.job), entry.keep_gradients, asked, here, beside)
    except Mistake as mistake:
        return "left out" if re.search(r"\bneeds\b", str(mistake)) else "failed", f": {mistake}", None
    except Crowded:
        return "crowded", "", None
    return "recorded already" if made is None else "out of memory" if made[0]["bound"] == "at-least" else "measured", "", made


def run_grid(entries: list[Entry], asked: argparse.Namespace) -> int:
    """Goes on after a job that went out of memory or did not run. Returns how many failed; what needs more than is here is left out."""
    here = machine(asked)
    ends = dict.fromkeys(("measured", "out of memory", "recorded already", "left out", "failed"), 0)
    again: list[Entry] = []

    def tell(entry: Entry, end: str, why: str, made: list[records.Record] | None) -> None:
        if end == "crowded":
            again.append(entry)
            return
        ends[end] += 1
        print(f"[{sum(ends.values())}/{len(entries)}] {entry.name}: {end}{why}", flush=True)
        if made is not None:
            show(made, asked.headroom)

    with ThreadPoolExecutor(asked.beside) as workers:
        for entry, end in zip(entries, workers.map(lambda each: attempt(each, asked, here, asked.beside > 1), entries)):
            tell(entry, *end)
    for entry in list(again):
        tell(entry, *attempt(entry, asked, here, False))
    print(", ".join(f"{count} {end}" for end, count in ends.items()))
    return ends["failed"]


def list_grid(entries: list[Entry], asked: argparse.Namespace) -> None:
    if asked.write is not None:
        asked.write.mkdir(parents=True, exist_ok=True)
    for entry in entries:
        if asked.write is None:
            print(f"{entry.name}\t{json.dumps(entry.job)}")
        else:
            (asked.write / f"{entry.name}.json").write_text(json.dumps(entry.job, indent=2) + "\n")


def obey(asked: argparse.Namespace) -> int:
    if asked.command == "trainer":
        from .trainer import run

        return run(asked)
    if asked.command == "trainer-worker":
        from .trainer_worker import serve

        return serve(asked.fraction)
    if getattr(asked, "beside", 1) < 1:
        fail(f"--beside must be at least 1, found {asked.beside}")
    if asked.steps < 2:
        fail(f"--steps must be at least 2, found {asked.steps}: states of the optimizer exist from the second step on")
    if asked.command == "environment":
        print(json.dumps(environment(asked.device)))
    elif asked.command == "worker":
        from .worker import work

        work(asked.job, asked.result, asked.device, asked.modules, asked.keep_gradients, asked.steps)
    elif asked.command == "run":
        job = read_job_file(asked.job)
        made = measure(asked.job.stem, job, asked.keep_gradients, asked, machine(asked))
        if made is None:
            print(f"{asked.append} has it already")
        else:
            show(made, asked.headroom)
    else:
        entries = [entry for entry in grid() if asked.only in entry.name]
        if not entries:
            fail(f"--only {asked.only}: no job of the grid is called so")
        if asked.run:
            return 1 if run_grid(entries, asked) > 0 else 0
        list_grid(entries, asked)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        return obey(parser().parse_args(arguments))
    except Mistake as mistake:
        print(f"measure.py: {mistake}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 0
