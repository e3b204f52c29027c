// Distributed under the Boost Software License, Version 1.0.
// Blocks of more tensors than fit into one word: adapters behind a dropout on every linear layer.
#include "points.hpp"

#include <both.hpp>
#include <headroom/headroom.hpp>

namespace test_many_tensors {

using namespace headroom;

namespace {

constexpr job adapted(const shape& m, adapter_kind kind, bool drops, const number_format& format = formats::bf16) {
  job j{.model = m, .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = frameworks::hf_trainer, .precision = precisions::bf16, .batch = {.micro = 1, .sequence = 1024},
        .attention = attention::flash};
  j.adapter = {.kind = kind, .rank = 16, .targets = all_linear, .format = format};
  if (drops) j.adapter.dropout.per_million = 50'000;
  return j;
}

/// What a layer saves for its backward, and the most tensors of a block.
struct layer_seen {
  bytes saved;
  std::size_t tensors;
};
constexpr layer_seen layer_of(const job& j) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  layer_seen r{};
  for_each_block(sc, {s.model.attention(), feed_forward_kind::dense}, trained_modules(j, 0), true, [&](const program& p) {
    r.saved += walk_forward(p).saved;
    r.tensors = p.tensors() > r.tensors ? p.tensors() : r.tensors;
  });
  return r;
}

}  // namespace

TEST_CASE("a dropout before each adapter: what it drops to is saved with a mask of one byte an element, no longer the matrices' input") {
  // peft tuners/lora/layer.py Linear.forward: lora_B(lora_A(dropout(x))); native_dropout saves its mask, lora_A its input. q, k, v, gate
  // and up had saved one input each pair, down its own; what o reads is flash attention's result, which stays saved.
  constexpr auto m = models::qwen3_8b;
  constexpr auto with = layer_of(adapted(m, adapter_kind::lora, true)), without = layer_of(adapted(m, adapter_kind::lora, false));
  constexpr std::int64_t t = 1024, h = m.hidden, q = m.query_width(), ffn = m.ffn;
  BOTH(with.saved - without.saved == bytes{t * (3 * (3 * h + q) - 2 * h) + t * (3 * (2 * h + ffn) - 2 * h - 2 * ffn)});
  // Adapters in fp32 have saved a copy of their input already, each its own.
  constexpr auto wide = layer_of(adapted(m, adapter_kind::lora, true, formats::fp32)), narrow = layer_of(adapted(m, adapter_kind::lora, false, formats::fp32));
  static_assert(wide.tensors > near_tensors);
  BOTH(wide.saved - narrow.saved == bytes{t * (3 * h + q) + t * (2 * h + ffn)});
}

TEST_CASE("models that were refused are answered: adapters behind a dropout, DoRA, a GPTQ base") {
  for (const auto& m : {models::qwen3_8b, models::gemma_2_9b, models::olmo_3_7b, models::llama_3_1_8b})
    for (const auto kind : {adapter_kind::lora, adapter_kind::dora})
      for (const auto& base : {formats::bf16, formats::nf4, formats::gptq_int4}) {
        auto j = adapted(m, kind, true);
        if (m.attention_softcap > 0) j.attention = attention::eager;
        if (base.quantised()) j.adapter.base = base;
        CAPTURE(base.label.view());
        CAPTURE(static_cast<int>(kind));
        CHECK(estimate(j).ranks[0].allocated > bytes{0});
      }
}

TEST_CASE("a layer with every optional part has room in two blocks; as one block it is refused, with a sentence") {
  auto j = adapted(models::llama_3_1_8b, adapter_kind::dora, true);
  j.precision = precisions::bf16_autocast;
  j.adapter.format = formats::fp32;
  j.adapter.base = formats::gptq_int4;
  j.attention = attention::eager;
  j.dropout = {{100'000}, {100'000}, {100'000}};
  auto& m = j.model;
  m.post_norms = m.qk_norm = true;
  m.activation = activation_kind::gelu_new;
  m.mla = {.q_rank = 96, .kv_rank = 64, .nope_dim = 32, .rope_dim = 16, .value_dim = 32};
  CHECK(layer_of(j).tensors > 128);
  CHECK(estimate(j).ranks[0].allocated > bytes{0});
  m.parallel_block = true;
  CHECK_THROWS_WITH((void)estimate(j), "headroom: a block holds at most 192 tensors; split it (found 192)");
}

TEST_CASE("an operation of a large block reads back as it was written") {
  const auto tensors = [](std::initializer_list<int> of) {
    wide_set s{};
    for (const auto i : of) s |= tensor::at(static_cast<std::uint8_t>(i)).bit();
    return s;
  };
  const operation plain{}, full{.reads = tensors({0, 63, 64}), .makes = tensors({65, 150}), .saves = tensors({0, 150}), .holds = tensors({64}), .forward_temporary = bytes{0x0102'0304'0506'0708},
                                .backward_temporary = bytes{258}, .weight_gradient = bytes{std::int64_t{1} << 40}, .temporary_block = bytes{7}, .pieces = 4097, .temporaries = row::logits,
                                .gradient_waits = true, .passes_gradient = true, .releases_first = true, .splits = true, .recorded = true};
  std::vector<operation> all{plain, full, plain};
  const auto only = [&](auto change) {
    operation o{};
    change(o);
    all.push_back(o);
  };
  only([](operation& o) { o.forward_temporary = bytes{513}; });
  only([](operation& o) { o.backward_temporary = bytes{513}; });
  only([](operation& o) { o.weight_gradient = bytes{513}; });
  only([](operation& o) { o.temporary_block = bytes{513}; });
  only([](operation& o) { o.pieces = 2; });
  only([](operation& o) { o.recorded = true; });
  only([](operation& o) { o.gradient_waits = true; });
  only([](operation& o) { o.passes_gradient = true; });
  only([](operation& o) { o.releases_first = true; });
  only([](operation& o) { o.splits = true; });
  only([&](operation& o) { o.holds = tensors({191}); });
  detail::packed_operations<2048, 32> packed;
  for (const auto& o : all) packed.add(o);
  REQUIRE(packed.size() == all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto o = packed[i];
    const auto& is = all[i];
    CAPTURE(i);
    CHECK((o.reads == is.reads && o.makes == is.makes && o.saves == is.saves && o.holds == is.holds));
    CHECK(o.forward_temporary == is.forward_temporary);
    CHECK(o.backward_temporary == is.backward_temporary);
    CHECK(o.weight_gradient == is.weight_gradient);
    CHECK(o.temporary_block == is.temporary_block);
    CHECK(o.pieces == is.pieces);
    CHECK(o.temporaries == is.temporaries);
    CHECK((o.gradient_waits == is.gradient_waits && o.passes_gradient == is.passes_gradient && o.releases_first == is.releases_first && o.splits == is.splits && o.recorded == is.recorded));
  }
}

}  // namespace test_many_tensors
