# Distributed under the Boost Software License, Version 1.0.
"""The same models as transformers' own classes, where that is installed. Nothing is downloaded."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .jobs import Job
from .keys import fail

OLDEST = (4, 48)  # the first whose loss and attention are those that headroom's newest libtorch profile follows


def config_of(job: Job) -> Any:
    """A configuration object whose model has exactly the job's parameters, or a sentence why there is none."""
    import transformers

    if tuple(int(part) for part in transformers.__version__.split(".")[:2]) < OLDEST:
        fail(f"transformers {transformers.__version__} is older than {OLDEST[0]}.{OLDEST[1]}; choose --modules own")
    s = job.shape
    if s.position == "learned":
        expected = (s.fused_qkv, s.mlp, s.norm, s.attention_bias, s.output_bias, s.mlp_bias, s.norm_bias, s.kv, s.experts)
        if expected != (True, "plain", "layernorm", True, True, True, True, s.heads, 0):
            fail("model is no GPT-2 that transformers can build; choose --modules own")
        drops = job.dropout
        return transformers.GPT2Config(
            n_layer=s.layers, n_embd=s.hidden, n_head=s.heads, n_inner=s.ffn, vocab_size=s.vocab, n_positions=s.max_positions,
            activation_function=s.activation, tie_word_embeddings=s.tied, use_cache=False, resid_pdrop=drops["hidden"],
            attn_pdrop=drops["attention"], embd_pdrop=drops["embedding"])
    if s.position != "rope" or s.norm != "rmsnorm" or s.mlp != "gated" or s.fused_qkv:
        fail("model is none of the types that transformers is asked for (Llama, Qwen2, Qwen3, Mixtral, GPT-2); choose --modules own")
    common = dict(num_hidden_layers=s.layers, hidden_size=s.hidden, num_attention_heads=s.heads, num_key_value_heads=s.kv, head_dim=s.head_width,
                  intermediate_size=s.ffn or s.expert_ffn, vocab_size=s.vocab, tie_word_embeddings=s.tied, hidden_act=s.activation,
                  max_position_embeddings=max(2048, job.sequence), use_cache=False, attention_dropout=job.dropout["attention"])
    biases = (s.attention_bias, s.output_bias, s.mlp_bias)
    if s.experts and biases == (False, False, False) and not s.qk_norm:
        return transformers.MixtralConfig(**{**common, "intermediate_size": s.expert_ffn}, num_local_experts=s.experts,
                                          num_experts_per_tok=s.active_experts, sliding_window=None)
    if s.experts:
        fail("model has experts beside biases or q and k norms, which no class here has; choose --modules own")
    if s.qk_norm and not s.mlp_bias and s.attention_bias == s.output_bias:
        return transformers.Qwen3Config(**common, attention_bias=s.attention_bias)
    if biases == (True, False, False) and s.head_width * s.heads == s.hidden:
        return transformers.Qwen2Config(**common)
    if s.attention_bias == s.output_bias and not s.qk_norm:
        return transformers.LlamaConfig(**common, attention_bias=s.attention_bias, mlp_bias=s.mlp_bias)
    fail("model is none of the types that transformers is asked for (Llama, Qwen2, Qwen3, Mixtral, GPT-2); choose --modules own")


class Wrapped(nn.Module):
    """transformers' model behind the interface of modules.Decoder: token numbers to logits."""

    def __init__(self, job: Job) -> None:
        super().__init__()
        from transformers import AutoModelForCausalLM

        self.model = AutoModelForCausalLM.from_config(config_of(job), attn_implementation=job.attention)
        if job.recompute == "full":
            self.model.gradient_checkpointing_enable({"use_reentrant": job.reentrant})
        self.padded = job.padded
        self.tied = job.shape.tied
        self.tie()

    def tie(self) -> None:
        if self.tied:
            self.model.get_output_embeddings().weight = self.model.get_input_embeddings().weight

    @property
    def layers(self) -> nn.ModuleList:
        inner = self.model.base_model
        return inner.h if hasattr(inner, "h") else inner.layers

    @property
    def embed_tokens(self) -> nn.Module:
        return self.model.get_input_embeddings()

    def forward(self, ids: Tensor) -> Tensor:
        mask = None
        if self.padded:
            mask = torch.ones_like(ids)
            mask[:, 0] = 0  # one padded position: an all-ones mask is dropped
        return self.model(input_ids=ids, attention_mask=mask, use_cache=False).logits
