# Distributed under the Boost Software License, Version 1.0.
"""A training job: the keys of a job file, and the configurations that they name."""
from __future__ import annotations

import copy
import json
import os
import pathlib
from typing import Any, Mapping, Optional, Union

from ._ask import Document, Refused

Path = Union[str, "os.PathLike[str]"]


def _merged(into: Document, said: Mapping[str, Any]) -> Document:
    """Dotted keys set what lies in a section: {"batch.micro": 2}."""
    for key, value in said.items():
        at: Document = into
        *sections, last = key.split(".")
        for section in sections:
            inner = at.setdefault(section, {})
            if isinstance(inner, str):  # "sharding": "zero3" stands for what a section says
                raise Refused(f'headroom: {key}: {section} is "{inner}", and has no keys that could be set one by one')
            if not isinstance(inner, dict):
                raise Refused(f"headroom: {key}: {section} is no section")
            at = inner
        at[last] = copy.deepcopy(value)
    return into


def _with_configurations(keys: Document, folder: pathlib.Path, files: dict[str, str]) -> None:
    """The config.json that `model` names by a path comes along under its folder's name."""
    for section, key in ((keys, "model"), (keys.get("model"), "base")):
        name = section.get(key) if isinstance(section, dict) else None
        if not isinstance(name, str) or not isinstance(section, dict):
            continue
        path = folder / name
        if path.is_dir() and (path / "config.json").is_file():
            path = path / "config.json"
        if path.is_file():
            known = f"{path.resolve().parent.name or 'model'}/{path.name}"
            files[known] = path.read_text(encoding="utf-8")
            section[key] = known


class Job:
    """What is trained, on what, and how: the keys of a job file (examples/JOB.md lists them).

        Job("job.json")                                     a file; paths in it start from its folder
        Job({"model": "llama-3.1-8b", "batch": {...}})      a dictionary
        Job(model="llama-3.1-8b", batch={"micro": 1, "sequence": 8192}, hardware={"gpu": "h100-sxm-80gb"})

    Keywords go over what the dictionary or the file says. Nothing is judged before it is asked for; what is wrong with a job is said then, as
    headroom.Refused. Raises Refused for a file that cannot be read."""

    def __init__(self, said: Optional[Union[Mapping[str, Any], Path, "Job"]] = None, /, *, files: Optional[Mapping[str, str]] = None, **keys: Any) -> None:
        self.files: dict[str, str] = dict(files or {})
        self.notes: tuple[str, ...] = ()  # what import_files() left open
        folder = pathlib.Path(".")
        if isinstance(said, Job):
            self.files = {**said.files, **self.files}
            self.keys: Document = copy.deepcopy(said.keys)
        elif isinstance(said, Mapping):
            self.keys = copy.deepcopy(dict(said))
        elif said is None:
            self.keys = {}
        else:
            file = pathlib.Path(said)
            folder = file.parent
            try:
                self.keys = json.loads(file.read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError) as wrong:
                raise Refused(f"headroom: {file} cannot be read: {wrong}") from None
            except json.JSONDecodeError as wrong:
                raise Refused(f"headroom: {file} is not valid JSON: line {wrong.lineno}: {wrong.msg}") from None
            if not isinstance(self.keys, dict):
                raise Refused(f"headroom: {file} must be an object")
        for key, value in keys.items():
            self.keys[key] = copy.deepcopy(value)
        _with_configurations(self.keys, folder, self.files)

    def having(self, said: Optional[Mapping[str, Any]] = None, /, **keys: Any) -> "Job":
        """The job with other values; dotted names reach into sections: job.having({"batch.micro": 2})."""
        other = Job(self)
        _merged(other.keys, {**(said or {}), **keys})
        return other

    def request(self, **more: Any) -> Document:
        """What a call is asked of this job."""
        return {"job": self.keys, "files": self.files or None, **more}

    def write(self, path: Path) -> None:
        """The job file, for the program."""
        pathlib.Path(path).write_text(json.dumps(self.keys, indent=2) + "\n", encoding="utf-8")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Job) and self.keys == other.keys and self.files == other.files

    def __repr__(self) -> str:
        return f"Job({json.dumps(self.keys)})"


JobLike = Union[Job, Mapping[str, Any], Path]


def job_of(said: JobLike) -> Job:
    return said if isinstance(said, Job) else Job(said)
