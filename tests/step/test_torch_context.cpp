// Distributed under the Boost Software License, Version 1.0.
// Context parallelism of modules that know nothing of it (accelerate over torch's own), by sums on paper: a rank holds what one with its share of the sequence
// does, and beside one kernel of attention the keys and values that travel.
#include <headroom/headroom.hpp>

#include <headroom/framework/frameworks.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_torch_context {

using namespace headroom;

namespace {

constexpr std::int64_t tokens = 4096, ranks = 8;

/// Attention's backward is the tallest moment: its heads are wide, the rest is small.
job decoder(std::int64_t context) {
  job j;
  j.model = {.layers = 2, .hidden = 512, .heads = 32, .kv_heads = 8, .head_dim = 64, .ffn = 512, .vocab = 512};
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = ranks};
  j.framework = frameworks::hf_trainer;
  j.parallel = {.data = ranks / context, .context = context};
  j.sharding = fsdp2();
  j.batch = {.sequence = tokens * context};
  j.attention = attention::sdpa;
  return j;
}
bytes at(const report& r, phase p, row of) { return r.ranks[0].at_phase[static_cast<std::size_t>(p)][of]; }

}  // namespace

TEST_CASE("a rank holds its share of the sequence, and what travels beside attention") {
  const auto alone = estimate(decoder(1));
  for (const std::int64_t context : {2, 8})
    for (const auto kind : {context_kind::ring, context_kind::all_gather}) {
      auto j = decoder(context);
      j.parallel.context_kind = kind;
      const auto r = estimate(j);
      // The same eighth of every weight, gradient and moment; as many tokens.
      for (const auto of : {row::model_parameters, row::gradients, row::optimizer_state}) CHECK(at(r, phase::step, of) == at(alone, phase::step, of));
      CHECK(at(r, phase::loss_forward, row::logits) == at(alone, phase::loss_forward, row::logits));
      CHECK(at(r, phase::loss_forward, row::activations) == at(alone, phase::loss_forward, row::activations));
      // Keys and values of 8 heads of 64 in 16 bits, of all ranks or of two; gradients of 32 + 2 · 8 heads in fp32 (torch distributed/tensor/experimental/
      // _context_parallel/_attention.py).
      const std::int64_t shares = kind == context_kind::ring ? 2 : context;
      CHECK((r.ranks[0].allocated - alone.ranks[0].allocated).count() == shares * 2 * tokens * 8 * 64 * 2 + tokens * (32 + 2 * 8) * 64 * 4);
    }
}

TEST_CASE("what torch's context parallelism does not run is refused") {
  const auto refused = [](auto change) {
    auto j = decoder(8);
    change(j);
    const auto why = objection_to(j);
    return why ? std::string{why.in_words().what()} : std::string{};
  };
  const auto has = [&](auto change, const char* text) { CHECK_MESSAGE(refused(change).find(text) != std::string::npos, refused(change)); };
  CHECK(refused([](job&) {}).empty());
  has([](job& j) { j.sharding = zero(3), j.framework = frameworks::deepspeed; }, "under sharding.kind \"fsdp2\" alone");
  has([](job& j) { j.sharding = fsdp1(); }, "under sharding.kind \"fsdp2\" alone");
  has([](job& j) { j.parallel.context_kind = context_kind::ulysses; }, "must be ring or all-gather");
  has([](job& j) { j.attention = attention::flash; }, "attention must be sdpa");
  has([](job& j) { j.batch.padded = true; }, "without masks");
  has([](job& j) { j.model.sliding_window = 1024; }, "windows");
  has([](job& j) { j.batch.sequence = 4096 + 8; }, "a multiple of 2 × parallel.context");
  has([](job& j) { j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = all_linear}; }, "sft of all parameters");
}

}  // namespace test_torch_context
