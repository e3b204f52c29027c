# Distributed under the Boost Software License, Version 1.0.
"""One job in this process (one of several under torchrun), its result in a file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from .accelerator import COLLECTIVES, module_of, used_by_others
from .jobs import Job, read_job_file
from .keys import fail


def is_out_of_memory(error: BaseException) -> bool:
    """cuBLAS and NCCL have words of their own for a failed cudaMalloc."""
    words = ("out of memory", "CUBLAS_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_NOT_INITIALIZED", "Cuda failure 'out of memory'")
    return type(error).__name__ == "OutOfMemoryError" or isinstance(error, RuntimeError) and any(word in str(error) for word in words)


def run_here(job: Job, device_name: str, transformers: bool, keep_gradients: bool, steps: int) -> dict[str, Any]:
    """Measures in this process. On a GPU: one process, one job, or the caching allocator remembers the last one."""
    import torch

    from .modules import HAS_SDPA
    from .step import meter_for, train

    if job.attention == "sdpa" and not HAS_SDPA and not transformers:
        fail(f'attention must be "eager" with torch {torch.version.__version__}: the fused kernel came with 2.0')
    if device_name == "cpu":
        if job.gpus > 1:
            fail(f"hardware.gpus_per_node must be 1 with --device cpu, found {job.gpus}")
        device = torch.device("cpu")
        return train(job, device, meter_for(device), transformers, keep_gradients, steps)

    rank = int(os.environ.get("LOCAL_RANK", "0"))
    others = used_by_others(device_name, rank)
    of = module_of(device_name)
    device = torch.device(device_name, rank)
    of.set_device(device)
    if job.gpus > 1:
        torch.distributed.init_process_group(COLLECTIVES[device_name], device_id=device)
    capacity = of.get_device_properties(device).total_memory
    try:
        result = train(job, device, meter_for(device), transformers, keep_gradients, steps)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        return {"out_of_memory": str(error).split("\n")[0], "capacity": capacity - others}
    result["metrics"]["device"] -= others
    result["kernel"] = kernel_of(job, device)
    result["capacity"] = capacity - others
    return largest(result) if job.gpus > 1 else result


def kernel_of(job: Job, device: Any) -> str:
    """Which of its kernels scaled_dot_product_attention takes for such a job; empty where torch does not say."""
    import torch

    if job.attention != "sdpa":
        return ""
    try:
        from torch.nn.attention import SDPBackend

        from .build import FORMATS

        s, form = job.shape, FORMATS[job.compute]
        grouped = s.kv != s.heads and not job.padded
        q, k = (torch.empty(job.micro, heads, job.sequence, s.head_width, dtype=form, device=device, requires_grad=True)
                for heads in (s.heads, s.kv if grouped else s.heads))
        mask = torch.ones(job.micro, 1, job.sequence, job.sequence, dtype=torch.bool, device=device) if job.padded else None
        more = {"enable_gqa": True} if grouped else {}
        return SDPBackend(torch._fused_sdp_choice(q, k, k, mask, job.dropout["attention"], mask is None, **more)).name.lower()
    except Exception:  # a private function: its absence or its memory must not cost the record
        return ""


def largest(mine: dict[str, Any]) -> dict[str, Any]:
    """The tallest rank for each number."""
    import torch.distributed as dist

    everyone: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, mine)
    for section in ("metrics", "phases", "holds"):
        mine[section] = {key: max(each[section][key] for each in everyone) for key in mine[section]}
    dist.destroy_process_group()
    return mine


def work(file: Path, result: Path, device: str, modules: str, keep_gradients: bool, steps: int) -> None:
    job = read_job_file(file)
    found = run_here(job, device, modules == "transformers", keep_gradients, steps)
    if int(os.environ.get("RANK", "0")) == 0 or "out_of_memory" in found:
        part = result.with_suffix(f".{os.environ.get('RANK', '0')}")
        part.write_text(json.dumps(found))
        part.replace(result)
    if "out_of_memory" in found and job.gpus > 1:
        os._exit(3)  # the other ranks wait in a collective: torchrun ends them
