// Distributed under the Boost Software License, Version 1.0.
// Layers of encoders, of models of an encoder and a decoder, and of decoders with parts of their own, against counts of unique storages made around
// transformers' own modules (tests/data/saved_encoders.json), and against arithmetic on paper.
#include <headroom/headroom.hpp>
#include <headroom/io/huggingface.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "../both.hpp"

namespace test_counted_layers {

using namespace headroom;
using namespace headroom::literals;

namespace {

using nlohmann::json;

json config_of(const json& p) {
  json c = p["config"];
  c["architectures"] = p["architectures"];
  return c;
}

/// On a CPU, where tensors cost exactly their bytes.
job job_of(const json& p) {
  job j;
  j.model = io::model_from_config(config_of(p));
  j.hardware.gpu = gpus::cpu;
  j.framework = frameworks::hf_trainer;
  j.framework.autocast.over_16bit = j.framework.attention.copies_output = false;
  j.precision = p["dtype"] == "float32" ? precisions::fp32 : precisions::bf16;
  j.batch = {.micro = p["b"], .sequence = p["s"]};
  if (j.model.max_positions > 0) j.model.max_positions = std::max(j.model.max_positions, j.batch.sequence);  // layers alone were run
  j.attention = p["attention"] == "eager" ? attention::eager : attention::sdpa;
  const auto type = p["config"]["model_type"].get<std::string>();  // dropout: their classes' own, which the counts ran with
  if (type == "m2m_100") j.dropout = {.hidden = {100'000}, .attention = {100'000}};
  if (type == "umt5") j.dropout = {.attention = {100'000}};
  if (type == "marian") j.dropout = {.hidden = {100'000}};
  return j;
}

/// dropout on a CPU keeps a mask in its input's format, where a GPU's has a byte for each element; that of the math path is fp32 in any case.
std::int64_t wider_masks(const job& j, std::int64_t branches, std::int64_t attentions) {
  const std::int64_t tokens = j.batch.micro * j.batch.sequence, width = j.precision.compute.width();
  return (width - 1) * ((j.dropout.hidden.positive() ? branches : 0) * tokens * j.model.hidden + (j.dropout.attention.positive() && j.attention == attention::eager ? attentions : 0) * tokens * j.model.heads * j.batch.sequence);
}

std::int64_t main_layer(const job& j) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  sc.memory_has_gradient = true;
  const auto all = trained_modules(j, 0);
  if (s.model.encoder.layers > 0) return walk_cross_layer(sc, all, true).saved.total.count() + wider_masks(j, 3, 2);
  return walk_layer(sc, s.model.kind_of(s.model.layers - 1), all, s.model.experts.count, true).saved.total.count();
}

/// The table of distances behind its norm: what the embedding saves, less its own norm's input and result, and two numbers for each row of both.
std::int64_t made_of_distances(const scene& sc, const job& j) {
  const auto& m = *sc.model;
  const auto front = walk_forward(embedding(sc, trained_modules(j, -1))).saved.count();
  const auto width = j.precision.compute.width(), tokens = j.batch.micro * j.batch.sequence;
  return front - (m.embedding_norm ? tokens * (m.hidden * width + 2 * width) : 0) - m.relative_buckets * 2 * width;
}

std::int64_t encoder_layer(const job& j) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  const auto stack = encoder_stack(s.model);
  return walk_layer(encoder_scene(sc, stack), trained_modules(j, 0), true).saved.total.count() + wider_masks(j, 2, 1);
}

/// What the first layer that reads it is said to save of what the model makes for all: cosines and sines of a row of positions, the encoder's result,
/// DeBERTa's table of distances behind its norm.
std::int64_t first_extras(const job& j, bool encoder) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  const auto angles = 2 * ops::cosines(sc, mixer_kind::attention, j.batch.sequence).count();
  if (s.model.encoder.layers == 0 || encoder) return angles + (s.model.position == position_kind::disentangled ? made_of_distances(sc, j) : 0);
  const auto stack = encoder_stack(s.model);
  const auto back = encoder_back(encoder_scene(sc, stack), true, true);
  return angles + back.size(back.output()).count();
}

}  // namespace

TEST_CASE("a layer saves what was counted, to the byte") {
  std::ifstream file(std::string(HEADROOM_TEST_DATA) + "/saved_encoders.json");
  REQUIRE(file.good());
  int seen = 0;
  const auto all = json::parse(file)["points"];
  for (const auto& p : all) {
    const std::string name = p["name"];
    CAPTURE(name);
    const auto j = job_of(p);
    CHECK(main_layer(j) == p["saved"]["main"].get<std::int64_t>());
    if (p["saved"].contains("encoder")) CHECK(encoder_layer(j) == p["saved"]["encoder"].get<std::int64_t>());
    if (p["saved"].contains("first")) CHECK(main_layer(j) + first_extras(j, false) == p["saved"]["first"].get<std::int64_t>());
    if (p["saved"].contains("first_encoder")) CHECK(encoder_layer(j) + first_extras(j, true) == p["saved"]["first_encoder"].get<std::int64_t>());
    ++seen;
  }
  CHECK(seen == 29);
}

namespace {

/// The smallest configurations of families without a counted point, and what is asked of them.
json small(const char* type, const char* architecture, const json& more = json::object()) {
  json c = {{"model_type", type}, {"architectures", {architecture}}, {"hidden_size", 64}, {"num_hidden_layers", 4}, {"num_attention_heads", 4}, {"num_key_value_heads", 4}, {"intermediate_size", 96}, {"vocab_size", 100}};
  c.update(more);
  return c;
}

job small_job(const json& config) {
  job j;
  j.model = io::model_from_config(config);
  j.hardware.gpu = gpus::cpu;
  j.framework = frameworks::hf_trainer;
  j.framework.autocast.over_16bit = j.framework.attention.copies_output = false;
  j.precision = precisions::bf16;
  j.batch = {.micro = 2, .sequence = 32};
  j.attention = attention::sdpa;
  return j;
}

std::int64_t head_of(const job& j) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  return walk_forward(encoder_head(sc, trained_modules(j, -1), true)).saved.count();
}

constexpr std::int64_t h = 64, f = 96, tokens = 64, samples = 2, stats = 2 * 2;

}  // namespace

// x and its normalised copy, mean and deviation in bf16 on a CPU; q and k turned into tensors of their own, v a view of all three; the result
// with a log-sum-exp a head; the same norm; gate, up, the function's result and the product.
TEST_CASE("a layer and heads of ModernBERT") {
  const auto j = small_job(small("modernbert", "ModernBertForSequenceClassification"));
  CHECK(main_layer(j) == tokens * (2 * h + stats + 2 * h + 2 * 2 * h + 2 * 3 * h + 2 * h + 4 * 4 + 2 * h + stats + 2 * h + 4 * 2 * f));
  // Without autocast the classes' loss is bf16 as they are, the words' fp32. The final norm; its result, of which the first position is a view; the dense layer's result for GELU; GELU's for the norm; the norm's for the classes.
  constexpr std::int64_t last = tokens * (2 * h + stats + 2 * h), pooled = samples * (2 * h + 2 * h + stats + 2 * h);
  CHECK(head_of(j) == last + pooled + samples * 2 * 2 + 2);
  const auto words = small_job(small("modernbert", "ModernBertForMaskedLM"));
  CHECK(head_of(words) == last + tokens * (2 * h + 2 * h + stats + 2 * h) + tokens * 4 * 100 + 4);
  CHECK(words.model.sliding_window == 128);
  CHECK(words.model.global_every == 3);
}

// NewLayer: x for q, k and v; q and k turned into tensors of their own, v a view of all three; the result with a log-sum-exp a head; the sum for its
// norm and two statistics, the norm's result for gate and up, both halves in one tensor, the function's result, the product; the second sum.
TEST_CASE("a layer of GTE") {
  const auto j = small_job(small("new", "NewModel", {{"type_vocab_size", 0}}));
  CHECK(main_layer(j) == tokens * (2 * h + 2 * 2 * h + 2 * 3 * h + 2 * h + 4 * 4 + 2 * h + stats + 2 * h + 4 * 2 * f + 2 * h + stats));
  CHECK(count(j.model).total.count() == 100 * h + 2 * h + 4 * (4 * (h * h + h) + 3 * h * f + h + 4 * h));
}

TEST_CASE("layers behind ModernBERT's window") {
  auto j = small_job(small("modernbert", "ModernBertForMaskedLM", {{"num_hidden_layers", 22}, {"local_attention", 128}}));
  j.batch = {.micro = 1, .sequence = 8192};
  j.hardware.gpu = gpus::h100_sxm_80gb;
  // Layers 0, 3, ... 21 see all 8192 tokens, the other 14 their window.
  CHECK(attended_pairs(j.model, 8192, causal_convention::half_square) == doctest::Approx((8 * 8192.0 * 8192.0 + 14 * 128.0 * 8192.0) / 22));
  j.model.global_every = 0;
  CHECK(attended_pairs(j.model, 8192, causal_convention::whole_square) == 128.0 * 8192.0);
  const auto listed = [](const json& words) { return io::model_from_config(small("modernbert", "ModernBertModel", {{"layer_types", words}})); };
  constexpr const char *full = "full_attention", *near = "sliding_attention";
  CHECK(listed({full, near, full, near}).global_every == 2);
  CHECK_THROWS_WITH_AS(listed({full, near, near, near, full}), doctest::Contains("config.layer_types must be a list of 4 words"), job_error);
  CHECK_THROWS_WITH_AS(listed({full, near, full, full}), doctest::Contains("found \"full_attention\" at layer 3"), job_error);
}

// ElectraEmbeddings: three tables of 16 columns and a norm over their sum, then a matrix with a bias to 64.
TEST_CASE("an embedding that is narrow throughout") {
  auto j = small_job(small("electra", "ElectraForMaskedLM", {{"embedding_size", 16}, {"max_position_embeddings", 48}}));
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  const auto front = embedding(sc, trained_modules(j, -1));
  CHECK(walk_forward(front).saved == bytes{tokens * (2 * 16 + stats + 2 * 16)});
  CHECK(walk_backward(front).weight_gradients == bytes{2 * (16 * (100 + 48 + 2) + 2 * 16 + 16 * 64 + 64)});
  // The dense layer narrows again: x, its result for GELU, GELU's for the norm, the norm's for the table.
  CHECK(head_of(j) == tokens * (2 * h + 2 * 16 + 2 * 16 + stats + 2 * 16) + tokens * 2 * 100 + 2);
  j.model.embedding_dim = 0;
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("model.narrow_embedding needs an embedding_dim"), job_error);
}

