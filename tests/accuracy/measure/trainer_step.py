# Distributed under the Boost Software License, Version 1.0.
"""A few steps of transformers.Trainer itself, and what they occupied. One process runs many jobs, one after another."""

from __future__ import annotations

import copy
import gc
import statistics
import sys
import tempfile
import time
from typing import Any

import torch

from .trainer_inputs import Batches, batch_of, text_of

OPTIMIZERS = {("adamw", None): "adamw_torch_fused", ("adamw", "fused"): "adamw_torch_fused", ("adamw", "foreach"): "adamw_torch",
              ("adafactor", None): "adafactor", ("sgd", None): "sgd", ("adagrad", None): "adagrad", ("rmsprop", None): "rmsprop"}
PRECISIONS = {"bf16": ("bfloat16", False, False), "fp32": ("float32", False, False), "bf16-autocast": ("float32", True, False),
              "fp16-autocast": ("float32", False, True)}


def precision_of(job: dict[str, Any]) -> tuple[str, bool, bool]:
    """Format of the weights, bf16=True, fp16=True."""
    said = job.get("precision", "fp32")
    if isinstance(said, dict):
        return {"bf16": "bfloat16", "fp32": "float32"}[said["parameters"]], bool(said.get("autocast")), False
    return PRECISIONS[said]


def model_of(job: dict[str, Any]) -> Any:
    """The class that the configuration names, with random weights, on the GPU."""
    import transformers
    from transformers import AutoConfig

    raw = {key: value for key, value in job["model"].items() if key not in ("torch_dtype", "dtype")}
    config = AutoConfig.for_model(raw.pop("model_type"), **raw)
    for each in (config, text_of(config)):
        size = getattr(text_of(config), "vocab_size", None)
        for name in ("image_token_id", "image_token_index", "pad_token_id"):
            found = getattr(each, name, None)
            if isinstance(size, int) and isinstance(found, int) and not 0 <= found < size:
                setattr(each, name, 0 if name == "pad_token_id" else 5)
    name = job["model"]["architectures"][0]
    kind = getattr(transformers, name.replace("ForCausalLM", "ForSequenceClassification") if job.get("objective") == "classification" else name)
    how = {"dtype": getattr(torch, precision_of(job)[0]), "attn_implementation": job.get("attention", "sdpa")}
    try:
        with torch.device("cuda"):
            model = kind._from_config(copy.deepcopy(config), **how)
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # some classes compute on the host while they are made, some have no SDPA
        print(f"made on the host: {type(error).__name__}: {error}", file=sys.stderr)
        without = "scaled_dot_product_attention" in str(error) or "sdpa" in str(error)
        model = kind._from_config(config, **how | ({"attn_implementation": "eager"} if without else {}))
    return adapted(model.cuda(), job)


def adapted(model: Any, job: dict[str, Any]) -> Any:
    side = job.get("adapter")
    if not side:
        return model
    from peft import LoraConfig, get_peft_model

    targets = side["targets"]
    config = LoraConfig(r=side["rank"], lora_alpha=2 * side["rank"], lora_dropout=side.get("dropout", 0.0), target_modules=targets,
                        task_type="CAUSAL_LM")
    return get_peft_model(model, config, autocast_adapter_dtype=side.get("format", "fp32") == "fp32")


def arguments_of(job: dict[str, Any], folder: str, steps: int) -> Any:
    from transformers import TrainingArguments

    optimizer = job.get("optimizer", "adamw")
    optimizer = {"name": optimizer} if isinstance(optimizer, str) else optimizer
    recompute = job.get("recompute", "none")
    recompute = {"mode": recompute} if isinstance(recompute, str) else recompute
    _, bf16, fp16 = precision_of(job)
    more: dict[str, Any] = {}
    if recompute["mode"] == "full":
        more["gradient_checkpointing"] = True
        if "reentrant" in recompute:
            more["gradient_checkpointing_kwargs"] = {"use_reentrant": recompute["reentrant"]}
    evaluation = job.get("evaluation")
    if evaluation:
        more |= {"eval_strategy": "steps", "eval_steps": 2, "per_device_eval_batch_size": evaluation["batch"],
                 "prediction_loss_only": bool(evaluation.get("loss_only"))}
    return TrainingArguments(
        output_dir=folder, per_device_train_batch_size=job["batch"].get("micro", 1), max_steps=steps, bf16=bf16, fp16=fp16,
        gradient_accumulation_steps=job["batch"].get("accumulation", 1), optim=OPTIMIZERS[optimizer["name"], optimizer.get("implementation")],
        report_to="none", save_strategy="no", logging_strategy="no", disable_tqdm=True, remove_unused_columns=False,
        dataloader_num_workers=0, **more)


