// Distributed under the Boost Software License, Version 1.0.
// A head that is the embedding's matrix, where only some modules train: torch has one parameter, which named_parameters() lists as the embedding's.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_tied_head_trains {

using namespace headroom;

namespace {

constexpr std::int64_t vocab = 65'536, hidden = 256;

/// A small Llama on a CPU, where a tensor costs its bytes.
job llama(bool tied, trainable what) {
  job j;
  auto& m = j.model;
  m.layers = 2, m.hidden = hidden, m.heads = 4, m.ffn = 512, m.vocab = vocab, m.tied = tied;
  j.hardware.gpu = gpus::cpu;
  j.framework = frameworks::libtorch;
  j.batch = {.micro = 1, .sequence = 16};
  j.trainable = what;
  return j;
}
std::int64_t gradients(const job& j, phase at) { return estimate(j).ranks[0].at_phase[static_cast<std::size_t>(at)][row::gradients].count(); }

}  // namespace

TEST_CASE("who names the embedding trains the head") {
  const auto one = llama(true, {{.modules = {module::embedding}}}), both = llama(true, {{.modules = {module::embedding, module::head}}});
  CHECK(estimate(one).ranks[0].phases == estimate(both).ranks[0].phases);
  CHECK(states(one).trained.count() == vocab * hidden);
  // bf16: the head's gradient waits for the embedding's. Before torch 2.6 one is added to the other, and two matrices of which one trains are as much: one more,
  // and one gradient less. Since then their sum is a third, made when the gradient of the stream, of 16 tokens, is gone.
  constexpr std::int64_t table = 2 * vocab * hidden;
  CHECK(gradients(one, phase::step) == table);
  const auto apart = llama(false, {{.modules = {module::embedding}}});
  CHECK(estimate(one).ranks[0][phase::backward].count() == estimate(apart).ranks[0][phase::backward].count() + table - 2 * 16 * hidden);
  auto in_place = one, beside = apart;
  in_place.environment.torch = beside.environment.torch = 205;
  CHECK(estimate(in_place).ranks[0][phase::backward] == estimate(beside).ranks[0][phase::backward]);
  CHECK(estimate(one).ranks[0][phase::step].count() == estimate(apart).ranks[0][phase::step].count() - table);
}

namespace {

std::string why(const job& j) {
  const auto o = objection_to(j);
  return o ? std::string{o.in_words().what()} : std::string{};
}

}  // namespace

TEST_CASE("a tied head that is named alone is refused") {
  CHECK(why(llama(true, {{.modules = {module::head}}})).find("a tied head trains as embed_tokens, which trainable.modules must name, too") != std::string::npos);
  CHECK(why(llama(true, {{.modules = {module::norm}}, {.modules = {module::head, module::norm}}})).find("embed_tokens") != std::string::npos);
  CHECK(why(llama(true, {{.modules = {module::head, module::embedding}}})).empty());
  CHECK(why(llama(true, {{.modules = {}}})).empty());
  CHECK(why(llama(false, {{.modules = {module::head}}})).empty());
  CHECK(states(llama(false, {{.modules = {module::head}}})).trained.count() == vocab * hidden);
  // litgpt's head is a matrix of its own; PEFT's copy is, too.
  auto litgpt = llama(true, {{.modules = {module::head}}});
  litgpt.framework = frameworks::litgpt_202410;
  CHECK(why(litgpt).find("embed_tokens") == std::string::npos);
}

TEST_CASE("selections of modules are read together") {
  CHECK(why(llama(true, {{.modules = {module::embedding}}, {.modules = {module::head}}})).empty());
  CHECK(why(llama(true, {{.modules = {module::head}}, {.modules = {module::embedding}}})).empty());
  CHECK(states(llama(true, {{.modules = {module::head}}, {.modules = {module::embedding}}})).trained.count() == vocab * hidden);
  CHECK(why(llama(true, {{.modules = {module::head}}, {.modules = {module::norm}}})).find("embed_tokens") != std::string::npos);
}

// transformers AutoModelForSequenceClassification: `score` is a matrix of its own, labels x hidden, whatever the base ties.
TEST_CASE("a score beside a tied embedding trains by itself") {
  for (const auto objective : {objective_kind::reward, objective_kind::classification}) {
    auto j = llama(true, {{.modules = {module::head}}});
    j.framework = frameworks::hf_trainer;
    j.hardware.gpu = gpus::h100_sxm_80gb;
    j.objective.kind = objective;
    CHECK(why(j).empty());
    CHECK(states(j).trained.count() == hidden);
    j.trainable = {{.modules = {module::embedding}}};
    CHECK(states(j).trained.count() == vocab * hidden);
    j.trainable = {{.modules = {module::embedding}}, {.modules = {module::head}}};
    CHECK(states(j).trained.count() == (vocab + 1) * hidden);
  }
}

TEST_CASE("layers of the stack have no head") {
  auto j = llama(false, {{.first_layer = 0, .last_layer = 0, .modules = {module::head}}});
  j.framework = frameworks::hf_trainer;
  j.hardware.gpu = gpus::h100_sxm_80gb;
  CHECK(why(j).find("these modules lie outside it, so that nothing trains") != std::string::npos);
  j.trainable = {{.first_layer = 0, .last_layer = 0, .modules = {module::head, module::q_proj}}};
  CHECK(why(j).find("nothing trains") == std::string::npos);
}

TEST_CASE("Megatron says first that partly frozen models are not modelled there") {
  auto j = llama(true, {{.modules = {module::head}}});
  j.hardware.gpu = gpus::h100_sxm_80gb;
  j.framework = frameworks::megatron;
  CHECK(why(j).find("partly frozen models are not modelled for megatron") != std::string::npos);
}

}  // namespace test_tied_head_trains
