// Distributed under the Boost Software License, Version 1.0.
// The list of weights: published counts at compile time, and what holds for every shape.
#include <headroom/model/inventory.hpp>
#include <headroom/model/zoo.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace test_inventory {

namespace {

using namespace headroom;

constexpr std::int64_t total(const shape& m) { return count(m).total.count(); }

// Structural, so that a model can be a template argument; small, because a job holds one.
template <shape>
struct takes_a_model {};
[[maybe_unused]] constexpr takes_a_model<models::llama_3_1_8b> structural;
static_assert(std::is_trivially_copyable_v<shape> && std::is_trivially_copyable_v<inventory>);
static_assert(sizeof(shape) <= 1200);

// Counts that their authors published.
static_assert(total(models::gpt2) == 124'439'808);
static_assert(total(models::gpt2_xl) == 1'557'611'200);
static_assert(total(models::llama_2_7b) == 6'738'415'616);
static_assert(total(models::llama_3_1_8b) == 8'030'261'248);
static_assert(total(models::llama_3_1_405b) == 405'853'388'800);
static_assert(total(models::mistral_7b) == 7'241'732'096);
static_assert(total(models::mixtral_8x7b) == 46'702'792'704);
static_assert(total(models::qwen2_5_7b) == 7'615'616'512);
static_assert(total(models::qwen3_8b) == 8'190'735'360);
static_assert(total(models::falcon_7b) == 6'921'720'704);
static_assert(total(models::gemma_2_9b) == 9'241'705'984);
static_assert(total(models::gpt_oss_20b) == 20'914'757'184);
static_assert(total(models::phi_2) == 2'779'683'840);
static_assert(total(models::bert_base_uncased) == 109'482'240);
static_assert(total(models::t5_small) == 60'506'624);
static_assert(total(models::gpt_3_175b) == 174'604'259'328);  // "175 B"
static_assert(count(models::deepseek_v3).active.count() == 37'552'282'624);  // "37 B activated"
static_assert(count(models::mixtral_8x7b).active.count() == 12'879'925'248);

/// The same model with one number changed.
template <class Change>
constexpr shape with(shape m, Change change) {
  change(m);
  return m;
}

constexpr const shape* samples[] = {&models::llama_3_1_8b, &models::gpt2,        &models::qwen3_30b_a3b, &models::deepseek_v2_lite,
                                    &models::gpt_oss_20b,  &models::gemma_2_9b,  &models::falcon_7b,     &models::t5_small,
                                    &models::whisper_tiny, &models::llava_1_5_7b, &models::llama_4_maverick, &models::bert_base_uncased};

constexpr std::int64_t in_layers(const inventory& list) {
  std::int64_t sum = 0;
  for (const auto& w : list)
    if (w.layers.count > 0) sum += w.total().count();
  return sum;
}

}  // namespace

TEST_CASE("components add up to the total, and active is a part of it") {
  for (const auto& m : models::all()) {
    const std::string_view label = m.label.view();
    CAPTURE(label);
    const auto n = count(m);
    parameters sum{};
    for (const auto& part : n.by_component) sum += part;
    CHECK(sum.count() == n.total.count());
    CHECK(n.active <= n.total);
    CHECK((n.active == n.total) == !m.sparse());
    CHECK(n.frozen < n.total);
  }
}

TEST_CASE("dense models are additive over layers") {
  for (const auto* m : samples) {
    if (m->sparse()) continue;
    const auto at = [&](std::int64_t layers) { return total(with(*m, [&](shape& s) { s.layers = layers; })); };
    const std::string_view label = m->label.view();
    CAPTURE(label);
    CHECK(at(7) - at(6) == at(2) - at(1));
    CHECK(at(1) - at(0) == at(2) - at(1));
    CHECK((at(m->layers) - at(0)) == in_layers(weights_of(*m)));
  }
}

TEST_CASE("a larger size never counts less") {
  for (const auto* m : samples) {
    const std::string_view label = m->label.view();
    CAPTURE(label);
    const auto before = total(*m);
    CHECK(total(with(*m, [](shape& s) { s.layers += 1; })) > before);
    CHECK(total(with(*m, [](shape& s) { s.hidden *= 2; })) > before);
    CHECK(total(with(*m, [](shape& s) { s.ffn += 8; })) >= before);
    CHECK(total(with(*m, [](shape& s) { s.vocab += 1; })) > before);
    CHECK(total(with(*m, [](shape& s) { s.head_dim = s.head_width() + 8; })) >= before);
    if (m->sparse()) CHECK(total(with(*m, [](shape& s) { s.experts.count += 1; })) > before);
    if (m->tied && m->head == head_kind::language) CHECK(total(with(*m, [](shape& s) { s.tied = false; })) == before + m->vocab * m->hidden);
  }
}

TEST_CASE("layers are dense or sparse exactly once, whatever the rule") {
  for (std::int64_t layers = 1; layers <= 14; ++layers)
    for (std::int64_t every = 1; every <= 5; ++every)
      for (std::int64_t dense = 0; dense <= layers + 1; ++dense)
        for (const std::uint64_t mask : {0ULL, 1ULL, 2ULL, 9ULL, 0x30ULL}) {
          shape m = models::mixtral_8x7b;
          m.layers = layers;
          m.experts.every = every;
          m.experts.first_dense_layers = dense;
          m.experts.dense_mask[0] = mask;
          for (std::int64_t i = 0; i < layers; ++i) {
            int as_dense = 0;
            int as_sparse = 0;
            for (const auto& w : weights_of(m)) {
              bool here = false;
              for (std::int64_t k = 0; k < w.layers.count; ++k) here = here || w.layers.at(k) == i;
              if (here && w.role == module::up_proj) ++as_dense;
              if (here && w.role == module::experts_up) ++as_sparse;
            }
            const bool sparse = m.sparse_layer(i);
            REQUIRE(as_sparse == (sparse ? 1 : 0));
            REQUIRE(as_dense == (sparse ? 0 : 1));
          }
        }
}

TEST_CASE("linear layers, experts and splits are marked") {
  const auto list = weights_of(models::deepseek_v2_lite);
  int experts = 0;
  for (const auto& w : list) {
    if (w.expert) {
      ++experts;
      CHECK(w.linear);
      CHECK(w.per_layer == 64);
      CHECK(w.layers == layer_span{1, 26, 1});
    }
    if (w.vector()) CHECK(!w.linear);
    if (w.role == module::o_proj) CHECK(w.split == split_axis::columns);
    if (w.role == module::q_proj) CHECK(w.split == split_axis::rows);
    if (w.role == module::embedding) CHECK((w.split == split_axis::vocabulary && !w.linear));
    if (w.role == module::head) CHECK((w.split == split_axis::vocabulary && w.linear));
    if (w.role == module::router || w.role == module::norm) CHECK(w.split == split_axis::none);
  }
  CHECK(experts == 3);
}

// modeling_opt.py, OPT-350m: project_in and project_out are nn.Linear without bias, of 512 and 1,024 features; the table of 50,272 is none.
TEST_CASE("a narrow embedding's projections are linear layers") {
  int in = 0, out = 0, tables = 0;
  const shape narrow{.layers = 24, .hidden = 1024, .heads = 16, .ffn = 4096, .mlp = mlp_kind::plain, .vocab = 50272, .tied = true, .embedding_dim = 512};
  for (const auto& w : weights_of(narrow)) {
    if (w.linear && w.rows == 1024 && w.columns == 512) ++in;
    if (w.linear && w.rows == 512 && w.columns == 1024) ++out;
    if (!w.linear && w.rows == 50272 && w.columns == 512) ++tables;
  }
  CHECK(in == 1);
  CHECK(out == 1);
  CHECK(tables == 1);
}

TEST_CASE("a tied head is the embedding's matrix") {
  for (const auto& w : weights_of(models::llama_3_2_1b)) CHECK(w.role != module::head);
}

TEST_CASE("contradictions and overflow are refused") {
  const auto refused = [](auto change) { CHECK_THROWS_AS((void)weights_of(with(models::qwen3_30b_a3b, change)), job_error); };
  refused([](shape& s) { s.hidden = 0; });
  refused([](shape& s) { s.hidden = -4096; });
  refused([](shape& s) { s.heads = 0; });
  refused([](shape& s) { s.kv_heads = 5; });
  refused([](shape& s) { s.head_dim = 0, s.hidden = 2049; });
  refused([](shape& s) { s.experts.active = 129; });
  refused([](shape& s) { s.experts.active = 0; });
  refused([](shape& s) { s.experts.ffn = 0; });
  refused([](shape& s) { s.vision.layers = -1; });
  CHECK_THROWS_AS((void)count(with(models::llama_3_1_8b, [](shape& s) { s.layers = std::int64_t{1} << 62; })), overflow_error);
  CHECK_THROWS_AS((void)count(with(models::llama_3_1_8b, [](shape& s) { s.head_dim = std::int64_t{1} << 62; })), overflow_error);
}

}  // namespace test_inventory
