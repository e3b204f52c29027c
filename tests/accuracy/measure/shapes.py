# Distributed under the Boost Software License, Version 1.0.
"""The `model` key of a job: a name, a Hugging Face configuration, or a shape. No weights are read."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from .keys import Keys, fail, listed

ACTIVATIONS = ("silu", "gelu", "gelu_new", "gelu_pytorch_tanh", "relu")


@dataclass(frozen=True)
class Shape:
    """The part of headroom's shape that can be built here: Llama, Qwen2, Qwen3, GPT-2 and Mixtral types."""

    name: str = ""
    layers: int = 0
    hidden: int = 0
    heads: int = 0
    kv_heads: int = 0
    head_dim: int = 0
    ffn: int = 0
    vocab: int = 0
    tied: bool = False
    mlp: str = "gated"
    activation: str = "silu"
    norm: str = "rmsnorm"
    norm_bias: bool = False
    attention_bias: bool = False
    output_bias: bool = False
    mlp_bias: bool = False
    position: str = "rope"
    max_positions: int = 0
    qk_norm: bool = False
    fused_qkv: bool = False
    experts: int = 0
    active_experts: int = 0
    expert_ffn: int = 0

    @property
    def kv(self) -> int:
        return self.kv_heads or self.heads

    @property
    def head_width(self) -> int:
        return self.head_dim or self.hidden // self.heads


def _llama(name: str, layers: int, hidden: int, heads: int, kv: int, ffn: int, vocab: int, **more: Any) -> Shape:
    return Shape(name, layers, hidden, heads, kv, ffn=ffn, vocab=vocab, **more)


def _gpt2(name: str, layers: int, hidden: int, heads: int) -> Shape:
    return Shape(name, layers, hidden, heads, ffn=4 * hidden, vocab=50257, tied=True, mlp="plain", activation="gelu_new",
                 norm="layernorm", norm_bias=True, attention_bias=True, output_bias=True, mlp_bias=True, position="learned",
                 max_positions=1024, fused_qkv=True)


# Names of headroom's model zoo that the grid uses; the tests hold them to headroom's counts.
ZOO = {shape.name: shape for shape in (
    _llama("tinyllama-1.1b", 22, 2048, 32, 4, 5632, 32000),
    _llama("smollm2-135m", 30, 576, 9, 3, 1536, 49152, tied=True),
    _llama("llama-2-7b", 32, 4096, 32, 32, 11008, 32000),
    _llama("llama-3.2-1b", 16, 2048, 32, 8, 8192, 128256, tied=True, head_dim=64),
    _llama("llama-3.2-3b", 28, 3072, 24, 8, 8192, 128256, tied=True, head_dim=128),
    _llama("llama-3.1-8b", 32, 4096, 32, 8, 14336, 128256),
    _llama("mistral-7b", 32, 4096, 32, 8, 14336, 32000),
    _llama("mixtral-8x7b", 32, 4096, 32, 8, 14336, 32000, experts=8, active_experts=2, expert_ffn=14336),
    _llama("qwen2.5-0.5b", 24, 896, 14, 2, 4864, 151936, tied=True, attention_bias=True),
    _llama("qwen2.5-1.5b", 28, 1536, 12, 2, 8960, 151936, tied=True, attention_bias=True),
    _llama("qwen2.5-7b", 28, 3584, 28, 4, 18944, 152064, attention_bias=True),
    _llama("qwen3-0.6b", 28, 1024, 16, 8, 3072, 151936, tied=True, head_dim=128, qk_norm=True),
    _llama("qwen3-1.7b", 28, 2048, 16, 8, 6144, 151936, tied=True, head_dim=128, qk_norm=True),
    _llama("qwen3-8b", 36, 4096, 32, 8, 12288, 151936, head_dim=128, qk_norm=True),
    _gpt2("gpt2", 12, 768, 12),
    _gpt2("gpt2-medium", 24, 1024, 16),
    _gpt2("gpt2-large", 36, 1280, 20),
)}


def _checked(shape: Shape, path: str) -> Shape:
    for key in ("layers", "hidden", "heads", "vocab"):
        if getattr(shape, key) < 1:
            fail(f"{path}.{key} is required to build the model")
    if shape.ffn < 1 and shape.experts == 0:
        fail(f"{path}.ffn is required to build the model")
    if shape.head_dim == 0 and shape.hidden % shape.heads != 0:
        fail(f"{path}.hidden must be a multiple of {path}.heads, found {shape.hidden} and {shape.heads}")
    if shape.heads % shape.kv != 0:
        fail(f"{path}.heads must be a multiple of {path}.kv_heads, found {shape.heads} and {shape.kv}")
    if shape.position == "rope" and shape.head_width % 2 != 0:
        fail(f"{path}.head_dim must be even under rotary positions, found {shape.head_width}")
    if shape.position == "learned" and shape.max_positions < 1:
        fail(f"{path}.max_positions is required with learned positions")
    if shape.experts > 0 and not (0 < shape.active_experts <= shape.experts and shape.expert_ffn > 0 and shape.mlp == "gated"):
        fail(f"{path}.experts must have active from 1 to count and ffn, beside a gated MLP")
    if shape.norm == "rmsnorm" and shape.norm_bias:
        fail(f"{path}.norm_bias cannot be measured: RMSNorm has no bias here")
    return shape