// Counted around transformers' AlbertForMaskedLM of 8 layers that are one, without a loss: all that its forward saved, token numbers and segments in
// int64 included, since no module of the list is a layer of its own there. 1,024 positions.
TEST_CASE("all that ALBERT saves") {
  struct counted {
    bool fp32, eager;
    std::int64_t saved;
  };
  const json config = {{"model_type", "albert"}, {"architectures", {"AlbertForMaskedLM"}}, {"embedding_size", 32}, {"hidden_size", 64}, {"intermediate_size", 48}, {"num_attention_heads", 4},
                       {"num_hidden_layers", 8}, {"vocab_size", 320}, {"max_position_embeddings", 1024}};
  for (const auto& c : {counted{false, false, 3'298'304}, {false, true, 5'362'688}, {true, true, 10'722'304}}) {
    CAPTURE(c.saved);
    auto j = small_job(config);
    j.precision = c.fp32 ? precisions::fp32 : precisions::bf16;
    j.attention = c.eager ? attention::eager : attention::sdpa;
    j.batch.sequence = 128;
    CHECK(count(j.model).total.count() == 70'864);  // 141,728 bytes of bf16
    const auto s = settle(j);
    auto sc = s.layer;
    sc.model = &s.model;
    const std::int64_t words = 256, width = c.fp32 ? 4 : 2, loss = width * (words * 320 + 1);
    CHECK(8 * main_layer(j) + walk_forward(embedding(sc, trained_modules(j, -1))).saved.count() + head_of(j) - loss + 8 * (words + 128) == c.saved);
  }
}

// albert/albert-base-v2, whose AlbertModel has 11,683,584 parameters: 12 layers are one.
TEST_CASE("gradients of layers that are one") {
  json config = {{"model_type", "albert"}, {"architectures", {"AlbertModel"}}, {"embedding_size", 128}, {"hidden_size", 768}, {"intermediate_size", 3072}, {"num_attention_heads", 12}, {"num_hidden_layers", 12},
                 {"vocab_size", 30000}};
  auto j = small_job(config);
  CHECK(count(j.model).total.count() == 11'683'584);
  const auto one = estimate(j).ranks[0];
  // What twelve layers of their own would have: eleven layers' weights, two moments and gradients more, and as much saved.
  config["num_hidden_groups"] = 12;
  const auto apart = small_job(config);
  constexpr std::int64_t layer = 4 * (768 * 768 + 768) + 2 * 768 * 3072 + 3072 + 768 + 4 * 768;
  CHECK(count(apart.model).total.count() == 11'683'584 + 11 * layer);
  const auto twelve = estimate(apart).ranks[0];
  const auto in = [](const rank_report& r, phase p, row of) { return r.at_phase[static_cast<std::size_t>(p)][of].count(); };
  CHECK(in(twelve, phase::step, row::optimizer_state) - in(one, phase::step, row::optimizer_state) == 11 * layer * 4);
  CHECK(in(twelve, phase::step, row::gradients) - in(one, phase::step, row::gradients) == 11 * layer * 2);
  CHECK(in(twelve, phase::loss_forward, row::activations) == in(one, phase::loss_forward, row::activations));
  // Three layers in a row are one: 4 × (its layers' weights), and the last of each three makes the gradient that the others add to.
  config["num_hidden_groups"] = 4;
  const auto four = small_job(config);
  CHECK(count(four.model).total.count() == 11'683'584 + 3 * layer);
  CHECK(in(estimate(four).ranks[0], phase::step, row::gradients) - in(one, phase::step, row::gradients) == 3 * layer * 2);
  // Under autocast a matrix is cast once, however often it runs: eleven layers' matrices less, in bf16.
  const auto cast_of = [](job of) {
    of.precision = precisions::bf16_autocast;
    return of;
  };
  constexpr std::int64_t matrices = 4 * 768 * 768 + 2 * 768 * 3072;
  const auto wide = estimate(cast_of(j)).ranks[0], wider = estimate(cast_of(apart)).ranks[0];
  const auto casts = in(wider, phase::loss_forward, row::gathered_parameters) - in(wide, phase::loss_forward, row::gathered_parameters);
  CHECK(casts >= 11 * matrices * 2);
  CHECK(casts <= 11 * (matrices + 4 * 768 + 3072 + 768) * 2);  // and what of their biases is cast
  CHECK(in(wide, phase::backward, row::gathered_parameters) < 2 * (matrices + 128 * 768 + 768 * 768) + 100'000);
  j.batch.accumulation = 2;
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("layers that run several times (model.distinct_layers) are modelled on one GPU"), job_error);
  j.batch.accumulation = 1;
  j.model.distinct_layers = 5;
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("model.distinct_layers must divide model.layers"), job_error);
}

