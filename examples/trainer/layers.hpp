// Distributed under the Boost Software License, Version 1.0.
// The modules of a decoder. A tensor goes with its last reader: a name that nothing reads any more is moved from or assigned anew.
#pragma once

#include <headroom/job.hpp>

#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace trainer {

using torch::Tensor;

/// What modules are built from.
struct plan {
  const headroom::job* job;
  torch::Dtype format;          ///< of weights and activations
  torch::Dtype adapter_format;

  const headroom::shape& model() const { return job->model; }
  bool trains() const { return !job->adapter.active(); }  ///< the model's own weights
  bool adapts(headroom::module m) const { return job->adapter.active() && job->adapter.targets.has(m); }
};

/// RMSNorm, as transformers' LlamaRMSNorm writes it.
struct rms_norm : torch::nn::Module {
  explicit rms_norm(const plan& p) : weight(register_parameter("weight", torch::ones({p.model().hidden}, p.format), p.trains())) {}
  Tensor forward(Tensor x) {
    const auto format = x.scalar_type();
    x = x.to(torch::kFloat);
    const auto root = x.pow(2).mean(-1, true).add_(1e-6).rsqrt_();
    x = x * root;
    x = x.to(format);
    return weight * x;
  }
  Tensor weight;
};

/// LayerNorm or RMSNorm.
struct norm : torch::nn::Module {
  explicit norm(const plan& p) {
    const auto& m = p.model();
    if (m.norm == headroom::norm_kind::rmsnorm) {
      rms = register_module("rms", std::make_shared<rms_norm>(p));
    } else {
      weight = register_parameter("weight", torch::ones({m.hidden}, p.format), p.trains());
      if (m.norm_bias) bias = register_parameter("bias", torch::zeros({m.hidden}, p.format), p.trains());
    }
  }
  Tensor forward(Tensor x) { return rms ? rms->forward(std::move(x)) : torch::layer_norm(x, {x.size(-1)}, weight, bias); }
  std::shared_ptr<rms_norm> rms;
  Tensor weight, bias;
};

/// x·Wᵀ + b, and the low-rank side path of an adapter beside it (Hu et al. 2021), as PEFT's lora.Linear writes it.
struct linear : torch::nn::Module {
  linear(const plan& p, headroom::module role, std::int64_t in, std::int64_t out, bool biased) {
    weight = register_parameter("weight", torch::randn({out, in}, p.format).mul_(0.02), p.trains());
    if (biased) bias = register_parameter("bias", torch::zeros({out}, p.format), p.trains());
    if (p.adapts(role)) {
      const auto rank = p.job->adapter.rank;
      down = register_parameter("down", torch::randn({rank, in}, p.adapter_format).mul_(0.02));
      up = register_parameter("up", torch::zeros({out, rank}, p.adapter_format));
    }
  }
  Tensor forward(Tensor x) {
    auto y = torch::linear(x, weight, bias);
    if (!down.defined()) return y;
    const auto format = y.scalar_type();
    x = x.to(down.scalar_type());
    x = torch::linear(x, down);
    x = torch::linear(x, up);
    x = x * 2.0;
    y = y + x;
    return y.to(format);
  }
  Tensor weight, bias, down, up;
};

/// Cosines and sines of the positions' angles (Su et al. 2021), positions × head width; undefined where positions are learned.
struct angles {
  Tensor cosine, sine;

  angles() = default;
  angles(std::int64_t length, std::int64_t width, torch::Dtype format) {
    const auto powers = torch::arange(0, width, 2, torch::kFloat) / -static_cast<double>(width);
    const auto half = torch::outer(torch::arange(length, torch::kFloat), torch::pow(10000.0, powers));
    const auto a = torch::cat({half, half}, -1);
    cosine = a.cos().to(format);
    sine = a.sin().to(format);
  }
  angles until(std::int64_t sequence) const {
    angles a;
    if (cosine.defined()) a.cosine = cosine.slice(0, 0, sequence), a.sine = sine.slice(0, 0, sequence);
    return a;
  }
  Tensor turn(const Tensor& x) const {
    if (!cosine.defined()) return x;
    const auto half = x.size(-1) / 2;
    auto turned = torch::cat({-x.slice(-1, half), x.slice(-1, 0, half)}, -1);
    turned = turned * sine;
    return x * cosine + turned;
  }
};