class Peaks:
    """Peaks of the allocator between marks; those of the first step are forgotten."""

    def __init__(self) -> None:
        self.phases: dict[str, int] = {}
        self.holds: dict[str, int] = {}
        self.active = self.reserved = 0
        self.times: list[float] = []
        self.began = 0.0

    def mark(self, phase: str | None, reset: bool = True) -> None:
        """The peak since the last reset belongs to `phase`."""
        torch.cuda.synchronize()
        stats = torch.cuda.memory_stats()
        if phase is not None:
            self.phases[phase] = max(self.phases.get(phase, 0), stats["allocated_bytes.all.peak"])
            self.active = max(self.active, stats["active_bytes.all.peak"])
        self.reserved = max(self.reserved, stats["reserved_bytes.all.peak"])
        if reset:
            torch.cuda.reset_peak_memory_stats()

    def forget(self) -> None:
        self.phases, self.active = {}, 0


def bytes_of(tensors: Any) -> int:
    return sum({each.untyped_storage().data_ptr(): each.untyped_storage().nbytes() for each in tensors if each.is_cuda}.values())


def watcher(peaks: Peaks) -> Any:
    from transformers import TrainerCallback

    class Watcher(TrainerCallback):
        def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if state.global_step == 1:
                peaks.forget()
            peaks.mark(None)
            peaks.began = time.perf_counter()

        def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            peaks.mark("forward+backward")

        def on_optimizer_step(self, args: Any, state: Any, control: Any, model: Any = None, optimizer: Any = None, **kwargs: Any) -> None:
            peaks.mark("step")
            inner = getattr(optimizer, "optimizer", optimizer)
            own = list(model.parameters())
            peaks.holds = {"parameters": bytes_of(own), "gradients": bytes_of(each.grad for each in own if each.grad is not None),
                           "optimizer_state": bytes_of(value for state_of in inner.state.values() for value in state_of.values()
                                                       if isinstance(value, torch.Tensor))}

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            torch.cuda.synchronize()
            peaks.times.append(time.perf_counter() - peaks.began)
            peaks.holds["all after zero_grad"] = torch.cuda.memory_allocated()
            torch.cuda.reset_peak_memory_stats()

        def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            peaks.mark("evaluation")

    return Watcher()


def trained(job: dict[str, Any]) -> dict[str, Any]:
    """Runs the steps. Everything that it made is its own, so that it is gone on return."""
    from transformers import Trainer

    class Step(Trainer):
        def compute_loss(self, *args: Any, **kwargs: Any) -> Any:
            if not self.model.training:
                return super().compute_loss(*args, **kwargs)
            peaks.mark("forward+backward")  # of the micro-batch before
            result = super().compute_loss(*args, **kwargs)
            peaks.mark("forward", reset=False)
            return result

    peaks = Peaks()
    accumulation = job["batch"].get("accumulation", 1)
    micro, steps = job["batch"].get("micro", 1), 4
    model = model_of(job)
    if job.get("adapter") and isinstance(job.get("recompute"), dict) and job["recompute"].get("reentrant"):
        model.enable_input_require_grads()
    given = batch_of(model.get_base_model() if job.get("adapter") else model, job)
    evaluation = job.get("evaluation") or {}
    more: dict[str, Any] = {}
    if evaluation:
        more["eval_dataset"] = Batches(evaluation.get("samples") or evaluation["batch"])
        if not evaluation.get("loss_only"):
            more["compute_metrics"] = lambda found: {}

    def collate(samples: list[Any]) -> dict[str, torch.Tensor]:
        if len(samples) == micro:
            return {name: each.clone() for name, each in given.items()}  # the loop takes things out of its batch
        return {name: each.repeat(-(-len(samples) // micro), *[1] * (each.dim() - 1))[:len(samples)] for name, each in given.items()}

    gc.collect()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    with tempfile.TemporaryDirectory() as folder:
        trainer = Step(model=model, args=arguments_of(job, folder, steps), data_collator=collate, callbacks=[watcher(peaks)],
                       train_dataset=Batches(micro * accumulation * (steps + 1)), **more)
        retries = torch.cuda.memory_stats()["num_alloc_retries"]
        trainer.train()
        peaks.mark(None)
        retries = torch.cuda.memory_stats()["num_alloc_retries"] - retries
        loss_kwargs = trainer.model_accepts_loss_kwargs
        trainer.accelerator.free_memory()
    own = {id(each): each for each in model.parameters()}.values()
    metrics = {"allocated": max(peaks.phases.values()), "active": peaks.active}
    if retries == 0:
        metrics["reserved"] = peaks.reserved
    inner = model.get_base_model() if job.get("adapter") else model
    text = text_of(inner.config)
    return {"metrics": metrics, "phases": peaks.phases, "holds": peaks.holds, "parameters": sum(each.numel() for each in own),
            "trained": sum(each.numel() for each in own if each.requires_grad), "seconds": statistics.median(peaks.times[1:]),
            "attention": getattr(text, "_attn_implementation", None), "experts": getattr(text, "_experts_implementation", None),
            "takes num_items_in_batch": loss_kwargs, "pictures": {name: list(each.shape) for name, each in given.items()}}
