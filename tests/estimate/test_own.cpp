// Distributed under the Boost Software License, Version 1.0.
// Layers and schedules from outside: one that does what the library's does comes out the same, and one that cannot be is refused.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace test_own {

using namespace headroom;

namespace {

/// The library's Llama layer, told from outside.
struct llama_layer {
  constexpr void add_weights(inventory& list, const shape& m, const layer_span& layers) const {
    const auto matrix = [&](module role, std::int64_t out, std::int64_t in) {
      list.add({.role = role, .rows = out, .columns = in, .layers = layers, .linear = true});
    };
    matrix(module::q_proj, m.query_width(), m.hidden);
    matrix(module::k_proj, m.kv_width(), m.hidden);
    matrix(module::v_proj, m.kv_width(), m.hidden);
    matrix(module::o_proj, m.hidden, m.query_width());
    matrix(module::gate_proj, m.ffn, m.hidden);
    matrix(module::up_proj, m.ffn, m.hidden);
    matrix(module::down_proj, m.hidden, m.ffn);
    list.add({.role = module::norm, .rows = m.hidden, .layers = layers, .per_layer = 2});
  }
  static constexpr int parts() { return 2; }
  static constexpr program part(int i, const scene& s, const module_set& trained, bool flows) {
    return decoder_block(s, i == 0 ? layer_part::attention : layer_part::mlp, trained, flows);
  }
};
static_assert(own_layer<llama_layer>);

constexpr job llama() {
  return {.model = models::llama_3_2_1b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .batch = {.micro = 2, .sequence = 1024}};
}

/// One part, of which only the number of elements is interesting: x, doubled and added.
struct little_layer {
  int count = 1;
  constexpr void add_weights(inventory& list, const shape& m, const layer_span& layers) const {
    list.add({.role = module::up_proj, .rows = m.hidden, .columns = m.hidden, .layers = layers, .linear = true});
  }
  [[nodiscard]] constexpr int parts() const { return count; }
  static constexpr program part(int, const scene& s, const module_set& trained, bool flows) {
    program p(s.granule);
    const auto h = s.model->hidden;
    const auto x = p.input(s.tokens * h, s.residual_width, flows);
    p.set_output(ops::add(p, x, ops::linear(p, s, trained, module::up_proj, x, h, h, false)));
    return p;
  }
};

}  // namespace

static_assert(estimate(llama(), llama_layer{}) == estimate(llama()));

TEST_CASE("the library's layer, told from outside, comes out the same") {
  for (const auto& framework : {frameworks::libtorch, frameworks::hf_trainer, frameworks::deepspeed, frameworks::litgpt_202410})
    for (const auto& sharding : {ddp(), zero(2), zero(3), fsdp1(), fsdp2()}) {
      if (framework.sharding.no_others && !framework.sharding.offers(sharding.kind)) continue;
      for (const auto& recompute : {recompute::none, recompute::full})
        for (const auto& adapter : {headroom::adapter{}, headroom::adapter{.kind = adapter_kind::lora, .rank = 8, .targets = all_linear, .format = formats::fp32}}) {
          auto j = llama();
          j.framework = framework;
          j.sharding = sharding;
          j.recompute = recompute;
          j.adapter = adapter;
          CHECK(estimate(j, llama_layer{}) == estimate(j));
        }
    }
}

// Per layer x and x·W are made; x is saved for the weight's gradient (and is what the last layer's output was).
TEST_CASE("a layer of one matrix, counted by hand") {
  job j = llama();
  j.model = {.layers = 10, .hidden = 1024, .heads = 1, .ffn = 1, .position = position_kind::none, .vocab = 1024, .tied = true};
  j.hardware = {.gpu = gpus::cpu};
  j.framework = frameworks::libtorch;
  j.precision = precisions::fp32;
  j.batch = {.micro = 1, .sequence = 2048};
  const auto ten = estimate(j, little_layer{});
  CHECK(ten.parameter_count.total == parameters{1024 * 1024 * 11 + 1024});
  const auto saved = [&](std::int64_t layers, const little_layer& own) {
    j.model.layers = layers;
    return estimate(j, own).ranks[0].at_phase[static_cast<std::size_t>(phase::loss_forward)][row::activations].count();
  };
  const std::int64_t x = 2048 * 1024 * 4;
  CHECK(saved(20, {}) - saved(10, {}) == 10 * x);
  CHECK(saved(20, {3}) - saved(10, {3}) == 30 * x);
}

