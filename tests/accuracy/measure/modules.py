# Distributed under the Boost Software License, Version 1.0.
"""Decoders written as transformers writes them, operation for operation, so that headroom's `libtorch` predicts them.

Followed: transformers (2024-10 and later) models/llama, qwen2, qwen3, mixtral, gpt2 modeling_*.py, integrations/sdpa_attention.py,
activations.py NewGELUActivation, loss/loss_utils.py ForCausalLMLoss. Names of submodules are theirs, so that adapters find them.
Everything is made without storage (device "meta"); build.py fills it.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from .jobs import Job
from .shapes import Shape

HAS_SDPA = hasattr(F, "scaled_dot_product_attention")  # torch 2.0


class RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width, device="meta"))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.float32)
        variance = wide.pow(2).mean(-1, keepdim=True)
        wide = wide * torch.rsqrt(variance + 1e-6)
        return self.weight * wide.to(x.dtype)


class NewGELU(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


def activation(name: str) -> nn.Module:
    return {"silu": nn.SiLU, "gelu": nn.GELU, "gelu_new": NewGELU, "relu": nn.ReLU,
            "gelu_pytorch_tanh": lambda: nn.GELU(approximate="tanh")}[name]()


def linear(inputs: int, outputs: int, bias: bool) -> nn.Linear:
    return nn.Linear(inputs, outputs, bias, device="meta")


def norm(shape: Shape, width: int) -> nn.Module:
    return RMSNorm(width) if shape.norm == "rmsnorm" else LayerNorm(width, shape.norm_bias)


class LayerNorm(nn.LayerNorm):
    """nn.LayerNorm, whose bias may be left out; torch has had an argument for that since 2.1."""

    def __init__(self, width: int, bias: bool) -> None:
        super().__init__(width, eps=1e-5, device="meta")
        if not bias:
            self.bias = None


def rotate_half(x: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def rotary(sequence: int, width: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """cos and sin of every position, computed in fp32 once a forward pass."""
    with torch.no_grad():
        frequency = 1.0 / 10000.0 ** (torch.arange(0, width, 2, dtype=torch.float32, device=like.device) / width)
        angle = torch.arange(sequence, dtype=torch.float32, device=like.device)[:, None] * frequency[None, :]
        both = torch.cat((angle, angle), dim=-1)[None]
        return both.cos().to(like.dtype), both.sin().to(like.dtype)


class Attention(nn.Module):
    def __init__(self, shape: Shape, job: Job) -> None:
        super().__init__()
        self.shape, self.kind, self.drop, self.padded = shape, job.attention, job.dropout.get("attention", 0.0), job.padded
        width, q, kv = shape.hidden, shape.heads * shape.head_width, shape.kv * shape.head_width
        if shape.fused_qkv:
            self.c_attn = linear(width, q + 2 * kv, shape.attention_bias)
        else:
            self.q_proj = linear(width, q, shape.attention_bias)
            self.k_proj = linear(width, kv, shape.attention_bias)
            self.v_proj = linear(width, kv, shape.attention_bias)
        self.o_proj = linear(q, width, shape.output_bias)
        if shape.qk_norm:
            self.q_norm, self.k_norm = norm(shape, shape.head_width), norm(shape, shape.head_width)

    def heads(self, x: Tensor, normalise: nn.Module | None) -> Tensor:
        x = x.view(*x.shape[:2], -1, self.shape.head_width)
        return (x if normalise is None else normalise(x)).transpose(1, 2)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        shape = self.shape
        q_norm, k_norm = (self.q_norm, self.k_norm) if shape.qk_norm else (None, None)
        if shape.fused_qkv:
            q, k, v = self.c_attn(x).split((shape.heads * shape.head_width, shape.kv * shape.head_width, shape.kv * shape.head_width), dim=2)
            return self.heads(q, q_norm), self.heads(k, k_norm), self.heads(v, None)
        return self.heads(self.q_proj(x), q_norm), self.heads(self.k_proj(x), k_norm), self.heads(self.v_proj(x), None)

    def forward(self, x: Tensor, turns: tuple[Tensor, Tensor] | None, mask: Tensor | None) -> Tensor:
        q, k, v = self.project(x)
        if turns is not None:
            cos, sin = turns[0][:, None], turns[1][:, None]
            q, k = (q * cos) + (rotate_half(q) * sin), (k * cos) + (rotate_half(k) * sin)
        if self.kind == "eager":
            out = self.write_out(q, k, v, mask)
        else:
            out = self.fuse(q, k, v, mask)
        return self.o_proj(out.transpose(1, 2).reshape(*x.shape[:2], -1).contiguous())

    def repeat(self, x: Tensor) -> Tensor:
        times = self.shape.heads // self.shape.kv
        b, kv, s, d = x.shape
        return x if times == 1 else x[:, :, None].expand(b, kv, times, s, d).reshape(b, kv * times, s, d)

    def fuse(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        drop = self.drop if self.training else 0.0
        if mask is not None or self.shape.heads == self.shape.kv:
            return F.scaled_dot_product_attention(q, self.repeat(k), self.repeat(v), attn_mask=mask, dropout_p=drop, is_causal=mask is None)
        return F.scaled_dot_product_attention(q, k, v, dropout_p=drop, is_causal=True, enable_gqa=True)

    def write_out(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        k, v = self.repeat(k), self.repeat(v)
        scores = torch.matmul(q, k.transpose(2, 3)) * self.shape.head_width ** -0.5
        scores = scores + mask
        if self.shape.position == "learned":  # GPT-2: softmax in the format of the scores
            scores = F.softmax(scores, dim=-1).to(v.dtype)
        else:
            scores = F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
        scores = F.dropout(scores, self.drop, self.training)
        return torch.matmul(scores, v)


class MLP(nn.Module):
    def __init__(self, shape: Shape, width: int, bias: bool) -> None:
        super().__init__()
        self.act_fn = activation(shape.activation)
        self.gated = shape.mlp == "gated"
        if self.gated:
            self.gate_proj = linear(shape.hidden, width, bias)
        self.up_proj = linear(shape.hidden, width, bias)
        self.down_proj = linear(width, shape.hidden, bias)

    def forward(self, x: Tensor) -> Tensor:
        if self.gated:
            return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
        return self.down_proj(self.act_fn(self.up_proj(x)))


class SparseMLP(nn.Module):
    """MixtralSparseMoeBlock: a router, a loop over experts, a sum. Routing is what chance makes it."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.active = shape.active_experts
        self.gate = linear(shape.hidden, shape.experts, False)
        self.experts = nn.ModuleList(MLP(shape, shape.expert_ffn, False) for _ in range(shape.experts))

    def forward(self, x: Tensor) -> Tensor:
        flat = x.view(-1, x.shape[-1])
        weights = F.softmax(self.gate(flat), dim=1, dtype=torch.float32)
        weights, chosen = torch.topk(weights, self.active, dim=-1)
        weights /= weights.sum(dim=-1, keepdim=True)
        weights = weights.to(x.dtype)
        total = torch.zeros_like(flat)
        mask = F.one_hot(chosen, num_classes=len(self.experts)).permute(2, 1, 0)
        for number, expert in enumerate(self.experts):
            place, row = torch.where(mask[number])
            mine = flat[None, row].reshape(-1, flat.shape[-1])
            total.index_add_(0, row, (expert(mine) * weights[row, place, None]).to(x.dtype))
        return total.view(x.shape)


