// Distributed under the Boost Software License, Version 1.0.
// What a stage of Megatron-LM's holds from its start to its end: the tensors of its modules one by one, what the optimizer keeps of them, and what
// TransformerEngine and PyTorch set aside.
// Sources: Megatron-LM core/models/gpt/gpt_layer_specs.py, core/transformer/{attention,multi_latent_attention,mlp}.py, core/transformer/moe/{experts,router,
// shared_experts}.py, core/transformer/multi_token_prediction.py, core/optimizer/distrib_optimizer.py; TransformerEngine pytorch/module/base.py.
#include "../estimate/dice.hpp"
#include "ledger.hpp"

#include <headroom/full_report.hpp>
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <set>
#include <utility>
#include <vector>

namespace test_stage_residents {

using namespace headroom;
using ledger::amounts;

namespace {

using shape_of = std::pair<std::int64_t, std::int64_t>;

/// The parameters of one rank.
struct modules {
  std::int64_t dense = 0, experts = 0;
  std::set<shape_of> linear;  ///< shapes of TransformerEngine's matrices
  bool scores = false;        ///< a matrix multiplication of PyTorch's own

  void vector(std::int64_t n) { dense += n; }
  void matrix(std::int64_t rows, std::int64_t columns) {
    dense += rows * columns;
    linear.insert({rows, columns});
  }
  void expert(std::int64_t rows, std::int64_t columns, std::int64_t copies) {
    experts += copies * rows * columns;
    linear.insert({rows, columns});
  }
};

void attention_of(modules& r, const job& j) {
  const auto& m = j.model;
  const auto h = m.hidden, t = j.parallel.tensor;
  r.vector(h);  // the norm before it
  if (m.mla.kv_rank == 0) {
    const auto width = m.hidden / m.heads;
    r.matrix((m.heads + 2 * m.kv_heads) * width / t, h);
    r.matrix(h, m.heads * width / t);
    return;
  }
  const auto& a = m.mla;
  const auto key = a.nope_dim + a.rope_dim;
  if (a.q_rank > 0) {
    r.matrix(a.q_rank, h);  // on every rank
    r.vector(a.q_rank);
    r.matrix(m.heads * key / t, a.q_rank);
  } else {
    r.matrix(m.heads * key / t, h);
  }
  r.matrix(a.kv_rank + a.rope_dim, h);
  r.vector(a.kv_rank);
  r.matrix(m.heads * (a.nope_dim + a.value_dim) / t, a.kv_rank);
  r.matrix(h, m.heads * a.value_dim / t);
}

void mlp_of(modules& r, const job& j, bool sparse) {
  const auto& m = j.model;
  const auto h = m.hidden, t = j.parallel.tensor;
  r.vector(h);
  if (!sparse) {
    r.matrix(2 * m.ffn / t, h);
    r.matrix(h, m.ffn / t);
    return;
  }
  const auto& e = m.experts;
  r.vector(e.count * h);  // the router, which multiplies elsewhere
  r.expert(2 * e.ffn / j.parallel.expert_tensor, h, e.count / j.parallel.expert);
  r.expert(h, e.ffn / j.parallel.expert_tensor, e.count / j.parallel.expert);
  if (e.shared_ffn == 0) return;
  r.matrix(2 * e.shared_ffn / t, h);
  r.matrix(h, e.shared_ffn / t);
}

modules modules_of(const job& j, std::int64_t stage) {
  const auto& m = j.model;
  const auto h = m.hidden, t = j.parallel.tensor, last = j.parallel.pipeline - 1;
  std::int64_t layer = 0;
  modules r;
  for (std::int64_t s = 0; s <= last; ++s)
    for (std::int64_t n = 0; n < j.parallel.stage_layers[s]; ++n, ++layer) {
      if (s != stage) continue;
      attention_of(r, j);
      mlp_of(r, j, m.experts.count > 0 && layer >= m.experts.first_dense_layers);
    }
  bool words = stage == 0;
  if (stage == last) {
    r.vector(h);
    r.scores = true;
    for (std::int64_t n = 0; n < m.mtp_layers; ++n) {
      r.vector(3 * h);
      r.matrix(h / t, 2 * h);
      attention_of(r, j);
      mlp_of(r, j, m.experts.count > 0);
    }
    if (m.tied || m.mtp_layers > 0) words = true;  // a copy, where it is not the first stage, too
    if (!m.tied) r.dense += m.vocab / t * h;
    r.linear.insert({m.vocab / t, h});
  }
  if (words) r.dense += m.vocab / t * h;
  return r;
}

std::int64_t share(std::int64_t bytes, std::int64_t ranks) { return (bytes + ranks - 1) / ranks; }

amounts expected(const job& j, std::int64_t stage) {
  const auto r = modules_of(j, stage);
  const auto& p = j.parallel;
  const bool deals = j.sharding.kind == sharding_kind::megatron_distributed_optimizer;
  const auto dense = deals ? p.data * p.context : 1, experts = deals ? std::max<std::int64_t>(p.data * p.context * p.tensor / (p.expert * p.expert_tensor), 1) : 1;
  amounts a;
  a[row::model_parameters] = 2 * (r.dense + r.experts);
  a[row::gradients] = 4 * (r.dense + r.experts);
  a[row::master_parameters] = share(4 * r.dense, dense) + share(4 * r.experts, experts);
  a[row::optimizer_state] = share(8 * r.dense, dense) + share(8 * r.experts, experts);
  const bool hopper = j.hardware.gpu == gpus::h100_sxm_80gb;
  const std::int64_t mib = 1 << 20;
  a[row::workspace] = (hopper ? 32 : 4) * mib;
  if (r.scores || j.attention == attention::eager) a[row::workspace] += 2 * (hopper ? 32 * mib : (2 * 4096 + 8 * 16) * 1024);  // CUBLAS_WORKSPACE_CONFIG :4096:2:16:8, or 32 MiB
  for (const auto& [rows, columns] : r.linear) a[row::workspace] += 2 * rows * columns;  // get_dummy_wgrad
  return a;
}

job drawn(draw::dice& dice) {
  job j;
  auto& p = j.parallel;
  j.framework = frameworks::megatron;
  p.pipeline = dice.pick({1, 2, 3});
  p.tensor = dice.pick({1, 2, 4});
  p.sequence = p.tensor > 1;
  p.data = dice.pick({1, 2, 4});
  p.context = dice.pick({1, 1, 2});
  j.model = {.hidden = 512, .heads = 8, .kv_heads = dice.pick({4, 8}), .ffn = dice.pick({1024, 2048}), .vocab = dice.pick({1024, 32768}), .tied = dice.flip()};
  if (dice.index(3) == 0) j.model.mla = {.q_rank = dice.pick({0, 192}), .kv_rank = 128, .nope_dim = 64, .rope_dim = 32, .value_dim = 48}, j.model.kv_heads = 8;
  p.chunks = static_cast<std::int32_t>(p.pipeline);
  for (std::int32_t i = 0; i < p.chunks; ++i) j.model.layers += p.stage_layers[i] = static_cast<std::int32_t>(dice.pick({1, 2, 4}));
  p.expert_tensor = p.tensor;
  if (dice.flip()) {
    j.model.experts = {.count = 8, .active = 2, .ffn = dice.pick({512, 1024}), .shared_ffn = dice.pick({0, 512, 768}), .first_dense_layers = dice.pick({0, 1, 2})};
    p.expert = dice.pick({1, 2, 4});
    if (dice.flip()) p.expert_tensor = 1;
  }
  if (dice.index(4) == 0) j.model.mtp_layers = dice.pick({1, 2});
  j.hardware = {.gpu = dice.flip() ? gpus::h100_sxm_80gb : gpus::a100_sxm_80gb, .nodes = p.pipeline * p.data * p.context, .gpus_per_node = p.tensor};
  j.sharding.kind = dice.flip() ? sharding_kind::ddp : sharding_kind::megatron_distributed_optimizer;
  j.batch = {.micro = 1, .sequence = 256, .accumulation = 4};
  j.attention = dice.index(3) > 0 || p.context > 1 ? attention::te : attention::eager;
  return j;
}

}  // namespace

TEST_CASE("what a stage of Megatron's holds all along, module by module") {
  draw::dice dice(20261204);
  int seen = 0;
  for (int i = 0; i < 300; ++i) {
    const auto j = drawn(dice);
    CAPTURE(i);
    CAPTURE(j.parallel.tensor);
    CAPTURE(j.parallel.expert);
    CAPTURE(j.parallel.expert_tensor);
    CAPTURE(j.model.mla.kv_rank);
    CAPTURE(j.model.mtp_layers);
    CAPTURE(j.model.tied);
    CAPTURE(static_cast<int>(j.attention));
    try {
      for (const auto& rank : estimate_all(j)) {
        CAPTURE(rank.pipeline_stage);
        for (const auto& entry : expected(j, rank.pipeline_stage)) {
          const auto of = entry.first;
          CAPTURE(static_cast<int>(of));
          CHECK(rank.at_phase[static_cast<std::size_t>(phase::save)][of].count() == entry.second);
        }
        ++seen;
      }
    } catch (const job_error&) {
      continue;
    }
  }
  CHECK(seen >= 300);
}

}  // namespace test_stage_residents