TEST_CASE("a layer that cannot stand there is refused") {
  auto j = llama();
  CHECK_THROWS_AS(estimate(j, little_layer{0}), job_error);
  j.framework = frameworks::megatron;
  CHECK_THROWS_AS(estimate(j, little_layer{}), job_error);
  j.framework = frameworks::llm_c;
  CHECK_THROWS_AS(estimate(j, little_layer{}), job_error);
  j = llama();
  j.model.experts = {.count = 8, .active = 2, .ffn = 64};
  CHECK_THROWS_AS(estimate(j, little_layer{}), job_error);
}

namespace {

struct plain_1f1b {
  template <class Visit>
  constexpr void run(const pipeline_plan& p, std::int64_t stage, Visit&& visit) const {
    const auto warm = p.stages - stage - 1 < p.micros ? p.stages - stage - 1 : p.micros;
    for (std::int64_t i = 0; i < warm; ++i) visit(work{work_kind::forward, 0, i});
    for (std::int64_t i = 0; i < p.micros; ++i) {
      if (i + warm < p.micros) visit(work{work_kind::forward, 0, i + warm});
      visit(work{work_kind::backward, 0, i});
    }
  }
};
static_assert(own_schedule<plain_1f1b>);
static_assert(in_flight({.stages = 4, .micros = 8}, 1, plain_1f1b{}) == 3);

constexpr job piped(std::int64_t accumulation) {
  return {.model = models::llama_3_1_8b,
          .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8},
          .framework = frameworks::megatron,
          .parallel = {.tensor = 2, .sequence = true, .pipeline = 4},
          .batch = {.sequence = 4096, .accumulation = accumulation}};
}

/// Visits a list of works whatever it is asked for.
struct listed {
  std::vector<work> works;
  template <class Visit>
  constexpr void run(const pipeline_plan&, std::int64_t, Visit&& visit) const {
    for (const auto& w : works) visit(w);
  }
};

std::string refusal(const std::vector<work>& works) {
  try {
    estimate(piped(1), listed{works});
  } catch (const job_error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

static_assert(estimate(piped(16), plain_1f1b{}) == estimate(piped(16)));

TEST_CASE("1F1B, told from outside, comes out the same") {
  for (const std::int64_t accumulation : {1, 2, 4, 5, 16, 100}) CHECK(estimate(piped(accumulation), plain_1f1b{}) == estimate(piped(accumulation)));
}

TEST_CASE("a schedule that is none is refused") {
  constexpr work f{work_kind::forward, 0, 0}, b{work_kind::backward, 0, 0};
  CHECK(refusal({f, b}).empty());
  CHECK(refusal({f, b, f}).find("every micro-batch") != std::string::npos);
  CHECK(refusal({f}).find("every micro-batch") != std::string::npos);
  CHECK(refusal({b, f}).find("a forward before its backward") != std::string::npos);
  CHECK(refusal({f, {work_kind::backward, 1, 0}}).find("name a chunk") != std::string::npos);
  CHECK(refusal({{work_kind::forward, 0, 1}, b}).find("name a micro-batch") != std::string::npos);
  CHECK(refusal({f, b, {work_kind::weight_gradient, 0, 0}}).find("whole backwards") != std::string::npos);
  auto j = llama();
  CHECK_THROWS_AS(estimate(j, plain_1f1b{}), job_error);
}

}  // namespace test_own