class Layer(nn.Module):
    def __init__(self, shape: Shape, job: Job) -> None:
        super().__init__()
        self.input_layernorm = norm(shape, shape.hidden)
        self.self_attn = Attention(shape, job)
        self.post_attention_layernorm = norm(shape, shape.hidden)
        self.mlp = SparseMLP(shape) if shape.experts else MLP(shape, shape.ffn, shape.mlp_bias)
        self.drop = job.dropout.get("hidden", 0.0)

    def forward(self, x: Tensor, turns: tuple[Tensor, Tensor] | None, mask: Tensor | None) -> Tensor:
        x = x + self.dropped(self.self_attn(self.input_layernorm(x), turns, mask))
        return x + self.dropped(self.mlp(self.post_attention_layernorm(x)))

    def dropped(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.drop, self.training) if self.drop > 0 else x


class Decoder(nn.Module):
    """From token numbers to logits."""

    def __init__(self, job: Job) -> None:
        super().__init__()
        shape = job.shape
        self.shape, self.job = shape, job
        self.embed_tokens = nn.Embedding(shape.vocab, shape.hidden, device="meta")
        if shape.position == "learned":
            self.embed_positions = nn.Embedding(shape.max_positions, shape.hidden, device="meta")
        self.layers = nn.ModuleList(Layer(shape, job) for _ in range(shape.layers))
        self.norm = norm(shape, shape.hidden)
        self.lm_head = linear(shape.hidden, shape.vocab, False)
        self.tie()

    def tie(self) -> None:
        if self.shape.tied:
            self.lm_head.weight = self.embed_tokens.weight

    def mask(self, x: Tensor) -> Tensor | None:
        """Where a position must not look. The fused kernel needs none unless the batch is padded."""
        if self.job.attention != "eager" and not self.job.padded:
            return None
        s = x.shape[1]
        seen = torch.ones(s, s, dtype=torch.bool, device=x.device).tril()[None, None].expand(x.shape[0], 1, s, s)
        if self.job.attention != "eager":
            return seen.contiguous()
        low = torch.finfo(x.dtype).min
        return torch.where(seen, torch.zeros((), dtype=x.dtype, device=x.device), torch.full((), low, dtype=x.dtype, device=x.device))

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed_tokens(ids)
        if self.shape.position == "learned":
            x = x + self.embed_positions(torch.arange(ids.shape[1], device=ids.device)[None])
        if self.job.dropout.get("embedding", 0.0) > 0:
            x = F.dropout(x, self.job.dropout["embedding"], self.training)
        turns = rotary(ids.shape[1], self.shape.head_width, x) if self.shape.position == "rope" else None
        mask = self.mask(x)
        for layer in self.layers:
            if self.job.recompute == "full":
                x = checkpoint(layer, x, turns, mask, use_reentrant=self.job.reentrant)
            else:
                x = layer(x, turns, mask)
        return self.lm_head(self.norm(x))


def causal_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """ForCausalLMLoss: fp32 logits of all positions against labels shifted by padding."""
    logits = logits.float()
    shifted = F.pad(labels, (0, 1), value=-100)[..., 1:].contiguous()
    return F.cross_entropy(logits.view(-1, logits.shape[-1]), shifted.view(-1), ignore_index=-100, reduction="mean")
