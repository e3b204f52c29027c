# Distributed under the Boost Software License, Version 1.0.
"""measure.py trainer: many jobs of transformers.Trainer, a few processes at once, one record a metric as soon as it is there."""

from __future__ import annotations

import argparse
import collections
import datetime
import hashlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from .keys import fail
from .records import KNOWN_GPUS

SCRIPT = Path(__file__).resolve().parent.parent / "measure.py"
FAMILY = "hf-trainer-step"
SOURCE = "tests/accuracy/measure.py trainer"
START, LONGEST = 120.0, 60.0  # seconds
MOST_LEFT = 1 << 22  # bytes of a job that the next may find; more ends the process
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "TOKENIZERS_PARALLELISM": "false",
           "OMP_NUM_THREADS": "2"}
Entry = dict[str, Any]


def stated(job: dict[str, Any], here: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """The job as it ran: GPU, versions, attention."""
    gpu: dict[str, Any] = {"name": here["gpu"], "memory_gib": here["memory"] / 2**30}
    if here["gpu"] not in KNOWN_GPUS:
        gpu["compute_capability"] = float(here["capability"])
    month = datetime.date.today().strftime("%Y-%m")
    versions = ", ".join(f"{name} {here[name]}" for name in ("torch", "transformers", "accelerate", "peft") if here.get(name))
    attention = result.get("attention") if result.get("attention") in ("sdpa", "eager") else job.get("attention", "sdpa")
    return {**job, "hardware": {"gpu": gpu, "nodes": 1, "gpus_per_node": 1}, "attention": attention,
            "framework": {"name": "hf-trainer", "version": f"{month}, {versions}"}, "environment": {"torch": here["torch"]}}


def note_of(here: dict[str, Any], result: dict[str, Any], alone: bool) -> str:
    parts = [f"GPU {here['product']}, driver {here.get('driver') or 'unknown'}, CUDA {here.get('cuda')}, transformers.Trainer of {here['transformers']}"]
    for title, section in (("peaks of allocated by phase", "phases"), ("held after the update", "holds")):
        parts.append(f"{title}: " + ", ".join(f"{key} {value}" for key, value in result[section].items()))
    parts.append(f"parameters {result['parameters']}, trained {result['trained']}; experts {result['experts']}")
    parts.append(f"num_items_in_batch {'taken' if result['takes num_items_in_batch'] else 'not taken'}; batch {json.dumps(result['pictures'])}")
    if alone:
        parts.append(f"median step {result['seconds']:.4f} s")
    if result.get("before"):
        parts.append(f"{result['before']} bytes were left of the job before")
    return "; ".join([*parts, "peaks of the second step and later"])


def records_of(entry: Entry, here: dict[str, Any], result: dict[str, Any], alone: bool) -> list[dict[str, Any]]:
    job = stated(entry["job"], here, result)
    digest = hashlib.sha256(json.dumps(job, sort_keys=True).encode()).hexdigest()[:8]
    return [{"id": f"trainer-{entry['name']}-{here['gpu']}-{digest}-{metric}", "family": FAMILY, "source": SOURCE, "grade": "A", "job": job,
             "metric": metric, "rank": "single", "value": value, "bound": "equal", "note": note_of(here, result, alone)}
            for metric, value in result["metrics"].items()]


class Worker:
    """A process that runs one job after another."""

    def __init__(self, fraction: float, log: Any) -> None:
        command = [sys.executable, str(SCRIPT), "trainer-worker", "--fraction", str(fraction)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env={**os.environ, **OFFLINE})
        self.rest = b""
        self.here: dict[str, Any] = {}
        self.left = 0

    def read(self, seconds: float) -> dict[str, Any] | None:
        """The next line, or None where the process ended or took too long."""
        end = time.monotonic() + seconds
        pipe = self.process.stdout.fileno()
        while b"\n" not in self.rest:
            ready, _, _ = select.select([pipe], [], [], max(0.0, end - time.monotonic()))
            found = os.read(pipe, 1 << 16) if ready else b""
            if not found:
                return None
            self.rest += found
        line, _, self.rest = self.rest.partition(b"\n")
        return json.loads(line)

    def start(self, seconds: float) -> bool:
        self.here = (self.read(seconds) or {}).get("environment", {})
        return bool(self.here)

    def run(self, job: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        try:
            self.process.stdin.write(json.dumps(job).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            return None
        result = self.read(seconds)
        if result is not None:
            result["before"], self.left = self.left, result.get("residue", 0)
        return result

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


class Run:
    """Hands jobs out until none is left or the time is over."""

    def __init__(self, entries: list[Entry], asked: argparse.Namespace) -> None:
        self.asked, self.lock = asked, threading.Lock()
        self.waiting, self.crowded = collections.deque(entries), collections.deque()
        self.end = time.monotonic() + asked.seconds
        self.count, self.total = collections.Counter(), len(entries)
        self.log = Path(f"{asked.append}.log").open("ab")
        self.out = asked.append.open("a")

    def left(self) -> float:
        return self.end - time.monotonic()

    def tell(self, entry: Entry, here: dict[str, Any], result: dict[str, Any] | None, seconds: float, alone: bool) -> None:
        with self.lock:
            if result is None:
                kind, why = "failed", f"no answer within {seconds:.0f} s, or the process died"
            elif "out_of_memory" in result:
                kind, why = "out of memory" if alone else "out of memory, crowded", result["out_of_memory"]
                if not alone:
                    self.crowded.append(entry)
            elif "error" in result:
                kind, why = "failed", result["error"]
            else:
                kind, why = "measured", f"{result['metrics']['allocated'] / 2**30:.3f} GiB, step {result['seconds']:.3f} s"
                for record in records_of(entry, here, result, alone):
                    self.out.write(json.dumps(record) + "\n")
                self.out.flush()
            self.count[kind] += 1
            rest = f", residue {result['residue']}" if result and result.get("residue") else ""
            print(f"[{sum(self.count.values())}/{self.total}] {entry['name']}: {kind}: {why}; {seconds:.1f} s{rest}", flush=True)

    def work(self, jobs: collections.deque[Entry], fraction: float, alone: bool) -> None:
        worker: Worker | None = None
        deaths = 0
        while jobs and self.left() > 3 and deaths < 5:
            if worker is None:
                worker = Worker(fraction, self.log)
                if not worker.start(min(START, max(1.0, self.left()))):
                    print("a worker did not start", flush=True)
                    worker.stop()
                    worker, deaths = None, deaths + 1
                    continue
            with self.lock:
                if not jobs:
                    break
                entry = jobs.popleft()
            began = time.monotonic()
            result = worker.run(entry["job"], min(LONGEST, self.left() + 10))
            self.tell(entry, worker.here, result, time.monotonic() - began, alone)
            if result is None or worker.left > MOST_LEFT:
                worker.stop()
                worker = None
        if worker is not None:
            worker.stop()


def named(name: str, only: str) -> bool:
    return any(name == part[1:] if part.startswith("=") else part in name for part in only.split(","))


def read_entries(file: Path | None, only: str) -> list[Entry]:
    if file is None:
        from .trainer_jobs import entries

        return [each for each in entries() if named(each["name"], only)]
    try:
        found = [json.loads(line) for line in file.read_text().splitlines() if line.strip()]
    except (OSError, json.JSONDecodeError) as error:
        fail(f"{file}: {error}")
    if any(not isinstance(each, dict) or {"name", "job"} - each.keys() for each in found):
        fail(f"{file}: each line must be an object with name and job")
    return [each for each in found if named(each["name"], only)]


def run(asked: argparse.Namespace) -> int:
    entries = read_entries(asked.jobs, asked.only)
    if asked.list:
        for entry in entries:
            print(json.dumps(entry))
        return 0
    if asked.workers < 1:
        fail(f"--workers must be at least 1, found {asked.workers}")
    if asked.append is None:
        fail("--append says where the records go")
    todo = Run(entries, asked)
    alone = asked.workers == 1
    threads = [threading.Thread(target=todo.work, args=(todo.waiting, 0.95 / asked.workers, alone)) for _ in range(asked.workers)]
    for each in threads:
        each.start()
        time.sleep(0.5)
    for each in threads:
        each.join()
    if todo.crowded and todo.left() > 20:
        print(f"{len(todo.crowded)} again, alone", flush=True)
        todo.work(todo.crowded, 0.95, True)
    print(", ".join(f"{number} {kind}" for kind, number in todo.count.items()) + f", {len(todo.waiting)} not begun", flush=True)
    return 0 if todo.count["measured"] else 1