// Counted around ElectraForPreTraining without labels: 301,056 bytes outside the layers. With them, in fp32: each score's two places, the chosen score
// and its target.
TEST_CASE("ELECTRA's discriminator") {
  const json config = {{"model_type", "electra"}, {"architectures", {"ElectraForPreTraining"}}, {"vocab_size", 101}, {"embedding_size", 48}, {"hidden_size", 96}, {"num_hidden_layers", 6}, {"num_attention_heads", 2},
                       {"intermediate_size", 64}};
  auto j = small_job(config);
  j.batch.sequence = 192;
  constexpr std::int64_t words = 384, numbers = 8 * (words + 192);
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  const auto front = walk_forward(embedding(sc, trained_modules(j, -1))).saved.count();
  CHECK(numbers + front + head_of(j) - words * (16 + 2 + 4) == 301'056);
  CHECK(count(j.model).total.count() == 344'209);
  CHECK_NOTHROW(estimate(j));
  j.model.classes = 2;
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("model.scored_tokens needs model.classes 1"), job_error);
}

// The same network by hand: where xIELU's numbers are frozen, what only their gradient reads is not saved.
TEST_CASE("xIELU without its own gradients") {
  const auto all = small_job(small("apertus", "ApertusForCausalLM"));
  auto frozen = all;
  frozen.trainable = {{.modules = all_linear}, {.modules = {module::norm}}};
  CHECK(main_layer(all) - main_layer(frozen) == tokens * 2 * f);
  auto sparse = all;
  sparse.model.mlp = mlp_kind::gated;
  CHECK_THROWS_WITH_AS(estimate(sparse), doctest::Contains("xielu (model.activation) is modelled for eager dense layers"), job_error);
}

// Of each pair of positions and head: content by content, and two products with the table of 128 rows, of which pairs gather theirs. Under autocast
// softmax's result is fp32, and the layer casts the table for queries and for keys.
TEST_CASE("a layer of DeBERTa under autocast, by hand") {
  const json third = {{"relative_attention", true}, {"share_att_key", true}, {"pos_att_type", {"c2p", "p2c"}}, {"norm_rel_ebd", "layer_norm"}, {"position_biased_input", false}, {"max_position_embeddings", 64}};
  auto j = small_job(small("deberta-v2", "DebertaV2Model", third));
  j.precision = precisions::bf16_autocast;
  j.dropout = {.hidden = {100'000}, .attention = {100'000}};
  constexpr std::int64_t pairs = samples * 4 * 32 * 32, rows = 128;
  constexpr std::int64_t projected = tokens * (3 * 2 * h + 4 * 2 * h), to_rows = 2 * (2 * samples * rows * h + 2 * tokens * 4 * rows), indices = 2 * 8 * 32 * 32;
  constexpr std::int64_t scores = pairs * (4 + 1 + 2) + samples * 32 * 32, roots = 3 * 2, dropped_table = rows * h + 2 * 2 * rows * h;
  constexpr std::int64_t rest = tokens * (2 * h + h + 4 * h + 8 + 2 * h + 2 * 2 * f + h + 4 * h + 8);  // the result; masks, both norms, GELU's input and result
  constexpr std::int64_t weights = 2 * (4 * h * h + 2 * h * f);
  CHECK(main_layer(j) == projected + to_rows + indices + scores + roots + dropped_table + rest + weights);
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {module::q_proj, module::v_proj}, .format = formats::bf16};
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("adapter.targets must be without q_proj and k_proj"), job_error);
  j.adapter.targets = {module::v_proj, module::o_proj};
  CHECK_NOTHROW(estimate(j));
  CHECK_THROWS_WITH_AS((void)io::model_from_config(small("deberta-v2", "DebertaV2Model", {{"relative_attention", true}})), doctest::Contains("config.share_att_key must be true"), job_error);
}

