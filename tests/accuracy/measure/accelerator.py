# Distributed under the Boost Software License, Version 1.0.
"""Whose torch this is: CUDA's, ROCm's, which answers as CUDA's does, or, with torch_npu, an Ascend's. What is said of the machine apart from that is asked of the maker's own tool.

Sources: torch/cuda/__init__.py (torch.version.hip), torch_npu/npu/memory.py and __init__.py (the same functions under torch.npu), rocm-smi --json, torch's
c10/cuda/CUDAAllocatorConfig.h (PYTORCH_HIP_ALLOC_CONF), torch_npu's NPUAllocatorConfig (PYTORCH_NPU_ALLOC_CONF)."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
from typing import Any

COLLECTIVES = {"cuda": "nccl", "npu": "hccl"}  # RCCL answers to NCCL's name
ALLOCATOR = {"cuda": ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"), "npu": ("PYTORCH_NPU_ALLOC_CONF",)}
ALLOCATOR_SETTINGS = ("PYTORCH_ALLOC_CONF", *ALLOCATOR["cuda"], *ALLOCATOR["npu"])  # the first is the newer name of torch's own


def module_of(kind: str) -> Any:
    """torch.cuda, or torch.npu, which torch has when torch_npu has been imported; None where there is none."""
    import torch

    if kind == "npu":
        try:
            importlib.import_module("torch_npu")
        except ImportError:
            return None
    return getattr(torch, kind, None)


def runtime(kind: str) -> str:
    """What lies below torch, with its version."""
    import torch

    if kind == "npu":
        return f"CANN {os.environ.get('ASCEND_TOOLKIT_HOME', '').rstrip('/').rsplit('/', 1)[-1] or 'unknown'}"
    hip = getattr(torch.version, "hip", None)
    return f"ROCm {hip}" if hip else f"CUDA {torch.version.cuda}"


def visible(index: int, *names: str) -> str:
    """The driver's number of a device, by the variables that hide some."""
    for name in names:
        listed = [each for each in os.environ.get(name, "").split(",") if each]
        if listed:
            return listed[index] if index < len(listed) else str(index)
    return str(index)


def answer_of(asked: list[str]) -> str:
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def ask_nvidia(query: str, index: int = 0) -> str:
    """One value of nvidia-smi, empty where it cannot say."""
    which = visible(index, "CUDA_VISIBLE_DEVICES")
    return answer_of(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits", "-i", which]).split("\n")[0]


def ask_amd(option: list[str], key: str, index: int = 0) -> str:
    """One value of rocm-smi, of a device or of the system."""
    which = visible(index, "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
    try:
        said = json.loads(answer_of(["rocm-smi", "-d", which, *option, "--json"]) or "{}")
    except json.JSONDecodeError:
        return ""
    return next((str(values[key]) for values in said.values() if isinstance(values, dict) and key in values), "")


def driver_of(kind: str) -> str:
    if kind == "npu":
        found = re.search(r"Version:\s*([\w.]+)", answer_of(["npu-smi", "info"]))
        return found[1] if found else ""
    return ask_nvidia("driver_version") or ask_amd(["--showdriverversion"], "Driver version")


def used_by_others(kind: str, index: int) -> int:
    """Bytes in use on a device before this process touches it; 0 where no tool says."""
    if kind == "npu":
        return 0
    used = ask_nvidia("memory.used", index)
    if used.isdigit():
        return int(used) << 20
    used = ask_amd(["--showmeminfo", "vram"], "VRAM Total Used Memory (B)", index)
    return int(used) if used.isdigit() else 0
