# Distributed under the Boost Software License, Version 1.0.
"""From a job to a model on a device: built without storage, adapted, quantised, then filled with random numbers."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import modules
from .jobs import Adapter, Job
from .keys import fail

FORMATS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class LoraLinear(nn.Module):
    """A frozen linear layer and two trained matrices beside it, as peft tuners/lora/layer.py Linear.forward computes them."""

    def __init__(self, base: nn.Module, side: Adapter) -> None:
        super().__init__()
        like = {"bias": False, "device": "meta", "dtype": FORMATS[side.format]}
        self.base = base
        self.lora_A = nn.Linear(base.in_features, side.rank, **like)
        self.lora_B = nn.Linear(side.rank, base.out_features, **like)
        self.scaling = 1.0 / side.rank
        self.dropout = side.dropout

    def forward(self, x: Tensor) -> Tensor:
        result = self.base(x)
        x = x.to(self.lora_A.weight.dtype)
        if self.dropout > 0:
            x = F.dropout(x, self.dropout, self.training)
        return (result + self.lora_B(self.lora_A(x)) * self.scaling).to(result.dtype)


def on_meta(job: Job, transformers: bool) -> nn.Module:
    """The model without storage, in the format of its parameters, with adapters and what they freeze."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(FORMATS[job.parameters])
    try:
        if transformers:
            from .hugging_face import Wrapped

            with torch.device("meta"):
                model: nn.Module = Wrapped(job)
        else:
            model = modules.Decoder(job)
    finally:
        torch.set_default_dtype(before)
    if job.adapter is not None:
        adapt(model, job.adapter)
    return model.train()


def adapted(name: str, side: Adapter) -> bool:
    last = name.rsplit(".", 1)[-1]
    if side.targets == ("all-linear",):
        return last not in ("lm_head", "gate")  # neither head nor router
    return last in side.targets


def adapt(model: nn.Module, side: Adapter) -> None:
    """Freezes everything and wraps the targets; a base of 4 bits is quantised when the model gets its storage."""
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    found = [(name, module) for name, module in model.named_modules() if isinstance(module, nn.Linear) and adapted(name, side)]
    if not found:
        fail(f"adapter.targets name no linear layer of this model: {', '.join(side.targets)}")
    for name, module in found:
        parent, _, last = name.rpartition(".")
        setattr(model.get_submodule(parent), last, LoraLinear(module, side))


def fill(parameter: Tensor) -> None:
    with torch.no_grad():
        if parameter.dim() > 1:
            parameter.normal_(0.0, 0.02)
        else:
            parameter.fill_(1.0)


def materialise(model: nn.Module, device: torch.device) -> None:
    """Storage for every parameter and buffer, a shared one once. Buffers are zeros: what they hold does not change what is occupied."""
    made: dict[int, nn.Parameter] = {}
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is None or type(parameter).__name__ == "Params4bit":
                continue
            if id(parameter) not in made:
                new = nn.Parameter(torch.empty_like(parameter, device=device), parameter.requires_grad)
                fill(new)
                made[id(parameter)] = new
            module._parameters[name] = made[id(parameter)]
        for name, buffer in module._buffers.items():
            if buffer is not None:
                module._buffers[name] = torch.zeros_like(buffer, device=device)


def quantise(model: nn.Module, base: str, device: torch.device) -> None:
    """Every linear layer but the head in 4 bits by bitsandbytes, one after another; what is left is fp32 by the job's precision,
    as peft utils/other.py prepare_model_for_kbit_training makes it."""
    try:
        from bitsandbytes.nn import Linear4bit, Params4bit
    except ImportError:
        fail(f"adapter.base {base} needs bitsandbytes, which is not installed here")
    for name, module in list(model.named_modules()):
        if not isinstance(module, nn.Linear) or name.rsplit(".", 1)[-1] in ("lm_head", "lora_A", "lora_B"):
            continue
        how = {"compress_statistics": base == "nf4-double", "quant_type": "nf4"}
        small = Linear4bit(module.in_features, module.out_features, module.bias is not None, compute_dtype=torch.bfloat16, device="meta", **how)
        whole = torch.empty(module.weight.shape, dtype=torch.bfloat16, device=device).normal_(0.0, 0.02)
        small.weight = Params4bit(whole, requires_grad=False, module=small, **how).to(device)
        if small.bias is not None:
            small.bias.requires_grad_(False)
        del whole
        parent, _, own = name.rpartition(".")
        setattr(model.get_submodule(parent), own, small)


def let_gradients_in(model: nn.Module) -> None:
    """transformers' enable_input_require_grads: frozen embeddings whose result still reaches adapters through checkpoints."""
    model.embed_tokens.register_forward_hook(lambda module, given, result: result.requires_grad_(True))


def count(model: nn.Module) -> tuple[int, int]:
    """Parameters, a shared matrix once: all, and those that train."""
    each = {id(p): p for p in model.parameters()}.values()
    return sum(p.numel() for p in each), sum(p.numel() for p in each if p.requires_grad)


def build(job: Job, device: torch.device, transformers: bool) -> nn.Module:
    """The model of one rank that holds all of it."""
    model = on_meta(job, transformers)
    if job.adapter is not None and job.adapter.base.startswith("nf4"):
        quantise(model, job.adapter.base, device)
    if device.type != "meta":
        materialise(model, device)
    if job.adapter is not None and (job.recompute == "full" or job.adapter.base.startswith("nf4")):
        let_gradients_in(model)
    return model
