// Distributed under the Boost Software License, Version 1.0.
// What must hold for every job of every framework: over 100,000 valid ones, drawn at random from the same seed each time. Builds
// that are not optimised (clang's, the sanitizers') look at a tenth of them.
#include "add_up.hpp"
#include "draw.hpp"

#include <headroom/states/states.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace test_many_jobs {

using namespace headroom;

namespace {

constexpr int wanted = draw::some(100'000);

/// A report, or nothing where the job is refused: then with a sentence, which who asks first hears, too.
std::optional<report> answer(const job& j) {
  const auto why = objection_to(j);
  try {
    const auto r = estimate(j);
    REQUIRE_FALSE(why);
    return r;
  } catch (const error& e) {
    const std::string_view sentence = e.what();
    if (dynamic_cast<const overflow_error*>(&e) == nullptr) REQUIRE(why.in_words().what() == sentence);
    REQUIRE(sentence.substr(0, 10) == "headroom: ");
    REQUIRE(sentence.size() > 40);
    REQUIRE(sentence.size() < 380);  // not cut off
    REQUIRE(sentence.find('\n') == std::string_view::npos);
  }
  return std::nullopt;
}

bool divides(const job& j) { return j.framework.modules.megatron(); }

/// Parameters and states of every stage.
std::array<breakdown, 64> states_by_stage(const job& j) {
  std::array<breakdown, 64> all{};
  if (!divides(j)) {
    const auto st = states(j);
    all[0] = st.gpu;
    all[0][row::optimizer_state] += st.paged;
    return all;
  }
  const auto s = settle(j);
  const auto list = weights_of(s.model);
  if (j.sharding.kind == sharding_kind::megatron_fsdp) {
    all[0] = detail::fsdp_states(s, detail::fsdp_layout_of(s, list));
    all[0][row::gathered_parameters] = all[0][row::communication_buffers] = bytes{0};
    return all;
  }
  for (std::int64_t stage = 0; stage < j.parallel.pipeline; ++stage)
    all[static_cast<std::size_t>(stage)] = detail::states_of_stage(s, detail::weights_of_stage(s, list, stage));
  return all;
}
bytes largest(const std::array<breakdown, 64>& all) {
  bytes most{0};
  for (const auto& b : all) most = max(most, b.total());
  return most;
}

/// Over all ranks there is at least one copy of everything.
void nothing_is_lost(const job& j) {
  const auto s = settle(j);
  if (j.adapter.active() || !j.trainable.all() || s.optimizer.blocks > 1) return;  // not all of it trains
  const auto n = count(s.model).total.count();
  const auto of_stage = j.hardware.gpus() / j.parallel.pipeline;
  breakdown sum{};
  for (const auto& b : states_by_stage(j))
    for (std::size_t i = 0; i < b.rows.size(); ++i) sum.rows[i] += of_stage * b.rows[i];
  REQUIRE(sum[row::model_parameters].count() >= n * s.precision.parameters.width());
  REQUIRE(sum[row::master_parameters].count() >= n * s.precision.master.width());
  if (!s.optimizer.in_backward) REQUIRE(sum[row::gradients].count() >= n * s.precision.gradients.width());
  if (s.optimizer.extent == state_extent::full && s.optimizer.plain_below == 0 && s.optimizer.vector_moments == 0 && s.optimizer.state.bits >= 16)
    REQUIRE(sum[row::optimizer_state].count() >= n * s.optimizer.moments * s.optimizer.state.width());
}

/// State that begins at a size, or that only matrices have, can grow where tensors are cut: not a matter of degrees.
void without_thresholds(job& j) {
  const auto& o = j.optimizer;
  if (o.plain_below > 0 || o.paged_from > 0 || o.extent != state_extent::full || o.vector_moments > 0) j.optimizer = optimizers::adamw;
  j.sharding.stage3_param_persistence_threshold = 0;
  draw::even_scores(j);
}

/// Twice as many ranks, in one of the ways to divide the work.
bool doubled(job& j, int way) {
  auto& p = j.parallel;
  auto& c = j.hardware;
  if (!divides(j)) {
    if (j.framework.runtime == runtime::preallocated) return false;  // llm.c divides only what comes out even
    c.nodes *= 2;
    (j.framework.modules.dtensor() && way == 1 ? p.tensor : j.framework.modules.dtensor() && way == 3 ? p.context : p.data) *= 2;
    return true;
  }
  switch (way) {
    case 0: p.data *= 2; break;
    case 1:
      p.tensor *= 2;
      if (p.tensor == 2) p.sequence = false;
      break;
    case 2:
      if (j.model.layers % (2 * p.pipeline * p.virtual_pipeline) != 0) return false;
      p.pipeline *= 2;
      j.batch.accumulation *= 2;
      break;
    case 3: p.context *= 2; break;
    default:
      if (!j.model.sparse()) return false;
      p.expert *= 2;
      return true;
  }
  c.nodes *= 2;
  return true;
}

/// A little more of one thing.
bool enlarge(job& j, int what) {
  const auto unit = j.parallel.tensor * j.parallel.context;
  auto& m = j.model;
  switch (what) {
    case 0: j.batch.micro += j.framework.modules.megatron() ? 4 : 1; return true;  // see draw::even_scores()
    case 1: j.batch.sequence += 64 * unit; return true;
    case 2:
      if (!j.trainable.all()) return false;
      if (j.sharding.gathers_units() && m.layers == 1) return false;  // a layer that is first and last meets the head's gradients and the embedding's gather
      m.layers += j.parallel.pipeline * j.parallel.virtual_pipeline * m.experts.every;  // the top of the stack stays as it is
      for (std::int32_t i = 0; i < j.parallel.chunks; ++i) j.parallel.stage_layers[i] += static_cast<std::int32_t>(m.experts.every);
      return true;
    default:
      if (j.sharding.kind == sharding_kind::megatron_fsdp) return false;  // fewer layers are gathered ahead where each has more elements
      m.hidden += 8 * m.heads;
      return true;
  }
}

bytes allocated(const report& r) {
  bytes most{0};
  for (const auto& rank : r) most = max(most, rank.allocated);
  return most;
}

}  // namespace

TEST_CASE("a hundred thousand valid jobs of every framework") {
  draw::jobs random(20260504);
  std::map<std::string, int> by_framework;
  int valid = 0, drawn = 0, smaller = 0, larger = 0;
  for (; valid < wanted; ++drawn) {
    REQUIRE(drawn < 4 * wanted);
    auto j = random.next();
    CAPTURE(drawn);
    const auto r = answer(j);
    if (!r) continue;
    ++valid;
    ++by_framework[std::string(j.framework.label.view()) + " " + std::to_string(j.framework.date)];
    parts_add_up(j, *r);
    nothing_is_lost(j);

    without_thresholds(j);
    const auto before = states_by_stage(j);
    auto twice = j;
    if (doubled(twice, drawn % 5) && answer(twice)) {
      ++smaller;
      // Shares are rounded up, each by less than a block for each tensor.
      REQUIRE(largest(states_by_stage(twice)).count() <= largest(before).count() + 16);
    }
    auto more = j;
    const auto first = answer(j);
    if (first && enlarge(more, drawn % 4))
      if (const auto second = answer(more)) {
        ++larger;
        constexpr bytes shares{64};  // of a layer's gradients, each rounded up
        REQUIRE(allocated(*first) <= allocated(*second) + shares);
        for (std::size_t k = 0; k < static_cast<std::size_t>(first->size); ++k)
          for (std::size_t p = 0; p < phase_count; ++p) REQUIRE(first->ranks[k].phases[p] <= second->ranks[k].phases[p] + shares);
      }
    if (j.parallel.data > 0) {
      auto odd = j;
      odd.hardware.nodes += 1;
      REQUIRE_FALSE(answer(odd));
    }
  }
  MESSAGE(valid << " of " << drawn << " drawn were valid; " << smaller << " were divided further, " << larger << " enlarged");
  CHECK(by_framework.size() == draw::drawn_frameworks.size() + 2);  // nanotron, Megatron-DeepSpeed, GPT-NeoX, Unsloth and transformers 5 before 5.16 are not drawn
  for (const auto& framework : by_framework) {
    INFO(framework.first);
    CHECK(framework.second > wanted / 200);
  }
  CHECK(smaller > wanted / 2);
  CHECK(larger > wanted / 2);
}

TEST_CASE("worlds that do not factor are refused") {
  draw::jobs random(19);
  for (int i = 0; i < wanted / 10; ++i) {
    auto j = random.next();
    if (!answer(j)) continue;
    CAPTURE(i);
    auto wrong = j;
    wrong.parallel.tensor = wrong.parallel.tensor * 2 + 1;
    wrong.parallel.data = std::max<std::int64_t>(wrong.parallel.data, 1);
    REQUIRE_FALSE(answer(wrong));
    wrong = j;
    wrong.parallel.data = j.hardware.gpus() + 1;
    REQUIRE_FALSE(answer(wrong));
    wrong = j;
    wrong.parallel.replicate = 7;
    wrong.parallel.data = j.parallel.data > 0 ? j.parallel.data : 1;
    REQUIRE_FALSE(answer(wrong));
    wrong.parallel.data = 0;  // as many as the GPUs make
    REQUIRE_FALSE(answer(wrong));
  }
}

}  // namespace test_many_jobs