TEST_CASE("scores that no kernel computes are written out, whatever the job says, and the report says so") {
  auto j = small_job(small("mpnet", "MPNetModel", {{"max_position_embeddings", 64}}));
  j.attention = attention::eager;
  const auto eager = estimate(j);
  j.attention = attention::flash;
  const auto flash = estimate(j);
  CHECK(flash.ranks[0].allocated == eager.ranks[0].allocated);
  CHECK(flash.assumptions.has(assumption::attention_eager_for_softcap));
  CHECK_FALSE(eager.assumptions.has(assumption::attention_eager_for_softcap));
  auto plain = j;
  plain.model.relative_buckets = 0;
  CHECK(estimate(plain).ranks[0].allocated < flash.ranks[0].allocated);
}

TEST_CASE("what these families' layers cannot be") {
  for (const auto& [type, architecture] : {std::pair{"modernbert", "ModernBertModel"}, {"bitnet", "BitNetForCausalLM"}, {"apertus", "ApertusForCausalLM"}}) {
    auto j = small_job(small(type, architecture));
    j.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8};
    CHECK_NOTHROW(estimate(j));
    j.framework = frameworks::torchtitan_202508;
    CHECK_THROWS_AS(estimate(j), job_error);
    j.framework = frameworks::megatron;
    CHECK_THROWS_AS(estimate(j), job_error);
  }
  const auto refuses = [](const json& config, const char* sentence) { CHECK_THROWS_WITH_AS((void)io::model_from_config(config), doctest::Contains(sentence), job_error); };
  refuses(small("bitnet", "BitNetForCausalLM", {{"quantization_config", {{"quant_method", "bitnet"}}}}), "config.quantization_config must be absent");
  refuses(small("albert", "AlbertModel", {{"num_hidden_groups", 3}}), "config.num_hidden_groups must divide num_hidden_layers, 4");
  refuses(small("albert", "AlbertModel", {{"inner_group_num", 2}}), "config.inner_group_num must be 1");
  refuses(small("albert", "AlbertForNextSentencePrediction"), "a class that ALBERT does not have");
  refuses(small("eurobert", "EuroBertForSequenceClassification"), "config.classifier_pooling must be \"bos\" or \"mean\"");
  refuses(small("nomic_bert", "NomicBertModel", {{"prenorm", true}}), "config.prenorm must be false");
  refuses(small("nomic_bert", "NomicBertModel", {{"num_experts", 8}}), "config.num_experts describes experts");
  refuses(small("nomic_bert", "NomicBertModel", {{"activation_function", "gelu"}}), "config.activation_function must be \"swiglu\"");
  refuses(small("modernbert", "ModernBertForMaskedLM", {{"decoder_bias", false}}), "config.decoder_bias must be true");
  refuses(small("modernbert", "ModernBertModel", {{"classifier_bias", true}}), "config.classifier_bias must be false");
}

}  // namespace test_counted_layers
