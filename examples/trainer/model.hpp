// Distributed under the Boost Software License, Version 1.0.
// A Llama or a GPT-2, as a headroom::job describes it.
#pragma once

#include "trainer/checkpoint.hpp"
#include "trainer/layers.hpp"

#include <string>
#include <vector>

namespace trainer {

struct layer : torch::nn::Module {
  explicit layer(const plan& p) {
    first = register_module("first", std::make_shared<norm>(p));
    attend = register_module("attend", std::make_shared<attention>(p));
    second = register_module("second", std::make_shared<norm>(p));
    feed = register_module("feed", std::make_shared<feed_forward>(p));
  }
  Tensor forward(Tensor x, const Tensor& mask, const angles& a) {
    x = x + attend->forward(first->forward(x), mask, a);
    return x + feed->forward(second->forward(x));
  }
  std::shared_ptr<norm> first, second;
  std::shared_ptr<attention> attend;
  std::shared_ptr<feed_forward> feed;
};

struct decoder : torch::nn::Module {
  explicit decoder(const plan& p) : recomputes(p.job->recompute.mode == headroom::recompute_mode::full) {
    const auto& m = p.model();
    const auto table = [&](const char* name, std::int64_t rows) {
      return register_parameter(name, torch::randn({rows, m.hidden}, p.format).mul_(0.02), p.trains());
    };
    tokens = table("tokens", m.vocab);
    if (m.position == headroom::position_kind::learned) {
      positions = table("positions", m.max_positions);
      numbers = register_buffer("numbers", torch::arange(m.max_positions));
    } else {
      all = angles(m.max_positions, m.head_width(), p.format);
      register_buffer("cosine", all.cosine);
      register_buffer("sine", all.sine);
    }
    const auto places = torch::arange(m.max_positions);
    mask = register_buffer("mask", places.unsqueeze(0) > places.unsqueeze(1));
    for (std::int64_t i = 0; i < m.layers; ++i) layers.push_back(register_module("layer" + std::to_string(i), std::make_shared<layer>(p)));
    last = register_module("last", std::make_shared<norm>(p));
    if (!m.tied) head = table("head", m.vocab);
  }

  /// What the layers make of token numbers, samples × sequence.
  Tensor forward(const Tensor& input) {
    const auto sequence = input.size(1);
    auto x = torch::embedding(tokens, input);
    if (positions.defined()) x = x + torch::embedding(positions, numbers.slice(0, 0, sequence));
    if (recomputes && !x.requires_grad()) x.requires_grad_();  // or nothing would reach the adapters through a checkpoint
    const auto a = all.until(sequence);
    const auto later = mask.slice(0, 0, sequence).slice(1, 0, sequence);
    for (auto& l : layers) {
      const auto run = [l, later, a](Tensor t) { return l->forward(std::move(t), later, a); };
      x = recomputes ? checkpoint(run, std::move(x)) : run(std::move(x));
    }
    return x;
  }
  Tensor logits(Tensor x) {
    x = last->forward(std::move(x));
    return torch::linear(x, head.defined() ? head : tokens);
  }

  bool recomputes;
  Tensor tokens, positions, numbers, mask, head;
  angles all;
  std::vector<std::shared_ptr<layer>> layers;
  std::shared_ptr<norm> last;
};

}  // namespace trainer
