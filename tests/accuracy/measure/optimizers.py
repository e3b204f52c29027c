# Distributed under the Boost Software License, Version 1.0.
"""Optimizers by the job file's names."""

from __future__ import annotations

import inspect
from typing import Any, Iterable

import torch
from torch import nn

from .jobs import Job
from .keys import fail


def _implementation(job: Job, kind: type[torch.optim.Optimizer]) -> dict[str, bool]:
    """torch's own default where the job leaves it open."""
    if job.implementation == "":
        return {}
    wanted = {"foreach": job.implementation == "foreach"}
    takes = inspect.signature(kind.__init__).parameters
    if "fused" in takes:
        wanted["fused"] = job.implementation == "fused"
    elif job.implementation == "fused":
        fail(f"optimizer.implementation fused is not in torch {torch.__version__}'s {kind.__name__}")
    if wanted.get("fused"):
        wanted.pop("foreach")
    return wanted


def make_optimizer(job: Job, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
    trained = [p for p in parameters if p.requires_grad]
    name = job.optimizer
    if name in ("adamw-8bit", "paged-adamw-8bit", "paged-adamw"):
        try:
            import bitsandbytes
        except ImportError:
            fail(f"optimizer {name} needs bitsandbytes, which is not installed here")
        kinds: dict[str, Any] = {"adamw-8bit": "AdamW8bit", "paged-adamw-8bit": "PagedAdamW8bit", "paged-adamw": "PagedAdamW32bit"}
        return getattr(bitsandbytes.optim, kinds[name])(trained, lr=1e-4)
    kind = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam, "sgd": torch.optim.SGD, "sgd-momentum": torch.optim.SGD,
            "adagrad": torch.optim.Adagrad}[name]
    more = {"momentum": 0.9} if name == "sgd-momentum" else {}
    return kind(trained, lr=1e-4, **more, **_implementation(job, kind))