def _read_shape(value: Any, path: str) -> Shape:
    keys = Keys(value, path)
    base = keys.take("base")
    shape = ZOO[_zoo_name(base, f"{path}.base")] if base is not None else Shape()
    whole = {f.name: keys.whole(f.name, getattr(shape, f.name)) for f in fields(Shape)
             if f.type == "int" and not f.name.startswith(("expert", "active"))}
    flags = {f.name: keys.flag(f.name, getattr(shape, f.name)) for f in fields(Shape) if f.type == "bool"}
    words = {"mlp": keys.word("mlp", ("gated", "plain"), shape.mlp),
             "activation": keys.word("activation", ACTIVATIONS, shape.activation),
             "norm": keys.word("norm", ("rmsnorm", "layernorm"), shape.norm),
             "position": keys.word("position", ("rope", "learned", "none"), shape.position)}
    shape = replace(shape, name=str(keys.take("name", "" if base is None else base)), **whole, **flags, **words)
    keys.flag("parallel_block")  # keys whose only measurable value is their default
    if keys.value.get("parallel_block"):
        fail(f"{path}.parallel_block cannot be measured: no such block is built here")
    routed = keys.take("experts")
    if routed is not None:
        inner = Keys(routed, f"{path}.experts")
        shape = replace(shape, experts=inner.whole("count", shape.experts), active_experts=inner.whole("active", shape.active_experts),
                        expert_ffn=inner.whole("ffn", shape.expert_ffn))
        inner.finish()
    keys.finish()
    return _checked(shape, path)


def _zoo_name(name: Any, path: str) -> str:
    if name not in ZOO:
        fail(f"{path} {name!r} is not a name that can be built here; known: {listed(ZOO)}. "
             "State the shape's keys or a config.json for any other")
    return str(name)


def _read_config(config: dict[str, Any], path: str) -> Shape:
    """A Hugging Face configuration of the types that are built here; what it leaves out is the class's default."""
    kind = config.get("model_type") or next((word for word in ("llama", "mistral", "mixtral", "qwen2", "qwen3", "gpt2")
                                             if str(config.get("architectures")).lower().startswith(f"['{word}for")), "")
    if kind == "gpt2":
        hidden = config.get("n_embd", 768)
        return _checked(replace(_gpt2("", config.get("n_layer", 12), hidden, config.get("n_head", 12)),
                                ffn=config.get("n_inner") or 4 * hidden, vocab=config.get("vocab_size", 50257),
                                max_positions=config.get("n_positions", 1024),
                                activation=config.get("activation_function", "gelu_new")), path)
    if kind not in ("llama", "mistral", "mixtral", "qwen2", "qwen3"):
        fail(f"{path}.model_type {kind!r} is not built here; built: llama, mistral, mixtral, qwen2, qwen3, gpt2")
    missing = [key for key in ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size", "vocab_size")
               if key not in config]
    if missing:
        fail(f"{path}.{missing[0]} is required to build the model")
    if config.get("hidden_act", "silu") not in ACTIVATIONS:
        fail(f"{path}.hidden_act must be one of {listed(ACTIVATIONS)}, found {config['hidden_act']!r}")
    biased = bool(config.get("attention_bias", False))
    shape = _llama("", config["num_hidden_layers"], config["hidden_size"], config["num_attention_heads"],
                   config.get("num_key_value_heads") or (8 if kind in ("mistral", "mixtral") else config["num_attention_heads"]),
                   config["intermediate_size"], config["vocab_size"], tied=bool(config.get("tie_word_embeddings", False)),
                   head_dim=config.get("head_dim") or (128 if kind == "qwen3" else 0), qk_norm=kind == "qwen3",
                   attention_bias=biased or kind == "qwen2", output_bias=biased and kind in ("llama", "qwen3"),
                   mlp_bias=bool(config.get("mlp_bias", False)), activation=config.get("hidden_act", "silu"))
    if kind == "mixtral":
        shape = replace(shape, experts=config.get("num_local_experts", 8), active_experts=config.get("num_experts_per_tok", 2),
                        expert_ffn=shape.ffn)
    return _checked(shape, path)


def read_model(value: Any) -> Shape:
    """A shape from any form of the key; a path to a configuration was replaced by what it holds (jobs.with_config)."""
    if isinstance(value, str):
        return ZOO[_zoo_name(value, "model")]
    if not isinstance(value, dict):
        fail(f"model must be a name, a path, a configuration or a shape, found {value!r}")
    if "model_type" in value or "architectures" in value:
        return _read_config(value, "model")
    return _read_shape(value, "model")
