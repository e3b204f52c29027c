// Distributed under the Boost Software License, Version 1.0.
// Models as patterns of layer kinds.
#include <headroom/estimate.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

namespace test_kinds {

using namespace headroom;

namespace {

/// The reader's sentence about a model, or nothing.
std::string refusal(const io::json_value& model) {
  try {
    io::read_model(model, "model", io::no_files);
  } catch (const job_error& e) {
    return e.what();
  }
  return {};
}

io::json_value model_with(const char* pattern) {
  auto m = io::json_value::parse(R"({"layers": 6, "hidden": 64, "heads": 4, "ffn": 128, "vocab": 100})");
  m["pattern"] = io::json_value::parse(pattern);
  return m;
}

}  // namespace

TEST_CASE("a pattern repeats to the end of the stack, and its shortest form is kept") {
  const auto m = io::read_model(model_with(R"(["attention", "none+dense", "attention", "none+dense"])"), "model", io::no_files);
  CHECK(m.pattern.period == 2);
  CHECK(m.kind_of(4) == layer_kind{mixer_kind::attention, feed_forward_kind::dense});
  CHECK(m.kind_of(5) == layer_kind{mixer_kind::none, feed_forward_kind::dense});
  const auto kinds = kinds_of(m);
  REQUIRE(kinds.size == 2);
  CHECK(kinds.of[0].count == 3);
  CHECK(kinds.of[1].first == 1);
}

TEST_CASE("halves of layers count as the layers that they are halves of") {
  // Six letters, three layers: an attention half and an MLP half, each with the norm in front of it.
  const auto halves = io::read_model(model_with(R"(["attention+none", "none+dense"])"), "model", io::no_files);
  auto whole = halves;
  whole.pattern = {};
  whole.layers = 3;
  CHECK(count(halves).total == count(whole).total);
  // … and save what these save.
  job j;
  j.model = whole;
  j.hardware.gpu = gpus::cpu;
  j.precision = precisions::bf16;
  j.batch = {.micro = 2, .sequence = 32};
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  const module_set all = trained_modules(j, 0);
  const auto half = [&](layer_kind k) { return walk_layer(sc, k, all, 0, true).saved.total; };
  CHECK(half({mixer_kind::attention, feed_forward_kind::none}) + half({mixer_kind::none, feed_forward_kind::dense}) ==
        half({mixer_kind::attention, feed_forward_kind::dense}));
  j.model = halves;
  const auto of_halves = estimate(j);
  j.model = whole;
  CHECK(of_halves.ranks[0].allocated == estimate(j).ranks[0].allocated);
}

TEST_CASE("a layer of experts alone saves what the sparse half of a layer does, and reads its own input") {
  for (const bool at_once : {false, true}) {
    job j;
    j.model = io::read_model(model_with(R"(["attention+none", "none+experts"])"), "model", io::no_files);
    j.model.experts = {.count = 8, .active = at_once ? 1 : 2, .ffn = 96, .shared = at_once ? 1 : 0, .shared_ffn = at_once ? 96 : 0};
    j.hardware.gpu = gpus::cpu;
    j.precision = precisions::bf16;
    j.batch = {.micro = 2, .sequence = 32};
    const auto s = settle(j);
    auto sc = s.layer;
    sc.model = &s.model;
    const auto walked = [&](layer_kind k) { return walk_layer(sc, k, trained_modules(j, 0), 8, true, true); };
    const auto mixer = walked({mixer_kind::attention, feed_forward_kind::none}), experts = walked({mixer_kind::none, feed_forward_kind::experts}),
               whole = walked({mixer_kind::attention, feed_forward_kind::experts});
    CHECK(mixer.saved.total + experts.saved.total == whole.saved.total);
    CHECK(experts.input == whole.input);
    CHECK(experts.weight_gradients + mixer.weight_gradients == whole.weight_gradients);
    CHECK(estimate(j).ranks[0].allocated > bytes{0});
  }
}

TEST_CASE("a pattern that repeats the default is the default") {
  job j;
  j.model = io::read_model(model_with(R"(["attention"])"), "model", io::no_files);
  j.batch.sequence = 64;
  const auto said = estimate(j);
  j.model.pattern = {};
  CHECK(said.ranks[0] == estimate(j).ranks[0]);
}

TEST_CASE("a pattern is written as it was read") {
  const auto m = io::read_model(model_with(R"(["attention", "attention+none", "none+dense"])"), "model", io::no_files);
  CHECK(io::read_model(io::model_to_json(m), "model", io::no_files) == m);
}

// [A, B, A] for six layers is A B A A B A where the list repeats, and A B A B A B where its beginning does.
TEST_CASE("a list that breaks off in a repetition says which layers it means, or is refused") {
  constexpr layer_kind attends{mixer_kind::attention, feed_forward_kind::dense}, feeds{mixer_kind::none, feed_forward_kind::dense};
  CHECK(refusal(model_with(R"(["attention", "none+dense", "attention"])")) ==
        "headroom: model.pattern lists 3 kinds for 6 layers, of which the first 2 repeat up to the list's end: list what repeats (twice, if it is all of them), or every layer");
  CHECK(refusal(model_with(R"("*-*")")).find("lists 3 kinds for 6 layers, of which the first 2 repeat") != std::string::npos);
  const auto twice = io::read_model(model_with(R"(["attention", "none+dense", "attention", "attention", "none+dense", "attention"])"), "model", io::no_files);
  CHECK(twice.pattern.period == 3);
  CHECK(twice.kind_of(3) == attends);
  CHECK(twice.kind_of(4) == feeds);
  CHECK(io::model_to_json(twice)["pattern"].size() == 6);
  CHECK(io::read_model(io::model_to_json(twice), "model", io::no_files) == twice);
  auto every = model_with(R"(["attention", "none+dense", "attention", "none+dense", "attention"])");
  every["layers"] = 5;
  CHECK(io::read_model(every, "model", io::no_files).pattern.period == 2);
  every["layers"] = 3;  // fewer than are listed
  CHECK(refusal(every).empty());
}

TEST_CASE("Megatron's letters are halves of layers") {
  const auto m = io::read_model(model_with(R"("*-")"), "model", io::no_files);
  CHECK(m == io::read_model(model_with(R"(["attention+none", "none+dense"])"), "model", io::no_files));
}

TEST_CASE("patterns that no network has are refused by name") {
  CHECK(refusal(model_with(R"(["attentoin"])")).find("model.pattern[0] must be one of") != std::string::npos);
  CHECK(refusal(model_with(R"(["attention+both"])")).find("\"+experts\" behind it") != std::string::npos);
  CHECK(refusal(model_with(R"(["none"])")).find("needs \"+dense\"") != std::string::npos);
  CHECK(refusal(model_with("[]")) == "headroom: model.pattern must be at least one layer, found an empty list");
  CHECK(refusal(model_with("\"\"")).find("must be at least one layer") != std::string::npos);
  CHECK(refusal(model_with(R"("M-M/M-")")).find("with | between chunks of a pipeline, without /") != std::string::npos);
  job j;
  j.model = io::read_model(model_with(R"("M-")"), "model", io::no_files);
  j.batch.sequence = 64;
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("model.ssm.conv must be at least 1"), job_error);
  j.model.ssm.conv = 4;
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("model.ssm must have heads"), job_error);
  j.model = io::read_model(model_with(R"(["attention", "none+dense"])"), "model", io::no_files);
  j.framework = frameworks::megatron;
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("for megatron model.pattern must be of halves of layers"), job_error);
  j.framework = frameworks::libtorch;
  j.model.experts = {};
  j.model.pattern = {};
  j.model.pattern.add({mixer_kind::attention, feed_forward_kind::experts});
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("model.experts.count"), job_error);
}

}  // namespace test_kinds
