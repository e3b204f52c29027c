// Distributed under the Boost Software License, Version 1.0.
// torchtitan's stages whose backward is split (ZB-V), from torch's distributed/pipelining/_backward.py and stage.py: counted by hand, and held to a
// list of everything that is alive, which is kept object by object.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace test_split_stages {

using namespace headroom;

namespace {

constexpr std::int64_t h = 512, f = 1280, heads = 8, kv_heads = 2, vocab = 1024, t = 2048, layers = 16;

job pipeline(std::int64_t stages, std::int64_t micros) {
  job j;
  j.model = {.layers = layers, .hidden = h, .heads = heads, .kv_heads = kv_heads, .ffn = f, .vocab = vocab};
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8};
  j.framework = frameworks::torchtitan_202404;
  j.parallel = {.data = 8 / stages, .pipeline = stages, .virtual_pipeline = 2, .schedule = schedule::zero_bubble_v};
  j.sharding = fsdp2();
  j.batch = {.micro = 1, .sequence = t, .accumulation = micros};
  return j;
}

/// Everything that a stage holds, one by one.
class everything {
 public:
  explicit everything(std::int64_t always) : always_(always) {}
  template <class... Name>
  void make(bytes size, const Name&... name) {
    REQUIRE(alive_.emplace(key(name...), size.count()).second);
  }
  template <class... Name>
  void free(const Name&... name) {
    REQUIRE(alive_.erase(key(name...)) == 1);
  }
  template <class... Name>
  [[nodiscard]] bool has(const Name&... name) const {
    return alive_.count(key(name...)) == 1;
  }
  [[nodiscard]] std::int64_t all() const {
    auto sum = always_;
    for (const auto& [name, size] : alive_) sum += size;
    return sum;
  }

 private:
  using named = std::tuple<std::string, std::int64_t, std::int64_t>;
  static named key(const char* what, std::int64_t chunk, std::int64_t micro = -1) { return {what, chunk, micro}; }
  std::map<named, std::int64_t> alive_;
  std::int64_t always_;
};

struct tallest_moments {
  std::int64_t forward{}, loss{}, backward{}, reduce{};
};

/// One stage's step. Chunks weigh what the library says they weigh; which of them are alive when is written down anew.
tallest_moments follow(const job& j, std::int64_t stage, std::int64_t always) {
  const auto s = settle(j);
  const auto list = weights_of(s.model);
  const stage_cut cut(j.parallel, j.model.layers, j.framework.pipeline.split);
  const auto stages = j.parallel.pipeline, micros = j.batch.accumulation;
  const bytes x{2 * j.batch.sequence * h};
  const bool same_format = s.precision.reduce == s.precision.compute;
  std::vector<detail::eager_chunk> chunks;
  for (const auto i : {stage, 2 * stages - 1 - stage}) {
    const auto c = cut.at(i);
    detail::eager_chunk unknown;
    detail::make_eager_chunk(chunks.emplace_back(), s, list, {c.first, c.count, i == 0, i == 2 * stages - 1}, unknown);
  }
  const bool turns = stage == stages - 1;  // the bottom of the V: its first chunk's result is its second's input
  everything is(always);
  tallest_moments top;
  std::map<std::int64_t, std::int64_t> weighted;
  const auto look = [&](std::int64_t& of, bytes more) { of = std::max(of, is.all() + more.count()); };
  run_schedule({schedule::zero_bubble_v, stages, 2, micros}, stage, [&](const work& w) {
    const auto& k = chunks[static_cast<std::size_t>(w.chunk)];
    const bool first = k.first, last = k.last;
    const auto end_of_graph = [&] {
      is.free("graph", w.chunk, w.micro);
      if (is.has("sent", w.chunk, w.micro)) is.free("sent", w.chunk, w.micro);
    };
    if (w.kind == work_kind::forward) {
      if (w.micro == 0) is.make(k.gathered, "gathered", w.chunk);
      look(top.forward, k.forward.total);
      if (last) look(top.loss, k.loss.total);
      is.make(k.saved.total, "graph", w.chunk, w.micro);
      if (last) is.make(k.logits, "logits", w.chunk, w.micro);
      else if (!turns || w.chunk == 1) is.make(x, "sent", w.chunk, w.micro);
      return;
    }
    if (w.kind == work_kind::backward && first) return;  // its input, token numbers, has no gradient
    if (w.kind == work_kind::backward) {
      look(top.backward, (is.has("fresh", w.chunk) ? k.adding : k.backward).total - k.saved.total);
      is.make(k.waiting.total, "waiting", w.chunk, w.micro);
      if (!turns || w.chunk == 0) is.make(x, "input gradient", w.chunk, w.micro);
      if (is.has("fresh", w.chunk)) {
        is.free("fresh", w.chunk);
        if (!is.has("sum", w.chunk)) is.make(k.gradients, "sum", w.chunk);
      }
      return;
    }
    if (first) {
      const bool begins = !is.has("sum", w.chunk);
      look(top.backward, (begins ? k.beginning : k.backward).total - k.saved.total);
      if (begins) is.make(k.gradients, "sum", w.chunk);
    } else {
      look(top.backward, k.fresh_layer);
      is.free("waiting", w.chunk, w.micro);
      if (same_format) {  // autograd's own gradients are what is added up (_fsdp_param.py to_accumulated_grad_if_needed)
        if (!is.has("sum", w.chunk)) is.make(k.gradients, "sum", w.chunk);
      } else if (!is.has("fresh", w.chunk)) {
        is.make(k.fresh, "fresh", w.chunk);
      }
    }
    end_of_graph();
    if (++weighted[w.chunk] < micros) return;
    look(top.reduce, k.reducing.total());
    is.free("gathered", w.chunk);
    is.free("sum", w.chunk);
    if (is.has("fresh", w.chunk)) is.free("fresh", w.chunk);
    is.make(k.sharded, "shard", w.chunk);
  });
  return top;
}

