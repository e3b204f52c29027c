// Distributed under the Boost Software License, Version 1.0.
// FLOPs of a forward of every decoder whose configuration is known (tests/data/models_2026.json), layer by layer and by hand: two for each element of a matrix
// that a position meets, the pairs of positions that attend, and what each recurrence does with its state.
#include "../block/families.hpp"

#include <headroom/cost/cost.hpp>
#include <headroom/cost/flops.hpp>

#include <cmath>
#include <map>

namespace test_flops_of_families {

using namespace families;

namespace {

double of(std::int64_t n) { return static_cast<double>(n); }

/// Of one position, beside matrices, as the papers have it: SSD in chunks (Dao & Gu 2024, section 6), the gated delta rule in chunks (Yang et al. 2024,
/// section 3.3), Mamba's selective scan (Gu & Dao 2023, section 3.3.2), Griffin's RG-LRU (De et al. 2024, section 2.4), LFM2's gated convolution, Lightning
/// Attention's blocks (Qin et al. 2024, algorithm 1).
double recurrence(const shape& m, mixer_kind k) {
  const auto& s = m.ssm;
  const double heads = of(s.heads), d = of(s.head_dim), n = of(s.state), groups = of(s.groups), taps = of(s.conv);
  switch (k) {
    case mixer_kind::mamba2:
    case mixer_kind::attention_mamba2: {
      const double chunk = s.chunk > 0 ? of(s.chunk) : 256;
      return 2 * chunk * n * groups + 2 * chunk * d * heads + 2 * 2 * d * n * heads + 2 * taps * (heads * d + 2 * groups * n);
    }
    case mixer_kind::gated_delta_net: {
      const double chunk = s.chunk > 0 ? of(s.chunk) : 64;
      return heads * (2 * 2 * chunk * n + 2 * chunk * n + 2 * 2 * chunk * d + 2 * 3 * n * d) + 2 * taps * (2 * groups * n + heads * d);
    }
    case mixer_kind::mamba1: return heads * (2 * (of(s.rank) + 2 * n) + 2 * of(s.rank) + 8 * n + 2 + 2 * taps);
    case mixer_kind::rg_lru: return of(s.heads) * d * (2 * 2 * d + 2 * taps + 20);
    case mixer_kind::gated_convolution: return of(m.hidden) * (2 * taps + 2);
    case mixer_kind::lightning_attention: return of(m.heads) * (2 * 2 * of(s.chunk) * of(m.head_width()) + 2 * 2 * of(m.head_width()) * of(m.head_width()));
    default: return 0;
  }
}

bool whole_rows(const shape& m, std::int64_t layer, mixer_kind k) {
  if (m.sliding_window <= 0 || global(k)) return true;
  if (m.pattern.given()) return false;
  if (m.global_every > 0) return layer % m.global_every == m.global_every - 1 || (layer == m.layers - 1 && m.layers % m.global_every != 0);
  return m.full_layers > 0 && layer < m.full_layers;
}

}  // namespace

TEST_CASE("a forward's FLOPs are those of its matrices, its pairs and its states") {
  std::map<std::string, std::string> wrong;
  std::set<std::string> types;
  std::set<mixer_kind> mixers;
  constexpr double samples = 2, sequence = 8192, positions = samples * sequence;
  for (const auto& f : all()) {
    const auto& m = f.model;
    if (m.vision.kind != vision_kind::none || m.encoder.layers > 0 || m.mtp_layers > 0 || m.classes > 0 || m.pooler || m.position == position_kind::disentangled || m.distinct_layers > 0 || m.altup.streams > 0) continue;
    double matrices = 0, head = 0, attention = 0;
    for (const auto& w : weights_of(m)) {
      if (!w.linear || w.frozen) continue;
      double each = 2 * positions * of(w.rows) * of(w.columns) * of(w.per_layer) * (w.layers.count > 0 ? of(w.layers.count) : 1);
      if (w.expert) each = each / of(m.experts.count) * of(m.experts.active);
      (w.role == module::head ? head : matrices) += each;
    }
    if (m.tied && m.head != head_kind::none) head += 2 * positions * of(m.vocab) * of(m.embedding_width());
    for (std::int64_t i = 0; i < m.layers; ++i) {
      const auto k = m.kind_of(i).mixer;
      mixers.insert(k);
      attention += positions * recurrence(m, k);
      if (!attends(k)) continue;
      const auto narrow = of(m.sliding_window), rest = sequence - narrow * static_cast<double>(static_cast<std::int64_t>(sequence) / std::max<std::int64_t>(m.sliding_window, 1));
      const double pairs = whole_rows(m, i, k) || narrow >= sequence ? sequence * sequence : m.chunked ? (sequence - rest) * narrow + rest * rest : narrow * sequence;
      const auto keys = global(k) && m.global.head_dim > 0 ? m.global.head_dim : m.head_width(), values = m.value_dim > 0 ? m.value_dim : keys;
      const double features = m.latent() ? of(m.heads * (m.mla.nope_dim + m.mla.rope_dim + m.mla.value_dim)) : of(m.heads * (keys + values));
      attention += 2 * samples * pairs * features;
    }
    types.insert(f.type);
    const auto got = forward_flops_of(m, weights_of(m), samples, sequence, causal_convention::whole_square);
    const auto compare = [&](const char* what, double a, double b) {
      if (std::abs(a - b) > 1e-9 * std::max(a, b)) wrong[f.type + ": " + what] = std::to_string(a / 1e9) + " for " + std::to_string(b / 1e9);
    };
    compare("matrices", got.layers, matrices);
    compare("head", got.head, head);
    compare("attention", got.attention, attention);
    compare("three passes", model_flops(m, 2, 8192).value, 3 * (matrices + head + attention));
  }
  for (const auto& w : wrong) FAIL_CHECK(w.first << ": " << w.second);
  CHECK(types.size() >= 40);
  CHECK(mixers.size() >= 7);
}

// The same batch over more ranks: the model's FLOPs are as many, and a rank's matrices are divided.
TEST_CASE("tensor parallelism divides FLOPs, and makes none") {
  for (const std::int64_t experts : {0, 8})
    for (const std::int64_t tensor : {2, 4, 8}) {
      job one{.model = {.layers = 4, .hidden = 2048, .heads = 16, .kv_heads = 8, .ffn = 8192, .vocab = 32768}, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 1}, .framework = frameworks::megatron,
              .batch = {.micro = 2, .sequence = 2048}, .attention = attention::te};
      if (experts > 0) one.model.experts = {.count = experts, .active = 2, .ffn = 1024};
      auto many = one;
      many.hardware.gpus_per_node = many.parallel.tensor = tensor;
      CAPTURE(experts);
      CAPTURE(tensor);
      const auto a = cost(one), b = cost(many);
      CHECK(a.model.value == doctest::Approx(b.model.value));
      CHECK(a.hardware.value == doctest::Approx(b.hardware.value));
      CHECK(b.attention.value == doctest::Approx(a.attention.value / of(tensor)));
      CHECK(b.mfu() < 1);
      CHECK(model_flops(one.model, 2, 2048).value == doctest::Approx(2 * model_flops(one.model, 1, 2048).value));
    }
}

}  // namespace test_flops_of_families
