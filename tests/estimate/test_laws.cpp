// Distributed under the Boost Software License, Version 1.0.
// Laws of every framework's jobs, drawn at random: more of anything is never less memory, more ranks are never more but for named buffers,
// nothing is left of a step but the states, and no step computes faster than its GPUs. What is excepted is named, with why.
#include "draw.hpp"

#include <headroom/headroom.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#include <string_view>

namespace test_laws {

using namespace headroom;

namespace {

/// Optimizers that keep and update small tensors otherwise than large ones are no part of this: 8-bit state begins at 4096 elements, pages at
/// 10^5, low rank where a matrix is larger, Muon's moment is of matrices; and ZeRO-3 partitions what is larger than its threshold.
job without_thresholds(job j) {
  const auto& o = j.optimizer;
  if (o.plain_below > 0 || o.paged_from > 0 || o.extent != state_extent::full || o.vector_moments > 0 || o.by_tensor != nullptr) j.optimizer = optimizers::adamw;
  j.sharding.stage3_param_persistence_threshold = 0;
  draw::even_scores(j);
  return j;
}

/// Megatron-FSDP gathers units ahead until they are so large together: of larger units fewer.
bool gathers_by_size(const job& j) { return j.sharding.gathers_units() && j.sharding.by(sharder::megatron); }

struct change {
  std::string_view name;
  bool (*apply)(job&);  ///< false: it has no such thing
};
/// Widths of a head stay as they are where there are more features or heads.
void fix_heads(shape& m) {
  if (m.head_dim == 0) m.head_dim = m.hidden / m.heads;
}
/// A loss that takes logits piece by piece makes fewer pieces of fewer tokens than it would, and then holds one as a whole.
bool cut_finer(const job& j) {
  const auto style = j.framework.loss.style;
  return j.batch.sequence < 8 && (style == loss_style::chunked_in_loss || style == loss_style::chunked);
}
bool repeats_experts(const job& j) { return j.model.sparse() && style_of(j.model) == expert_style::repeated; }

constexpr change more_of[]{
    {"twice the sequence", [](job& j) {
       if (cut_finer(j)) return false;
       j.batch.sequence *= 2;
       return true;
     }},
    {"64 tokens of each rank", [](job& j) {
       if (cut_finer(j)) return false;
       j.batch.sequence += 64 * j.parallel.context * j.parallel.tensor;
       return true;
     }},
    {"a sample", [](job& j) { j.batch.micro += 1; return true; }},
    {"a layer of each chunk", [](job& j) {
       const auto& d = j.parallel;
       if (!j.trainable.all() || d.first_stage_layers + d.last_stage_layers + chunks_given(d) > 0) return false;
       // Of a single layer the embedding is gathered while the head's gradients are still reduced.
       if (j.sharding.gathers_units() && j.model.layers == 1) return false;
       j.model.layers += d.pipeline * d.virtual_pipeline * j.model.experts.every;  // the last layer, gathered beside the loss, is of the same kind
       return true;
     }},
    {"features", [](job& j) { fix_heads(j.model); j.model.hidden += j.model.heads * 16; return !gathers_by_size(j); }},
    {"heads", [](job& j) { fix_heads(j.model); j.model.heads *= 2, j.model.kv_heads *= 2; return !gathers_by_size(j); }},
    {"ffn", [](job& j) { j.model.ffn += 64 * j.parallel.tensor; return !gathers_by_size(j); }},
    {"words", [](job& j) {
       // Liger-Kernel cuts rows into chunks, fewer for a larger vocabulary, whose number is a power of two.
       if (j.loss.kind == loss_kind::fused_linear || gathers_by_size(j)) return false;
       j.model.vocab += 512;
       return true;
     }},
    {"experts", [](job& j) { j.model.experts.count *= 2; return j.model.sparse(); }},
    {"experts of a token", [](job& j) {
       // One expert a token beside a shared one is Llama 4's code, in which every expert sees every token.
       if (!j.model.sparse() || repeats_experts(j) || 2 * j.model.experts.active > j.model.experts.count) return false;
       j.model.experts.active *= 2;
       return true;
     }},
    {"an expert's ffn", [](job& j) { j.model.experts.ffn += 64 * j.parallel.expert_tensor; return j.model.sparse(); }},
    {"micro-batches", [](job& j) {
       // From one to two, gradients are added up.
       if (j.batch.accumulation < 2) return false;
       j.batch.accumulation *= 2;
       return true;
     }},
    {"an adapter's rank", [](job& j) { j.adapter.rank *= 2; return j.adapter.active() && j.adapter.rank > 2; }},
};

constexpr change more_ranks[]{
    {"data", [](job& j) { j.parallel.data *= 2; return true; }},
    {"tensor", [](job& j) { j.parallel.tensor *= 2; return true; }},
    {"pipeline", [](job& j) {
       // The first stage keeps what the embedding saves for each micro-batch in flight, and more are of more stages: of stages of one layer that is all.
       if (j.model.layers < 4 * j.parallel.pipeline) return false;
       // More stages wait longer: what defers weights' gradients keeps more micro-batches, and interleaving has more in flight (Narayanan et al. 2021, section 2.2).
       if (!properties_of(j.parallel.schedule).plain() || j.parallel.schedule == schedule::interleaved) return false;
       j.parallel.pipeline *= 2;
       return j.parallel.pipeline > 2;
     }},
    {"context", [](job& j) { j.parallel.context *= 2; return true; }},
    {"expert", [](job& j) {
       if (j.recompute.policy == recompute_policy::every_other_matmul) return false;  // which products are kept follows from how many there are
       j.parallel.expert *= 2;
       return j.model.sparse();
     }},
};

/// What more ranks may take more of: what is gathered, and padded to come out even; what is sent; copies of either. `logits`: those, too, which
/// tensor-parallel ranks gather beside their own where the loss is not computed of divided ones.
bytes named_buffers(const report& r, bool logits) {
  bytes most{0};
  for (const auto& rank : r)
    for (const auto& rows : rank.at_phase)
      most = max(most, rows[row::communication_buffers] + rows[row::gathered_parameters] + rows[row::temporaries] + (logits ? rows[row::logits] : bytes{0}));
  return most;
}
bytes tallest(const report& r) {
  bytes most{0};
  for (const auto& rank : r) most = max(most, rank.allocated);
  return most;
}

/// check(estimate of j, estimate of the changed one), where both are modelled.
template <class Check>
bool both(const job& j, const change& c, const Check& check) {
  auto other = j;
  try {
    const auto before = estimate(j);
    if (!c.apply(other)) return false;
    const auto after = estimate(other);
    check(before, after);
    return true;
  } catch (const error&) {
    return false;
  }
}

}  // namespace

TEST_CASE("more of anything is never less memory, in no phase") {
  std::array<int, std::size(more_of)> seen{};
  draw::jobs source(31);
  for (int i = 0; i < draw::some(6'000); ++i) {
    const auto j = without_thresholds(source.next());
    CAPTURE(i);
    for (std::size_t c = 0; c < std::size(more_of); ++c) {
      CAPTURE(more_of[c].name);
      seen[c] += both(j, more_of[c], [&](const report& a, const report& b) {
        REQUIRE(a.size == b.size);
        for (int k = 0; k < a.size; ++k) {
          const auto &x = a.ranks[static_cast<std::size_t>(k)], &y = b.ranks[static_cast<std::size_t>(k)];
          REQUIRE(x.allocated <= y.allocated);
          for (std::size_t p = 0; p < phase_count; ++p) REQUIRE(x.phases[p] <= y.phases[p]);
        }
      });
    }
  }
  for (const auto n : seen) CHECK(n > draw::some(150));
}

TEST_CASE("a job on twice the ranks takes no more of each, but for named buffers") {
  std::array<int, std::size(more_ranks)> seen{};
  draw::jobs source(37);
  for (int i = 0; i < draw::some(6'000); ++i) {
    auto j = without_thresholds(source.next());
    if (j.hardware.kinds() > 1) continue;  // more nodes are other GPUs for a stage
    if (j.parallel.data == 0) j.parallel.data = j.hardware.gpus() / (j.parallel.tensor * j.parallel.pipeline * j.parallel.context);
    CAPTURE(i);
    for (std::size_t c = 0; c < std::size(more_ranks); ++c) {
      CAPTURE(more_ranks[c].name);
      auto twice = j;
      twice.hardware.nodes *= 2;
      if (!more_ranks[c].apply(twice)) continue;
      if (c == 4) twice.parallel.data *= 2;
      try {
        const auto a = estimate(j), b = estimate(twice);
        ++seen[c];
        REQUIRE(tallest(b) <= tallest(a) + named_buffers(b, j.parallel.tensor < twice.parallel.tensor && j.loss.kind != loss_kind::vocab_parallel));
      } catch (const error&) {
      }
    }
  }
  MESSAGE("data ", seen[0], ", tensor ", seen[1], ", pipeline ", seen[2], ", context ", seen[3], ", expert ", seen[4]);
  for (const auto n : seen) CHECK(n > 0);
}

TEST_CASE("nothing is left of a step but what was there when it began") {
  int seen = 0;
  draw::jobs source(41);
  for (int i = 0; i < draw::some(1'500); ++i) {
    const auto j = source.next();
    if (!replays(j)) continue;
    std::vector<recorded_step> steps;
    try {
      steps = record(j);
    } catch (const error&) {
      continue;
    }
    CAPTURE(i);
    CAPTURE(j.framework.label.view());
    for (const auto& step : steps) {
      std::array<std::int64_t, row_count> began{}, live{};
      bool loading = true;
      for (const auto& e : step.events) {
        if (e.what == step_event::kind::enter) {
          if (e.at != phase::load && loading) began = live, loading = false;
          continue;
        }
        live[static_cast<std::size_t>(e.of)] += e.what == step_event::kind::make ? e.size.count() : -e.size.count();
      }
      ++seen;
      REQUIRE(live == began);
      // A loop's variables name what the model returned until it returns again.
      const bool names_outputs = j.framework.loss.keeps_outputs() || j.framework.loss.style == loss_style::chunked;
      if (!names_outputs) REQUIRE(began[static_cast<std::size_t>(row::logits)] == 0);
      REQUIRE(began[static_cast<std::size_t>(row::temporaries)] == 0);
    }
  }
  CHECK(seen > draw::some(300));
}

TEST_CASE("no step computes more than its GPUs can") {
  int seen = 0;
  draw::jobs source(43);
  for (int i = 0; i < draw::some(6'000); ++i) {
    const auto j = source.next();
    try {
      const auto t = cost(j);
      ++seen;
      CAPTURE(i);
      REQUIRE(t.step.value > 0);
      REQUIRE(t.mfu() > 0);
      REQUIRE(t.mfu() <= 1);
      REQUIRE(t.hardware.value >= t.model.value);
    } catch (const error&) {
    }
  }
  CHECK(seen > draw::some(2'500));
}

}  // namespace test_laws
