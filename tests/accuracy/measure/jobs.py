# Distributed under the Boost Software License, Version 1.0.
"""A job file as far as it can be measured: every key is read, and what a plain training loop does not do is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .keys import Keys, Mistake, fail
from .shapes import ZOO, Shape, read_model

# precision recipes: format of the parameters, of computation, autocast
PRECISIONS = {"fp32": ("fp32", "fp32"), "bf16": ("bf16", "bf16"), "bf16-autocast": ("fp32", "bf16"),
              "fp16-autocast": ("fp32", "fp16"), "bf16-mixed": ("bf16", "bf16")}
OPTIMIZERS = ("adamw", "adam", "sgd", "sgd-momentum", "adagrad", "adamw-8bit", "paged-adamw-8bit", "paged-adamw")
MODULES = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "c_attn")


@dataclass(frozen=True)
class Adapter:
    rank: int
    targets: tuple[str, ...]  # ("all-linear",) for every linear layer but the head
    format: str
    dropout: float
    base: str  # bf16, fp32, nf4 or nf4-double


@dataclass(frozen=True)
class Job:
    raw: dict[str, Any]  # as it stands in the file: what goes into a record
    shape: Shape
    parameters: str  # fp32, bf16
    compute: str
    autocast: bool
    reduce: str
    optimizer: str
    implementation: str  # foreach, fused, loop; empty: torch's choice
    sharding: str  # none, ddp, fsdp2, zero
    stage: int
    reshard: bool
    gpus: int
    micro: int
    sequence: int
    accumulation: int
    padded: bool
    recompute: str
    reentrant: bool
    attention: str
    adapter: Adapter | None
    dropout: dict[str, float] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)  # variables to set before torch is imported
    on_cpu: bool = False


def _precision(value: Any, sharding: str) -> tuple[str, str, bool, str]:
    """Formats of parameters, computation and reduction, and whether autocast makes the difference."""
    if isinstance(value, str):
        if value not in PRECISIONS:
            fail(f"precision must be one of {', '.join(PRECISIONS)} to be measured, found {value!r}")
        parameters, compute = PRECISIONS[value]
        master = "fp32" if value == "bf16-mixed" else "none"
        reduce = ""
    else:
        keys = Keys(value, "precision")
        parameters = keys.word("parameters", ("fp32", "bf16"), "bf16")
        compute = keys.word("compute", ("fp32", "bf16", "fp16"), parameters)
        master = keys.word("master", ("none", "fp32"), "none")
        reduce = keys.word("reduce", ("fp32", "bf16", ""), "")
        for key in ("gradients", "state"):  # they follow the parameters that train
            keys.take(key)
        keys.flag("autocast")
        keys.finish()
    if sharding == "fsdp2" and master == "fp32":
        parameters = "fp32"  # the shards are the master copy
    elif master == "fp32" and sharding != "zero":
        fail("precision keeps an fp32 master copy beside the parameters, which a plain loop does not; "
             "choose bf16, fp32 or bf16-autocast, or sharding fsdp2 or zero")
    if sharding == "zero" and (parameters, compute, master) != ("bf16", "bf16", "fp32"):
        fail("sharding zero is measured with precision bf16-mixed alone")
    autocast = parameters == "fp32" and compute != "fp32" and sharding != "fsdp2"
    if parameters == "bf16" and compute != "bf16":
        fail(f"precision.compute must be bf16 beside bf16 parameters, found {compute!r}")
    return parameters, compute, autocast, reduce or compute


def _sharding(value: Any) -> tuple[str, int, bool]:
    if isinstance(value, str):
        value = {"kind": "zero", "stage": int(value[4])} if value in ("zero1", "zero2", "zero3") else {"kind": value}
    keys = Keys(value, "sharding")
    kind = keys.word("kind", ("none", "ddp", "fsdp2", "zero"), "none")
    stage = keys.whole("stage", 3 if kind == "fsdp2" else 0)
    keys.take("unit")
    reshard = keys.flag("reshard_after_forward", True)
    keys.finish()
    if kind == "zero" and stage not in (1, 2, 3):
        fail(f"sharding.stage must be 1, 2 or 3 for zero, found {stage}")
    return kind, stage, reshard


def _adapter(value: Any, parameters: str) -> Adapter | None:
    if value is None:
        return None
    keys = Keys(value, "adapter")
    if keys.word("kind", ("none", "lora"), "lora") == "none":
        return None
    rank = keys.whole("rank", 0, 1)
    targets = keys.take("targets", [])
    if targets != "all-linear":
        if not isinstance(targets, list) or not targets or any(t not in MODULES for t in targets):
            fail(f'adapter.targets must be "all-linear" or a list of {", ".join(MODULES)}, found {targets!r}')
    base = keys.word("base", ("bf16", "fp32", "nf4", "nf4-double"), parameters)
    if keys.take("base_skips", ["lm_head"]) != ["lm_head"]:
        fail('adapter.base_skips must be ["lm_head"] or left out: the head is not quantised here')
    made = Adapter(rank, ("all-linear",) if targets == "all-linear" else tuple(targets),
                   keys.word("format", ("fp32", "bf16"), parameters), keys.number("dropout"), base)
    keys.finish()
    return made


def _environment(value: Any) -> dict[str, str]:
    keys = Keys(value, "environment")
    variables = {}
    workspace = keys.take("cublas_workspace")
    if workspace is not None:
        if not isinstance(workspace, str):
            fail(f'environment.cublas_workspace must be ":SIZE:COUNT" in KiB to be measured, found {workspace!r}')
        variables["CUBLAS_WORKSPACE_CONFIG"] = workspace
    allocator = Keys(keys.take("allocator", {}), "environment.allocator")
    if allocator.flag("expandable_segments"):
        variables["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    allocator.finish()
    keys.finish()
    return variables


def _hardware(value: Any) -> tuple[int, bool]:
    """How many GPUs, and whether the job is a CPU's. Which GPU it is is read off the machine."""
    keys = Keys(value, "hardware")
    gpu = keys.take("gpu", "")
    nodes = keys.whole("nodes", 1, 1)
    gpus = keys.whole("gpus_per_node", 1, 1)
    for key in ("host_memory_gib", "nvme_gib"):
        keys.take(key)
    keys.finish()
    if nodes != 1:
        fail(f"hardware.nodes must be 1 to be measured, found {nodes}")
    return gpus, gpu == "cpu" or isinstance(gpu, dict) and gpu.get("name") == "cpu"