/// Without skipping what repeats.
struct every_step {
  static constexpr bool repeats = false;
  template <class Visit>
  static constexpr void run(const pipeline_plan& p, std::int64_t stage, Visit&& visit) {
    run_schedule(p, stage, visit);
  }
};

}  // namespace

// stage_backward_input: autograd.grad(..., retain_graph=True), and for each weight the gradient of what it was multiplied into: q, k, v, o, gate, up,
// down, and both norms' results.
TEST_CASE("gradients that wait for the weights'") {
  const auto j = pipeline(4, 8);  // which a settled job points to
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  const auto one = detail::inputs_backward_of(sc, {.count = 1, .trained = trained_modules(*s.source, -1)});
  constexpr auto kv = h / heads * kv_heads;
  CHECK(one.waiting.total.count() == 2 * t * (h + kv + kv + h + f + f + h + h + h));
  // All that the layer has saved is there to the end, and all that waits, and the gradient of the layer's input.
  const auto whole = walk_layer(sc, trained_modules(*s.source, -1), true);
  CHECK(one.peak.total >= whole.saved.total + one.waiting.total + bytes{2 * t * h});
  CHECK(one.peak.total > whole.backward.total - whole.weight_gradients);
}

TEST_CASE("what a stage of ZB-V holds, object by object") {
  for (const std::int64_t stages : {2, 4, 8})
    for (const auto micros : {stages, 2 * stages - 1, 2 * stages, 4 * stages, 9 * stages}) {
      const auto r = estimate(pipeline(stages, micros));
      for (const auto& k : r) {
        CAPTURE(stages);
        CAPTURE(micros);
        CAPTURE(k.pipeline_stage);
        const auto top = follow(pipeline(stages, micros), k.pipeline_stage, k[phase::save].count());
        CHECK(k[phase::forward].count() == top.forward);
        CHECK(k[phase::backward].count() == top.backward);
        CHECK(k[phase::reduce].count() == top.reduce);
      }
    }
}

