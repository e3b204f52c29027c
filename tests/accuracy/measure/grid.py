# Distributed under the Boost Software License, Version 1.0.
"""The jobs worth measuring: one baseline a model, then one thing changed at a time. Always the same list in the same order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Entry:
    name: str
    job: dict[str, Any]
    keep_gradients: bool = False  # zero_grad(set_to_none=False): said to this script, a job has no key for it


FUSED = {"name": "adamw", "implementation": "fused"}
FOREACH = {"name": "adamw", "implementation": "foreach"}
SMALL_EXPERTS: dict[str, Any] = {"base": "mixtral-8x7b", "name": "mixtral-small", "layers": 4, "hidden": 1024, "heads": 16, "kv_heads": 4,
                                 "ffn": 2816, "experts": {"count": 8, "active": 2, "ffn": 2816}}


def job(model: Any, micro: int = 1, sequence: int = 1024, accumulation: int = 1, **keys: Any) -> dict[str, Any]:
    padded = {"padded": True} if keys.pop("padded", False) else {}
    return {"model": model, "framework": "libtorch", "precision": "bf16", "optimizer": FOREACH,
            "batch": {"micro": micro, "sequence": sequence, "accumulation": accumulation, **padded}, **keys}


def lora(targets: Any, rank: int = 16, form: str = "fp32", **keys: Any) -> dict[str, Any]:
    return {"kind": "lora", "rank": rank, "targets": targets, "format": form, **keys}


# A base of 16 bits under adapters in fp32, as peft leaves them.
MIXED_ADAPTERS = {"parameters": "bf16", "compute": "bf16", "gradients": "fp32", "reduce": "fp32", "master": "none", "state": "fp32"}


def baselines() -> list[Entry]:
    models: list[tuple[str, Any]] = [("llama-3.2-1b", "llama-3.2-1b"), ("tinyllama-1.1b", "tinyllama-1.1b"), ("smollm2-135m", "smollm2-135m"),
                                     ("qwen2.5-0.5b", "qwen2.5-0.5b"), ("qwen3-0.6b", "qwen3-0.6b"), ("gpt2", "gpt2"),
                                     ("gpt2-medium", "gpt2-medium"), ("mixtral-small", SMALL_EXPERTS)]
    made = [Entry(f"{name}-bf16", job(model)) for name, model in models]
    made += [Entry(f"{name}-bf16-recompute", job(model, 4, recompute={"mode": "full", "reentrant": False})) for name, model in models]
    return made


def batches() -> list[Entry]:
    made = [Entry(f"qwen2.5-0.5b-b{micro}-s{sequence}", job("qwen2.5-0.5b", micro, sequence))
            for micro, sequence in ((1, 256), (1, 512), (1, 2048), (1, 4096), (2, 1024), (4, 1024), (8, 512))]
    made += [Entry(f"llama-3.2-1b-recompute-s{sequence}", job("llama-3.2-1b", 1, sequence, recompute={"mode": "full", "reentrant": False}))
             for sequence in (2048, 4096, 8192, 16384)]
    made += [Entry(f"gpt2-b{micro}", job("gpt2", micro)) for micro in (4, 16)]
    made += [Entry(f"{model}-accumulate-{n}", job(model, 2, 1024, n)) for model in ("qwen2.5-0.5b", "gpt2") for n in (2, 4)]
    made += [Entry(f"{model}-kept-gradients", job(model, 2), True) for model in ("qwen2.5-0.5b", "gpt2")]
    made += [Entry(f"{model}-padded", job(model, 2, padded=True)) for model in ("qwen2.5-0.5b", "smollm2-135m")]
    return made


def recipes() -> list[Entry]:
    made = [Entry(f"{model}-{precision}", job(model, 2, precision=precision))
            for model in ("qwen2.5-0.5b", "gpt2", "mixtral-small") for precision in ("fp32", "bf16-autocast", "fp16-autocast")
            if (model, precision) != ("mixtral-small", "fp16-autocast")]
    made = [Entry(e.name, {**e.job, "model": SMALL_EXPERTS}) if e.name.startswith("mixtral") else e for e in made]
    made += [Entry(f"{model}-bf16-autocast-recompute", job(model, 4, precision="bf16-autocast", recompute={"mode": "full", "reentrant": reentrant}))
             for model, reentrant in (("qwen2.5-0.5b", False), ("qwen3-0.6b", True))]
    made += [Entry("qwen3-0.6b-recompute-reentrant", job("qwen3-0.6b", 4, recompute={"mode": "full", "reentrant": True}))]
    for name, how in (("adamw", "fused"), ("adamw", "loop"), ("adam", "foreach"), ("sgd", "foreach"), ("sgd-momentum", "foreach"),
                      ("sgd-momentum", "loop"), ("adagrad", "foreach")):
        made.append(Entry(f"tinyllama-1.1b-{name}-{how}", job("tinyllama-1.1b", 1, 256, optimizer={"name": name, "implementation": how})))
    made += [Entry(f"tinyllama-1.1b-{name}", job("tinyllama-1.1b", 1, 256, optimizer=name)) for name in ("adamw-8bit", "paged-adamw-8bit", "paged-adamw")]
    made += [Entry("tinyllama-1.1b-step-s256", job("tinyllama-1.1b", 1, 256))]
    made += [Entry(f"{model}-eager", job(model, 2, attention="eager")) for model in ("qwen2.5-0.5b", "gpt2", "smollm2-135m")]
    made += [Entry("gpt2-dropout", job("gpt2", 4, dropout={"hidden": 0.1, "attention": 0.1, "embedding": 0.1})),
             Entry("gpt2-dropout-eager", job("gpt2", 4, attention="eager", dropout={"hidden": 0.1, "attention": 0.1, "embedding": 0.1}))]
    return made


def vocabularies() -> list[Entry]:
    made = [Entry(f"llama-3.2-1b-4-layers-vocab-{vocab}", job({"base": "llama-3.2-1b", "name": f"llama-vocab-{vocab}", "layers": 4, "vocab": vocab}, 2, 2048))
            for vocab in (32000, 128256, 256000)]
    made.append(Entry("llama-3.2-1b-4-layers-untied", job({"base": "llama-3.2-1b", "name": "llama-untied", "layers": 4, "tied": False}, 2, 2048)))
    return made


def adapters() -> list[Entry]:
    half = ["q_proj", "v_proj"]
    made = [Entry(f"llama-3.2-1b-lora-{form}-r{rank}-{'all' if targets == 'all-linear' else 'qv'}",
                  job("llama-3.2-1b", 2, precision=MIXED_ADAPTERS if form == "fp32" else "bf16", adapter=lora(targets, rank, form)))
            for form, rank, targets in (("fp32", 16, "all-linear"), ("bf16", 16, "all-linear"), ("fp32", 64, half), ("bf16", 8, half))]
    made.append(Entry("llama-3.2-1b-lora-dropout", job("llama-3.2-1b", 2, precision=MIXED_ADAPTERS, adapter=lora("all-linear", dropout=0.05))))
    made.append(Entry("llama-3.1-8b-lora", job("llama-3.1-8b", precision="bf16", adapter=lora(half, 16, "bf16"))))
    made.append(Entry("llama-3.1-8b-lora-recompute", job("llama-3.1-8b", 1, 4096, precision="bf16", adapter=lora("all-linear", 16, "bf16"),
                                                        recompute={"mode": "full", "reentrant": False})))
    for base in ("nf4", "nf4-double"):
        for model, recompute in (("llama-3.2-1b", "none"), ("llama-3.1-8b", "full")):
            extra = {"recompute": {"mode": "full", "reentrant": False}} if recompute == "full" else {}
            made.append(Entry(f"{model}-qlora-{base}", job(model, precision="bf16-autocast", adapter=lora("all-linear", base=base), **extra)))
    return made


def environments() -> list[Entry]:
    grows = {"environment": {"allocator": {"expandable_segments": True}}}
    return [Entry("qwen2.5-0.5b-expandable", job("qwen2.5-0.5b", 2, **grows)),
            Entry("llama-3.2-1b-expandable-recompute", job("llama-3.2-1b", 1, 8192, recompute={"mode": "full", "reentrant": False}, **grows)),
            Entry("qwen2.5-0.5b-small-workspace", job("qwen2.5-0.5b", 2, environment={"cublas_workspace": ":16:8"}))]


def several_gpus() -> list[Entry]:
    def on(gpus: int, sharding: Any, **keys: Any) -> dict[str, Any]:
        made = job(keys.pop("model", "llama-3.2-1b"), 1, 2048, hardware={"gpus_per_node": gpus}, sharding=sharding, **keys)
        return {**made, "framework": "deepspeed"} if str(sharding).startswith("zero") else made

    made = [Entry("llama-3.2-1b-ddp-2", on(2, "ddp"))]
    made += [Entry(f"llama-3.2-1b-fsdp2-{gpus}", on(gpus, "fsdp2", precision="bf16-mixed")) for gpus in (2, 4, 8)]
    made += [Entry("llama-3.2-1b-fsdp2-2-kept", on(2, {"kind": "fsdp2", "reshard_after_forward": False}, precision="bf16-mixed")),
             Entry("llama-3.1-8b-fsdp2-8-recompute", on(8, "fsdp2", model="llama-3.1-8b", precision="bf16-mixed",
                                                       recompute={"mode": "full", "reentrant": False}))]
    made += [Entry(f"llama-3.2-1b-zero{stage}-2", on(2, f"zero{stage}", precision="bf16-mixed")) for stage in (1, 2, 3)]
    return made


def grid() -> list[Entry]:
    return [*baselines(), *batches(), *recipes(), *vocabularies(), *adapters(), *environments(), *several_gpus()]
