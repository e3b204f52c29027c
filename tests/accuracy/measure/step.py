# Distributed under the Boost Software License, Version 1.0.
"""A plain training loop: what is measured, and nothing else."""

from __future__ import annotations

import contextlib
from typing import Any, ContextManager

import torch
from torch import nn

from .build import FORMATS, build, count, let_gradients_in, materialise, on_meta
from .jobs import Job
from .keys import fail
from .meters import CpuMeter, GpuMeter, storages
from .modules import causal_loss
from .optimizers import make_optimizer

Meter = Any  # GpuMeter or CpuMeter


def shard(job: Job, device: torch.device, transformers: bool) -> nn.Module:
    """FSDP2: each layer a unit, the rest the root's; storage comes after the cut."""
    try:
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    except ImportError:
        fail(f"sharding fsdp2 needs torch 2.6 or newer, found {torch.__version__}")
    model = on_meta(job, transformers)
    policy = MixedPrecisionPolicy(param_dtype=FORMATS[job.compute], reduce_dtype=FORMATS[job.reduce])
    for layer in model.layers:
        fully_shard(layer, mp_policy=policy, reshard_after_forward=job.reshard)
    fully_shard(model, mp_policy=policy)
    model.to_empty(device=device)
    model.tie()  # to_empty makes two of a shared matrix
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.02)
        for buffer in model.buffers():
            buffer.zero_()
    if job.adapter is not None and job.recompute == "full":
        let_gradients_in(model)
    return model


def prepare(job: Job, device: torch.device, transformers: bool) -> tuple[nn.Module, Any, int, int]:
    """Model, optimizer (or DeepSpeed's engine as both), and how many parameters there are and train."""
    total, trained = count(on_meta(job, transformers))
    if job.sharding == "fsdp2":
        model = shard(job, device, transformers)
    else:
        model = build(job, device, transformers)
    if job.sharding == "zero":
        engine = zero(job, model)
        return engine, engine, total, trained
    if job.sharding == "ddp":
        model = nn.parallel.DistributedDataParallel(model, device_ids=[device.index])
    return model, make_optimizer(job, model.parameters()), total, trained


def zero(job: Job, model: nn.Module) -> Any:
    """DeepSpeed with its own defaults."""
    try:
        import deepspeed
    except ImportError:
        fail("sharding zero needs deepspeed, which is not installed here")
    settings = {"train_micro_batch_size_per_gpu": job.micro, "gradient_accumulation_steps": job.accumulation, "bf16": {"enabled": True},
                "zero_optimization": {"stage": job.stage}, "zero_allow_untested_optimizer": True}
    return deepspeed.initialize(model=model, optimizer=make_optimizer(job, model.parameters()), config=settings)[0]


def hold_back(model: nn.Module, job: Job, last: bool) -> ContextManager[None]:
    """Under accumulation DDP reduces with the last micro-batch; FSDP2 reduces every time, as headroom has it."""
    return contextlib.nullcontext() if last or job.sharding != "ddp" else model.no_sync()


def train(job: Job, device: torch.device, meter: Meter, transformers: bool = False, keep_gradients: bool = False, steps: int = 3) -> dict[str, Any]:
    """Runs `steps` steps; the first counts for nothing but `load` and `reserved`. Returns what the step holds when it is over."""
    with meter.phase("load"):
        model, optimizer, total, trained = prepare(job, device, transformers)
        ids = torch.randint(job.shape.vocab, (job.micro, job.sequence), device=device)
        labels = ids.clone()
    engine = job.sharding == "zero"

    def autocast() -> ContextManager[None]:
        return torch.autocast(device.type, FORMATS[job.compute]) if job.autocast else contextlib.nullcontext()

    gradients = 0
    for step in range(steps):
        for micro in range(job.accumulation):
            with hold_back(model, job, micro + 1 == job.accumulation):
                with meter.phase("forward"), autocast():
                    logits = model(ids)
                with meter.phase("loss"), autocast():
                    loss = causal_loss(logits, labels)
                    del logits
                with meter.phase("backward"):
                    optimizer.backward(loss) if engine else (loss / job.accumulation).backward()
                    loss = loss.detach()  # as Trainer's training_step returns it: what remains of the graph goes
            if engine:  # DeepSpeed itself knows which micro-batch is the last
                with meter.phase("step"):
                    optimizer.step()
        gradients = storages(local(p.grad) for p in model.parameters() if p.grad is not None)
        if not engine:
            with meter.phase("step"):
                optimizer.step()
                optimizer.zero_grad(set_to_none=not keep_gradients)
        if step == 0:
            meter.forget()
    state = [] if engine else [local(value) for each in optimizer.state.values() for value in each.values() if torch.is_tensor(value)]
    holds = {"parameters": storages(local(p) for p in model.parameters()), "gradients": gradients,
             "optimizer_state": storages(value for value in state if value.dim() > 0 and value.device.type == device.type)}
    return {"metrics": meter.metrics(), "phases": dict(meter.phases), "holds": holds, "parameters": total, "trained": trained}


def local(tensor: torch.Tensor) -> torch.Tensor:
    """This rank's part of a DTensor."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def meter_for(device: torch.device) -> Meter:
    return CpuMeter() if device.type == "cpu" else GpuMeter(device)