def read_job(raw: Any) -> Job:
    """Raises Mistake, with the key's path, for what this script does not know or a plain loop does not do."""
    keys = Keys(raw, "")
    if "model" not in keys.value:
        fail("model is required: a name, a path, a configuration or a shape")
    shape = read_model(keys.take("model"))
    gpus, on_cpu = _hardware(keys.take("hardware", {}))
    sharding, stage, reshard = _sharding(keys.take("sharding", "none"))
    framework = keys.take("framework", "libtorch")
    name = framework if isinstance(framework, str) else Keys(framework, "framework").take("name")
    if name != ("deepspeed" if sharding == "zero" else "libtorch"):
        fail(f"framework must be {'deepspeed' if sharding == 'zero' else 'libtorch'} to be measured with sharding {sharding}: "
             f"the loop is this script's own, found {name!r}")
    if isinstance(framework, dict) and framework.get("options"):
        fail("framework.options must be left out: neutral keys say everything that is measured")
    parameters, compute, autocast, reduce = _precision(keys.take("precision", "bf16-mixed" if sharding == "zero" else "bf16"), sharding)

    update = keys.take("optimizer", "adamw")
    update = Keys({"name": update} if isinstance(update, str) else update, "optimizer")
    optimizer = update.word("name", OPTIMIZERS, "adamw")
    implementation = update.word("implementation", ("foreach", "fused", "loop", ""), "")
    for key in ("state", "paged"):
        update.take(key)
    update.finish()

    layout = Keys(keys.take("parallel", {}), "parallel")
    data = layout.whole("data", gpus, 1)
    for key in ("tensor", "pipeline", "context", "expert", "replicate", "virtual_pipeline", "expert_tensor"):
        if layout.whole(key, 1, 1) != 1:
            fail(f"parallel.{key} must be 1 to be measured, found {layout.value[key]}")
    layout.flag("sequence")
    layout.finish()
    if data != gpus:
        fail(f"parallel.data must be the number of GPUs, {gpus}, found {data}")

    batch = Keys(keys.take("batch", {}), "batch")
    micro, sequence, accumulation = batch.whole("micro", 1, 1), batch.whole("sequence", 0, 2), batch.whole("accumulation", 1, 1)
    padded = batch.flag("padded")
    batch.finish()
    if shape.position == "learned" and sequence > shape.max_positions:
        fail(f"batch.sequence must be at most model.max_positions, {shape.max_positions}, found {sequence}")

    saved = keys.take("recompute", "none")
    saved = Keys({"mode": saved} if isinstance(saved, str) else saved, "recompute")
    recompute = saved.word("mode", ("none", "full"), "none")
    reentrant = saved.flag("reentrant")
    saved.finish()

    dropout = Keys(keys.take("dropout", {}), "dropout")
    drops = {key: dropout.number(key) for key in ("hidden", "attention", "embedding")}
    dropout.finish()
    if shape.position == "rope" and drops["hidden"] + drops["embedding"] > 0:
        fail("dropout.hidden and dropout.embedding must be 0: models with rotary positions have none")

    loss = Keys(keys.take("loss", {}), "loss")
    loss.word("kind", ("full",), "full")
    loss.word("logits", ("fp32",), "fp32")
    loss.finish()
    for key, only in (("trainable", "all"), ("compile", False)):
        if keys.take(key, only) != only:
            fail(f"{key} must be {json.dumps(only)} to be measured, found {raw[key]!r}")
    offload = Keys(keys.take("offload", {}), "offload")
    for key in ("optimizer", "parameters", "activations"):
        offload.word(key, ("none",), "none")
    offload.take("pin_memory")
    offload.finish()
    attention = keys.word("attention", ("sdpa", "eager"), "sdpa")
    adapter = _adapter(keys.take("adapter"), parameters)
    environment = _environment(keys.take("environment", {}))
    keys.finish()

    if (sharding == "none") != (gpus == 1):
        fail(f"sharding must be {'none on one GPU' if gpus == 1 else 'ddp, fsdp2 or zero on several GPUs'}, found {sharding!r}")
    if adapter is not None and sharding == "zero":
        fail("adapter is not measured under sharding zero")
    if adapter is not None and adapter.base.startswith("nf4") and (not autocast or sharding != "none"):
        fail(f"adapter.base {adapter.base} is measured on one GPU with precision bf16-autocast alone: peft makes what is not quantised fp32")
    if adapter is not None and not adapter.base.startswith("nf4") and adapter.base != parameters:
        fail(f"adapter.base must be nf4, nf4-double or the format of the parameters, {parameters}, found {adapter.base!r}")
    if implementation == "fused" and optimizer not in ("adamw", "adam", "sgd", "sgd-momentum", "adagrad"):
        fail(f"optimizer.implementation must be left out for {optimizer}: bitsandbytes has its own kernels")
    return Job(raw, shape, parameters, compute, autocast, reduce, optimizer, implementation, sharding, stage, reshard, gpus, micro, sequence,
               accumulation, padded, recompute, reentrant, attention, adapter, drops, environment, on_cpu)


def with_config(raw: Any, folder: Path) -> Any:
    """The job with the configuration that its `model` is the path of, so that a record says it all."""
    model = raw.get("model") if isinstance(raw, dict) else None
    if not isinstance(model, str) or model in ZOO:
        return raw
    file = folder / model
    file = file / "config.json" if file.is_dir() else file
    return {**raw, "model": json.loads(file.read_text())} if file.is_file() else raw


def read_job_file(file: Path) -> Job:
    """Raises Mistake, with the file's name."""
    try:
        return read_job(with_config(json.loads(file.read_text()), file.parent))
    except FileNotFoundError:
        fail(f"there is no file {file}")
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        fail(f"{file} is not JSON: {error}")
    except Mistake as mistake:
        fail(f"{file}: {mistake}")