// The paper's claim in bytes: forwards find the activations of 2p - 1 chunks on every stage. (Those at the ends of the V have an embedding and a
// head, or no result to send.)
TEST_CASE("a stage of ZB-V whose gradients are reduced as they are made") {
  for (const std::int64_t stages : {2, 4, 8})
    for (const bool few : {false, true}) {  // of few tokens gradients decide which moment is tallest
      auto j = pipeline(stages, few ? stages : 4 * stages);
      if (few) j.batch.sequence = 64;
      const auto wide = estimate(j);
      j.precision = precisions::bf16_mixed;
      j.precision.reduce = formats::bf16;
      const auto r = estimate(j);
      for (std::size_t i = 0; i < static_cast<std::size_t>(stages); ++i) {
        const auto& k = r.ranks[i];
        CAPTURE(stages);
        CAPTURE(few);
        CAPTURE(i);
        const auto top = follow(j, k.pipeline_stage, k[phase::save].count());
        CHECK(k[phase::forward].count() == top.forward);
        CHECK(k[phase::backward].count() == top.backward);
        CHECK(k[phase::reduce].count() == top.reduce);
        CHECK(k[phase::reduce] < wide.ranks[i][phase::reduce]);
      }
    }
}

TEST_CASE("activations are even between stages") {
  const auto r = estimate(pipeline(8, 32));
  const auto at = [&](std::size_t stage) { return r.ranks[stage].at_phase[static_cast<std::size_t>(phase::forward)]; };
  for (std::size_t stage = 2; stage < 7; ++stage) CHECK(at(stage)[row::activations] == at(1)[row::activations]);
}

TEST_CASE("a split stage's steps that repeat need not be followed") {
  for (const std::int64_t stages : {2, 4, 8})
    for (const auto micros : {stages, 3 * stages - 1, 3 * stages, 3 * stages + 1, 7 * stages, 200 + stages}) {
      const auto j = pipeline(stages, micros);
      CAPTURE(stages);
      CAPTURE(micros);
      CHECK((detail::estimate_with(j, detail::shipped_layers{}, every_step{}) == estimate(j)));
    }
}

TEST_CASE("what ZB-V needs") {
  const auto refused = [](auto&& change) {
    auto j = pipeline(4, 8);
    change(j);
    try {
      (void)estimate(j);
    } catch (const job_error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(refused([](job&) {}).empty());
  CHECK(refused([](job& j) { j.parallel = {.data = 8, .schedule = schedule::zero_bubble_v}; }).empty());  // one stage is cut into nothing
  CHECK(refused([](job& j) { j.parallel.virtual_pipeline = 1; }) == "headroom: parallel.virtual_pipeline must be the number of chunks into which the schedule cuts a stage (zero-bubble-v, v-half, v-min: 2) (found 1)");
  CHECK(refused([](job& j) { j.parallel.virtual_pipeline = 4; }) == "headroom: parallel.virtual_pipeline must be the number of chunks into which the schedule cuts a stage (zero-bubble-v, v-half, v-min: 2) (found 4)");
  CHECK(refused([](job& j) { j.batch.accumulation = 3; }) == "headroom: this schedule needs at least as many micro-batches as there are stages, parallel.pipeline; batch.accumulation (found 3)");
  const std::string whole = "headroom: torch runs no schedule that splits the backward with compiled layers, and recomputation is not modelled for one by this version; compile must be false, recompute \"none\"";
  CHECK(refused([](job& j) { j.recompute = recompute::full; }) == whole);
  CHECK(refused([](job& j) { j.compile = true, j.framework = frameworks::torchtitan_202508; }) == whole);
  CHECK(refused([](job& j) { j.framework = frameworks::megatron, j.sharding = ddp(), j.parallel.schedule = schedule::naive, j.parallel.virtual_pipeline = 1; }) == "headroom: for megatron parallel.schedule must be 1f1b, interleaved-1f1b, gpipe, zero-bubble, dualpipe, zero-bubble-v, v-half or v-min");
  CHECK(refused([](job& j) { j.parallel.schedule = schedule::zero_bubble, j.parallel.virtual_pipeline = 1; }) ==
        "headroom: for this framework parallel.schedule must be 1f1b, interleaved-1f1b, gpipe or zero-bubble-v (found \"torchtitan\")");
}

}  // namespace test_split_stages
