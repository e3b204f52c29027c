// Distributed under the Boost Software License, Version 1.0.
// Megatron's models beyond GPT, counted by hand from its modules: what a layer of each kind keeps for backward, and how many parameters a
// rank has. T tokens, h hidden, I feed-forward, n heads, t tensor-parallel ranks; a dropout's mask is one byte an element.
// Sources: Megatron-LM core/ssm/mamba_mixer.py, core/models/bert/bert_model.py, core/models/T5/t5_model.py; mamba_ssm ops/triton/ssd_combined.py.
#include <headroom/headroom.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

namespace test_megatron_models {

using namespace headroom;

namespace {

/// A GPT's block with biases, on GPUs of one node.
job plain(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t tensor) {
  job j;
  j.model = {.layers = layers, .hidden = hidden, .heads = heads, .ffn = 4 * hidden, .mlp = mlp_kind::plain, .activation = activation_kind::gelu, .norm = norm_kind::layernorm,
             .norm_bias = true, .attention_bias = true, .output_bias = true, .mlp_bias = true, .position = position_kind::learned, .max_positions = 1024,
             .vocab = 50257, .vocab_multiple = 128, .tied = true};
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = tensor};
  j.framework = frameworks::megatron;
  j.parallel = {.data = 1, .tensor = tensor};
  j.batch = {.micro = 4, .sequence = 1024};
  j.attention = attention::te;
  j.dropout = {{100'000}, {100'000}, {100'000}};
  return j;
}

/// The functional tests' stack: 20 M, 4 *, 20 - (hybrid_mr_mcore_te_*).
job hybrid(std::int64_t tensor) {
  auto j = plain(44, 1024, 16, tensor);
  j.model.kv_heads = 8;
  j.model.ssm = {.heads = 32, .head_dim = 64, .state = 128, .groups = 8, .conv = 4, .chunk = 128, .conv_bias = true};
  for (const char letter : std::string_view{"M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M-"})
    j.model.pattern.add(letter == 'M'   ? layer_kind{mixer_kind::mamba2, feed_forward_kind::none}
                        : letter == '*' ? layer_kind{mixer_kind::attention, feed_forward_kind::none}
                                        : layer_kind{mixer_kind::none, feed_forward_kind::dense});
  return j;
}

job bert(std::int64_t tensor) {
  auto j = plain(24, 1024, 16, tensor);
  j.model.max_positions = 512;
  j.model.vocab = 28996;
  j.model.bidirectional = j.model.pooler = true;
  j.model.token_types = 2;
  j.model.head = head_kind::masked_language;
  j.batch.sequence = 512;
  return j;
}

job t5(std::int64_t tensor) {
  auto j = plain(12, 768, 12, tensor);
  j.model.max_positions = 512;
  j.model.vocab = 29096;
  j.model.encoder = {.layers = 12, .sequence = 512, .cross_attention = true};
  j.batch.sequence = 128;
  return j;
}

std::int64_t saved_by(const job& j, layer_kind kind) {
  const auto s = settle(j);
  auto sc = s.layer;
  sc.model = &s.model;
  sc.granule = 1;
  return detail::walk_divided_layer(sc, trained_modules(j, -1), kind, false).saved.total.count();
}
std::int64_t weights_of_a_rank(const job& j) {
  const auto s = settle(j);
  const auto w = detail::weights_of_stage(s, weights_of(s.model), j.parallel.pipeline - 1);
  return (w.dense + w.experts).count();
}

constexpr layer_kind M{mixer_kind::mamba2, feed_forward_kind::none}, star{mixer_kind::attention, feed_forward_kind::none}, dash{mixer_kind::none, feed_forward_kind::dense},
    whole{mixer_kind::attention, feed_forward_kind::dense};
constexpr std::int64_t T = 4 * 1024, h = 1024;

}  // namespace

// d = 32 · 64 = 2048, the projection's 2 · 2048 + 2 · 8 · 128 + 32 = 6176 features.
TEST_CASE("a Mamba-2 letter keeps the norm's input and result, the projection, the scan before and after its gate, the norm's result and a mask") {
  for (const std::int64_t t : {1, 2, 4}) {
    const auto divided = 2 * T * 6176 + 3 * 2 * T * 2048 + 4 * T * 8;  // and a root for each of 8 groups
    CHECK(saved_by(hybrid(t), M) == 2 * 2 * T * h + 8 * T + divided / t + T * h);
  }
}

// One sample needs no copies, which are as large as what they are copied from.
TEST_CASE("one sample's Mamba-2 letter keeps the same of a token") {
  auto one = hybrid(2);
  one.batch.micro = 1;
  CHECK(4 * saved_by(one, M) == saved_by(hybrid(2), M));
}

TEST_CASE("a letter of attention or of an MLP is half a layer, with a norm and a mask of its own") {
  for (const std::int64_t t : {1, 2}) {
    const auto attention = 2 * T * (16 + 2 * 8) * 64 + 2 * T * 16 * 64 + 4 * T * 16;
    CHECK(saved_by(hybrid(t), star) == 2 * 2 * T * h + 8 * T + attention / t + T * h);
    CHECK(saved_by(hybrid(t), dash) == 2 * 2 * T * h + 8 * T + 2 * 2 * T * 4096 / t + T * h);
  }
}

// 20 × (1024 · 6176 + 5 · 4096 + 3 · 32 + 2048 + 2048 · 1024 + 2 · 1024) + 4 × (1024 · 2048 + 2048 + 1024² + 1024 + 2048) +
// 20 × (8 · 1024² + 4096 + 1024 + 2048) + 50304 · 1024 + 1024² + 2048
TEST_CASE("a hybrid stack's weights: all of a Mixer but its norm in front are divided") {
  CHECK(weights_of_a_rank(hybrid(1)) == 402'001'792);
  // Vectors of 1024 in every letter are whole: the norms' 44 · 2 and the last one's 2, biases of 24 row-parallel layers; positions are.
  const std::int64_t undivided = 44 * 2048 + 2048 + 24 * 1024 + 1024 * 1024;
  const std::int64_t padded = (50432 - 50304) * 1024;  // rows of the vocabulary for 256 at a time
  CHECK(weights_of_a_rank(hybrid(2)) == undivided + (402'001'792 - undivided + padded) / 2);
}

// Megatron-LM's BERT of "345 million" (its README): 24 × (12 · 1024² + 13 · 1024) + 29056 · 1024 + (512 + 2) · 1024 + 2 · 1024, before the
// output a layer and a norm, 1024² + 3 · 1024, and 29056 biases; for pairs of sentences 1024² + 1024, and 2 · 1024 + 2.
TEST_CASE("BERT's weights: the layer before its output and the pooler are whole on every rank") {
  CHECK(weights_of_a_rank(bert(1)) == 334'723'458);
  const std::int64_t heads = 2 * 1024 * 1024 + 3 * 1024 + 1024 + 2 * 1024 + 2;
  const std::int64_t undivided = heads + 514 * 1024 + 2 * 1024 + 24 * 6 * 1024;  // a layer's two norms and two biases
  const std::int64_t padded = (29184 - 29056) * 1025;
  CHECK(weights_of_a_rank(bert(4)) == undivided + (334'723'458 - undivided + padded) / 4);
}

// At the loss: the logits and their copy in fp32, 6 bytes each. Before it the last norm's input, and four tensors that GPT has not.
TEST_CASE("BERT's head keeps four tensors of the stream that tensor parallelism does not divide") {
  for (const std::int64_t t : {1, 4}) {
    const auto s = settle(bert(t));
    const auto layers = walk_divided_layers(s);
    const std::int64_t rows = 4 * 512, x = 2 * rows * h;
    CHECK(layers.head_saved.total.count() / 1024 == (5 * x + 2 * 8 * rows + 4 * rows * s.layer.vocabulary / t + 9 * rows) / 1024);
  }
}

// TransformerEngine fills rows of padding with zeros, whose mask (4 · 512²) is kept; before 1.10, and in Megatron's own attention, it does not.
TEST_CASE("an encoder's attention keeps a mask of padding where TransformerEngine writes it out") {
  auto j = bert(1);
  j.attention = attention::eager;
  const std::int64_t rows = 4 * 512, scores = 4 * 16 * 512 * 512;
  const std::int64_t layer = 34 * rows * h + 5 * scores + 16 * rows;
  CHECK(saved_by(j, whole) == layer + 4 * 512 * 512);
  j.environment.torch = 202;
  CHECK(saved_by(j, whole) == layer);
  j.environment.torch = 0;
  j.framework.modules.kind = layer_modules::megatron_local;
  CHECK(saved_by(j, whole) == layer);
}

// 12 × (12 · 768² + 13 · 768) + 12 × (16 · 768² + 19 · 768) + 29184 · 768 + 512 · 768 + 4 · 768 + 29184 (29096 padded to 128: 29184)
TEST_CASE("T5's weights: one embedding and one table of positions for both stacks") { CHECK(weights_of_a_rank(t5(1)) == 221'314'560); }

// A decoder's layer: a GPT's of its 4 · 128 tokens, and the attention to 4 · 512: a norm's input and result, q, k and v, the scores (5 bytes
// with dropout, and the mask of padding), the result and a mask.
TEST_CASE("a layer of T5's decoder keeps keys and values as long as the encoder's text") {
  for (const std::int64_t t : {1, 2}) {
    auto j = t5(t);
    j.attention = attention::eager;
    const std::int64_t own = 4 * 128, read = 4 * 512, w = 768;
    const auto gpt = 10 * own * w + 24 * own * w / t + 5 * (4 * 12 / t) * 128 * 128 + 16 * own;
    const auto cross = 2 * 2 * own * w + 8 * own + 2 * 2 * own * w / t + 2 * 2 * read * w / t + 5 * (4 * 12 / t) * 128 * 512 + 4 * 128 * 512 + own * w;
    CHECK(saved_by(j, whole) == gpt + cross);
  }
}

// 9 letters four times, then 8 that differ in the last but one.
TEST_CASE("a job of a hybrid stack, written as a file, is the same job when it is read") {
  auto j = hybrid(1);
  j.model.pattern = j.model.pattern.shortest();
  const auto read = io::read_job(io::job_to_json(j), io::no_files);
  CHECK(read.model == j.model);
  CHECK(read.model.kind_of(43) == dash);
  CHECK(read.model.kind_of(42) == M);
}

TEST_CASE("what these models are not modelled with is refused") {
  const auto refused = [](job j, const auto& change) {
    change(j);
    return static_cast<bool>(objection_to(j));
  };
  CHECK_FALSE(objection_to(hybrid(2)));
  CHECK_FALSE(objection_to(bert(2)));
  CHECK_FALSE(objection_to(t5(2)));
  CHECK(refused(hybrid(1), [](job& j) { j.recompute.mode = recompute_mode::selective, j.recompute.modules = 1; }));
  CHECK(refused(hybrid(1), [](job& j) { j.model.ssm.groups = 1, j.parallel.tensor = 2, j.hardware.gpus_per_node = 2; }));
  CHECK(refused(hybrid(1), [](job& j) { j.sharding = megatron_fsdp(); }));
  CHECK(refused(hybrid(1), [](job& j) { j.model.pattern.add({mixer_kind::gated_delta_net, feed_forward_kind::none}), j.model.layers = 45; }));
  CHECK(refused(bert(1), [](job& j) { j.model.norm_after = true; }));
  CHECK(refused(bert(2), [](job& j) { j.parallel.tensor = 1, j.parallel.context = 2; }));
  CHECK(refused(t5(2), [](job& j) { j.parallel.tensor = 1, j.parallel.pipeline = 2; }));
  CHECK(refused(t5(1), [](job& j) { j.recompute.mode = recompute_mode::full; }));
}

}  // namespace test_megatron_models