/// Causal self-attention with the scores written out.
struct attention : torch::nn::Module {
  explicit attention(const plan& p) : heads(p.model().heads), kv_heads(p.model().kv()), width(p.model().head_width()) {
    using headroom::module;
    const auto& m = p.model();
    const auto make = [&](const char* name, module role, std::int64_t in, std::int64_t out, bool bias) {
      return register_module(name, std::make_shared<linear>(p, role, in, out, bias));
    };
    if (m.fused_qkv) {
      qkv = make("qkv", module::q_proj, m.hidden, m.query_width() + 2 * m.kv_width(), m.attention_bias);
    } else {
      q = make("q", module::q_proj, m.hidden, m.query_width(), m.attention_bias);
      k = make("k", module::k_proj, m.hidden, m.kv_width(), m.attention_bias);
      v = make("v", module::v_proj, m.hidden, m.kv_width(), m.attention_bias);
    }
    o = make("o", module::o_proj, m.query_width(), m.hidden, m.output_bias);
    fp32_softmax = m.position == headroom::position_kind::rope;
  }

  Tensor forward(Tensor x, const Tensor& mask, const angles& a) {
    const auto samples = x.size(0), sequence = x.size(1);
    const auto split = [&](const Tensor& t) { return t.view({samples, sequence, -1, width}).transpose(1, 2); };
    Tensor queries, keys, values;
    if (qkv) {
      auto all = qkv->forward(std::move(x)).split_with_sizes({heads * width, kv_heads * width, kv_heads * width}, -1);
      queries = split(all[0]), keys = split(all[1]), values = split(all[2]);
    } else {
      queries = split(q->forward(x));
      keys = split(k->forward(x));
      values = split(v->forward(std::move(x)));
    }
    queries = a.turn(queries);
    keys = a.turn(keys);
    keys = repeat(keys);
    values = repeat(values);
    keys = keys.transpose(-2, -1);
    auto scores = product(std::move(queries), std::move(keys));
    scores = scores * (1 / std::sqrt(static_cast<double>(width)));
    scores = scores.masked_fill(mask, -std::numeric_limits<float>::infinity());
    scores = probabilities(std::move(scores));
    scores = product(std::move(scores), std::move(values));
    scores = scores.transpose(1, 2).reshape({samples, sequence, heads * width});
    return o->forward(std::move(scores));
  }

  /// The heads of a group share their keys and values: each gets a copy.
  Tensor repeat(const Tensor& x) const {
    if (heads == kv_heads) return x;
    const auto b = x.size(0), s = x.size(2);
    return x.unsqueeze(2).expand({b, kv_heads, heads / kv_heads, s, width}).contiguous().view({b, heads, s, width});
  }
  static Tensor product(Tensor a, Tensor b) { return torch::matmul(a, b); }
  Tensor probabilities(Tensor scores) const {
    if (!fp32_softmax) return torch::softmax(scores, -1);
    const auto format = scores.scalar_type();
    scores = torch::softmax(scores, -1, torch::kFloat);
    return scores.to(format);
  }

  std::int64_t heads, kv_heads, width;
  bool fp32_softmax{};
  std::shared_ptr<linear> qkv, q, k, v, o;
};

/// down(act(gate)·up), or down(act(up)).
struct feed_forward : torch::nn::Module {
  explicit feed_forward(const plan& p) : activation(p.model().activation) {
    using headroom::module;
    const auto& m = p.model();
    if (m.mlp == headroom::mlp_kind::gated) gate = register_module("gate", std::make_shared<linear>(p, module::gate_proj, m.hidden, m.ffn, m.mlp_bias));
    up = register_module("up", std::make_shared<linear>(p, module::up_proj, m.hidden, m.ffn, m.mlp_bias));
    down = register_module("down", std::make_shared<linear>(p, module::down_proj, m.ffn, m.hidden, m.mlp_bias));
  }
  Tensor forward(Tensor x) {
    Tensor y;
    if (gate) y = gate->forward(x);
    x = up->forward(std::move(x));
    if (gate) {
      y = activate(y);
      x = y * x;
      y.reset();
    } else {
      x = activate(x);
    }
    return down->forward(std::move(x));
  }
  Tensor activate(const Tensor& x) const {
    using headroom::activation_kind;
    switch (activation) {
      case activation_kind::silu: return torch::silu(x);
      case activation_kind::relu: return torch::relu(x);
      case activation_kind::gelu_new: return gelu_new(x);
      case activation_kind::gelu_pytorch_tanh: return torch::gelu(x, "tanh");
      default: return torch::gelu(x);
    }
  }
  /// As transformers' NewGELUActivation writes it.
  static Tensor gelu_new(const Tensor& x) {
    const auto half = 0.5 * x;
    auto y = x.pow(3);
    y = 0.044715 * y;
    y = x + y;
    y = std::sqrt(2 / std::numbers::pi) * y;
    y = y.tanh();
    y = 1.0 + y;
    return half * y;
  }
  headroom::activation_kind activation;
  std::shared_ptr<linear> gate, up, down;
};

}  // namespace trainer
