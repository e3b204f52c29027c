# Distributed under the Boost Software License, Version 1.0.
"""What a record has to say about the machine: GPU, driver, versions, settings of the caching allocator."""

from __future__ import annotations

import importlib.util
import re
import sys
from typing import Any, Mapping

from .accelerator import ALLOCATOR_SETTINGS, driver_of, module_of, runtime
from .keys import fail

# Product names as torch reports them, and headroom's names for them.
GPU_NAMES = (
    (r"B200", "b200-sxm-180gb"), (r"GH200 .*144", "gh200-144gb"), (r"GH200", "gh200-96gb"), (r"H200", "h200-sxm-141gb"),
    (r"H100 NVL", "h100-nvl-94gb"), (r"H100 PCIe", "h100-pcie-80gb"), (r"H100 80GB", "h100-sxm-80gb"), (r"H800", "h800-sxm-80gb"),
    (r"H20\b", "h20-96gb"), (r"A100-SXM4-80GB", "a100-sxm-80gb"), (r"A100-SXM4-40GB", "a100-sxm-40gb"), (r"A100.*80GB PCIe", "a100-pcie-80gb"),
    (r"A100-PCIE-40GB", "a100-pcie-40gb"), (r"A800", "a800-sxm-80gb"), (r"A10G", "a10g"), (r"A40\b", "a40"), (r"RTX A6000", "rtx-a6000"),
    (r"RTX 6000 Ada", "rtx-6000-ada"), (r"L40S", "l40s"), (r"L40\b", "l40"), (r"L4\b", "l4"), (r"RTX 5090", "rtx-5090"),
    (r"RTX 4090", "rtx-4090"), (r"RTX 3090", "rtx-3090"), (r"Tesla T4", "t4"), (r"V100-SXM2-32GB", "v100-sxm2-32gb"),
    (r"V100-SXM2-16GB", "v100-sxm2-16gb"), (r"MI300X", "mi300x-192gb"), (r"MI300A", "mi300a-128gb"), (r"MI355X", "mi355x-288gb"),
    (r"MI250X", "mi250x-128gb"), (r"Ascend910B[123]", "ascend-910b-64gb"), (r"Ascend910_93", "ascend-910c-64gb"),
)


def gpu_name(product: str) -> str:
    """headroom's name for a product, or the product's own in small letters."""
    for pattern, name in GPU_NAMES:
        if re.search(pattern, product):
            return name
    return re.sub(r"[^a-z0-9.]+", "-", product.lower().replace("nvidia", "")).strip("-")[:47] or "gpu"


# Variables that change what is occupied.
SETTINGS = (*ALLOCATOR_SETTINGS, "CUBLAS_WORKSPACE_CONFIG", "HIPBLAS_WORKSPACE_CONFIG", "CUDA_MODULE_LOADING", "NCCL_BUFFSIZE", "HCCL_BUFFSIZE",
            "PYTORCH_NO_CUDA_MEMORY_CACHING", "PYTORCH_NO_HIP_MEMORY_CACHING", "PYTORCH_NO_NPU_MEMORY_CACHING")


def settings_of(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: variables[name] for name in SETTINGS if variables.get(name)}


def version_of(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def which_modules(wanted: str) -> str:
    """"own" or "transformers": the latter where it is installed and new enough, unless the caller says otherwise."""
    if wanted != "auto":
        if wanted == "transformers" and importlib.util.find_spec("transformers") is None:
            fail("--modules transformers: transformers is not installed here")
        return wanted
    found = re.match(r"(\d+)\.(\d+)", version_of("transformers"))
    return "transformers" if found and (int(found[1]), int(found[2])) >= (4, 48) else "own"


def environment(device: str) -> dict[str, Any]:
    """Read once in a process of its own, because asking torch makes a CUDA context."""
    try:
        import torch
    except ImportError:
        fail(f"{sys.executable} has no torch; start this script with a Python that has")
    packages = {name: version_of(name) for name in ("transformers", "bitsandbytes", "deepspeed")}
    found: dict[str, Any] = {"torch": str(torch.version.__version__), **{name: number for name, number in packages.items() if number}}
    if device == "cpu":
        return {"gpu": "cpu", "product": "cpu", "gpus": 1, "memory": 0, **found}
    devices = module_of(device)
    if devices is None or not devices.is_available():
        fail("there is no GPU that torch can use here; --device npu asks for an Ascend's, and --device cpu counts on the CPU instead")
    if tuple(int(part) for part in re.findall(r"\d+", found["torch"])[:2]) < (2, 5):
        fail(f"measuring on a GPU needs torch 2.5 or newer (grouped attention heads), found {found['torch']}")
    of = devices.get_device_properties(0)
    below = runtime(device)
    here = {"gpu": gpu_name(of.name), "product": of.name, "gpus": devices.device_count(), "memory": of.total_memory, "driver": driver_of(device), **found}
    if below.startswith("CUDA "):
        return {**here, "capability": f"{of.major}.{of.minor}", "cuda": below.removeprefix("CUDA ")}
    if here["gpu"] not in {name for _, name in GPU_NAMES}:
        fail(f"{of.name} is no accelerator that headroom knows, and a capability that stands for one is NVIDIA's alone; GPU_NAMES in measure/environment.py has the names")
    return {**here, "runtime": below}
