// Distributed under the Boost Software License, Version 1.0.
// Small readers by themselves: what words, numbers and lists of other programs' keys become, and where each ends.
#include <headroom/io/job/lengths.hpp>
#include <headroom/io/job/model_hints.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/io/launchers/import_inputs.hpp>
#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/settle/evaluation.hpp>
#include <headroom/io/launchers/swift/zero.hpp>
#include <headroom/io/launchers/trainer/optimizers.hpp>

#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <vector>

namespace test_small_readers {

using namespace headroom;
using io::json_value;

namespace {

json_value json(const std::string& text) { return io::parse_json(text, "expected"); }
/// What a reader of named values makes of an object, or its refusal.
template <class Read>
std::string of_values(const std::string& text, const Read& read) {
  const io::document from{.source = "a.yaml", .root = json(text), .lines = {}};
  io::detail::named_values v(from, std::int64_t{1} << 31);
  try {
    return read(v);
  } catch (const error& e) {
    return e.what();
  }
}
std::string projected(const std::string& args, const std::string& more = {}) {
  return of_values(R"({"optim_args": ")" + args + "\"" + more + "}", [](auto& v) {
    json_value o = json_value::object();
    io::detail::read_projection(v, o);
    return o.dump();
  });
}
bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
job deepspeed(const std::string& options) {
  return io::read_job(json(R"({"model": "llama-2-13b", "framework": {"name": "deepspeed", "options": )" + options + R"(}, "hardware": {"gpu": "a100-sxm-80gb", "gpus_per_node": 8}, "sharding": {"kind": "zero", "stage": 2}, "batch": {"sequence": 2048}})"),
                      io::no_files);
}

}  // namespace

// swift/config/zero2.json and zero3_offload.json of modelscope/ms-swift.
TEST_CASE("ms-swift's shipped configurations of DeepSpeed") {
  using io::detail::swift_zero;
  const std::string open = R"("fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"}, "gradient_accumulation_steps": "auto", "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto")";
  CHECK(*swift_zero("zero2", false) == json("{" + open + R"(, "zero_optimization": {"stage": 2, "overlap_comm": false, "contiguous_gradients": true, "offload_optimizer": {"device": "none", "pin_memory": true},
    "allgather_bucket_size": 2e8, "reduce_scatter": true, "reduce_bucket_size": 2e8}})"));
  CHECK(*swift_zero("zero3_offload", false) == json("{" + open + R"(, "zero_optimization": {"stage": 3, "overlap_comm": false, "contiguous_gradients": true, "offload_optimizer": {"device": "cpu", "pin_memory": true},
    "offload_param": {"device": "cpu", "pin_memory": true}, "sub_group_size": 1e9, "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto",
    "stage3_max_live_parameters": 1e9, "stage3_max_reuse_distance": 1e9}})"));
  CHECK_FALSE(swift_zero("zero0", false)->at("zero_optimization").contains("offload_optimizer"));
  CHECK(swift_zero("zero1", false)->at("zero_optimization").contains("offload_optimizer"));
  CHECK(swift_zero("zero2_offload", false)->at("zero_optimization").at("offload_optimizer").at("device") == "cpu");
  CHECK_FALSE(swift_zero("zero1_offload", false));
  CHECK_FALSE(swift_zero("zero4", false));
  CHECK(swift_zero("default-zero2", true)->at("zero_optimization").at("overlap_comm") == true);
  CHECK_FALSE(swift_zero("default-zero2", false));
}

TEST_CASE("GaLore's and APOLLO's arguments") {
  CHECK(projected("") == R"({"rank":128})");
  CHECK(projected("rank=64, update_proj_gap=100") == R"({"rank":64,"update_interval":100})");
  CHECK(projected("rank=64,scale=0.25,scale_type=channel,proj_type=std,proj=random") == R"({"rank":64})");
  CHECK(holds(projected("proj_type=reverse_std"), "optim_args \"proj_type=reverse_std\" is not modelled"));
  CHECK(holds(projected("proj=svd"), "optim_args \"proj=svd\" is not modelled"));
  CHECK(holds(projected("ranks=1"), "accepted: rank, update_proj_gap, scale"));
  for (const auto* wrong : {"rank", "rank=", "rank=0", "rank=-1", "rank=2x", "rank=1.5", "update_proj_gap=0"}) CHECK(holds(projected(wrong), "must have a whole number from 1"));
  const auto targets = [](const std::string& said) { return projected("rank=1", R"(, "optim_target_modules": )" + said); };
  for (const auto* all : {R"("all")", R"("mlp,attn")", R"("mlp self_attn")", R"(["attn", "mlp"])", R"([".*.self_attn.*", ".*.mlp.*"])"})
    CHECK(targets(all) == R"({"rank":1})");
  for (const auto* some : {R"("mlp")", R"("attn")", R"("attn,self_attn")", R"("all,mlp")", R"("mlp,attn,lm_head")", R"("all-linear")"}) CHECK(holds(targets(some), "every linear layer but the head is projected"));
}

TEST_CASE("words that are true and false in Python") {
  const auto truth = [](const std::string& said) { return of_values(R"({"k": )" + said + "}", [](auto& v) { return v.on("k") ? "yes" : "no"; }); };
  for (const auto* yes : {"true", "1", R"("True")", R"("YES")", R"("t")", R"("y")", R"("1")"}) CHECK(truth(yes) == "yes");
  for (const auto* no : {"false", "0", R"("False")", R"("NO")", R"("f")", R"("n")", R"("0")", "null"}) CHECK(truth(no) == "no");
  for (const auto* neither : {"2", R"("maybe")", "0.5", "[]"}) CHECK(holds(truth(neither), "must be true or false"));
  CHECK(of_values(R"({"k": "x"})", [](auto& v) {
    auto said = v.word("k", "y");
    said += v.word("l", "y");
    return said + (v.taken("l") ? "t" : "") + (v.taken("m") ? "t" : "") + (v.has("l") ? "h" : "");
  }) == "xyt");
  CHECK(of_values(R"({"k": 3})", [](auto& v) { return v.word_now("k") + std::to_string(10 * v.number("k", 5) + v.number("l", 5)); }) == "35");
}

TEST_CASE("lengths as they are put into buckets: each its own up to 16, else by shares, rounded up") {
  const auto of = [](std::int64_t different) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(different));
    std::iota(all.begin(), all.end(), 1);
    sample_lengths l;
    io::detail::fill_histogram(l, all);
    return l;
  };
  const auto sixteen = of(16);
  CHECK(sixteen.buckets == 16);
  CHECK(sixteen.histogram[15] == length_bucket{16, 16, 1});
  // 17 different ones: 1.7 samples are a tenth, so 2; then up to 3.4, 5.1, 6.8, 8.5, 10.2, 11.9, 13.6, 14.45, 15.3, 16.15 and all.
  const auto more = of(17);
  CHECK(more.histogram[0] == length_bucket{1, 2, 2});
  CHECK(more.histogram[1] == length_bucket{3, 4, 2});
  CHECK(more.histogram[2] == length_bucket{5, 6, 2});
  CHECK(more.histogram[3] == length_bucket{7, 7, 1});
  CHECK(more.buckets <= 16);
  // Of 20 each tenth is 2, to the sample; then 17, 18, 19 and the longest.
  const auto twenty = of(20);
  CHECK(twenty.buckets == 12);
  CHECK(twenty.histogram[0] == length_bucket{1, 2, 2});
  CHECK(twenty.histogram[7] == length_bucket{15, 16, 2});
  CHECK(twenty.histogram[8] == length_bucket{17, 17, 1});
  CHECK(twenty.histogram[11] == length_bucket{20, 20, 1});
}

TEST_CASE("names of quantised checkpoints") {
  CHECK(io::quantised_hint("Qwen/Qwen2.5-7B-Instruct").empty());
  CHECK(holds(io::quantised_hint("Qwen/Qwen2.5-7B-Instruct-AWQ"), "give \"qwen2.5-7b\" as the model"));
  CHECK(holds(io::quantised_hint("somebody/unheard-of-GPTQ-Int4"), "give the model that was quantised, a name of the zoo or its config.json,"));
  CHECK(io::without_quantisation("a-gptq-int4") == "a");  // the longest ending
  CHECK(io::without_quantisation("-awq") == "-awq");       // nothing is left of it
}

// DeepSpeed's config-json: "bfloat16" is the older name of bf16's section; grad_accum_dtype is fp32, fp16 or bf16 (its own sources say "bfp16", too).
TEST_CASE("DeepSpeed's formats by each of their names") {
  CHECK(deepspeed(R"({"bfloat16": {"enabled": true}})").precision == precisions::bf16_mixed);
  CHECK(deepspeed(R"({"bf16": {"enabled": true}})").precision == precisions::bf16_mixed);
  CHECK(deepspeed(R"({"fp16": {"enabled": true}})").precision == precisions::fp16_mixed);
  CHECK(deepspeed(R"({"fp16": {"enabled": false}, "bf16": {"enabled": false}})").precision == precisions::fp32);
  CHECK(deepspeed(R"({"bf16": {"enabled": false}})").precision == precisions::fp32);
  CHECK_FALSE(deepspeed(R"({"bf16": {"enabled": "auto"}})").precision.set());
  CHECK_FALSE(deepspeed(R"({"fp16": {"enabled": false}, "bf16": {"enabled": "auto"}})").precision.set());
  for (const auto* word : {"bf16", "bfp16"}) CHECK(deepspeed(R"({"bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": ")" + std::string{word} + R"("}})").precision.gradients == formats::bf16);
  CHECK(deepspeed(R"({"bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": "fp32"}})").precision.gradients == formats::fp32);
  CHECK_THROWS_WITH_AS((void)deepspeed(R"({"data_types": {"grad_accum_dtype": "fp64"}})"), doctest::Contains("\"fp32\", \"fp16\" or \"bf16\""), job_error);
  CHECK_THROWS_WITH_AS((void)deepspeed(R"({"fp16": {"enabled": true}, "bf16": {"enabled": true}})"), doctest::Contains("must not both be enabled"), job_error);
}

TEST_CASE("FP8 recipes of Megatron-LM's options") {
  const auto megatron = [](const std::string& recipe) {
    return io::read_job(json(R"({"model": "llama-3.1-8b", "framework": {"name": "megatron", "options": {"fp8-format": "hybrid", "fp8-recipe": ")" + recipe + R"("}}, "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8},
      "batch": {"sequence": 2048}, "attention": "flash"})"), io::no_files).framework.fp8;
  };
  CHECK(megatron("tensorwise").scaling == fp8_scaling::tensor);
  CHECK(megatron("tensorwise").names_recipe);
  CHECK(megatron("delayed").scaling == fp8_scaling::tensor);
  CHECK_FALSE(megatron("delayed").names_recipe);
  CHECK(megatron("blockwise").scaling == fp8_scaling::block);
  CHECK(megatron("mxfp8").scaling == fp8_scaling::block);
  CHECK_THROWS_WITH_AS((void)megatron("rowwise"), doctest::Contains("fp8-recipe"), job_error);
}

// ViTEmbeddings and CLIPVisionEmbeddings: one row for each patch and one for the class token; SigLIP has no such token; Qwen2-VL turns instead.
TEST_CASE("a tower's table of positions has as many rows as its images have patches") {
  const auto rows = [](const std::string& kind, int image, int patch) {
    const auto text = R"({"model": {"layers": 2, "hidden": 64, "heads": 2, "ffn": 128, "vocab": 100, "vision": {"kind": ")" + kind + R"(", "layers": 1, "hidden": 64, "heads": 2, "ffn": 128, "projector": "mlp", "patch": )" +
                      std::to_string(patch) + R"(, "image": )" + std::to_string(image) + R"(}}, "batch": {"sequence": 8}})";
    return io::read_job(json(text)).model.vision.positions;
  };
  CHECK(rows("clip", 336, 14) == 24 * 24 + 1);
  CHECK(rows("vit", 224, 16) == 14 * 14 + 1);
  CHECK(rows("siglip", 224, 14) == 16 * 16);
  CHECK(rows("internvit", 448, 14) == 32 * 32 + 1);
  CHECK(rows("qwen2-vl", 448, 14) == 0);
}

TEST_CASE("how a text is written shows at its beginning, where its file's name does not say it") {
  const auto of = [](const char* text) { return io::syntax_of(text, "file", io::file_kind::unknown); };
  CHECK(of("model_type: llama\nbf16: true\n") == io::syntax::yaml);
  CHECK(of("model:\n  name: llama\n") == io::syntax::yaml);
  CHECK(of("torchrun train.py --a b:c\n") == io::syntax::shell);
  CHECK(of("#!/bin/sh\n# usage: run\n") == io::syntax::shell);
  CHECK(of("--num-layers 4\n") == io::syntax::shell);
  CHECK(of(" {\"a\": 1}") == io::syntax::json);
  CHECK(of("[model]\n") == io::syntax::toml);
}

TEST_CASE("an evaluation is left out beside an encoder, of one layer too") {
  for (const int layers : {0, 1, 2}) {
    io::draft d;
    auto model = json(R"({"layers": 2, "hidden": 64, "heads": 4, "kv_heads": 1, "ffn": 128, "vocab": 1000})");
    if (layers > 0) model["encoder"] = {{"layers", layers}};
    d.say({"model"}, model, "a.sh:1");
    d.say({"batch", "micro"}, 4, "a.sh:1");
    d.evaluates = io::draft_facts::evaluated_examples{.batch = 4, .key = "eval_strategy", .place = "a.sh:1", .keys = json_value::object()};
    io::detail::settle_evaluation(d);
    CHECK(d.has({"evaluation"}) == (layers == 0));
  }
}

}  // namespace test_small_readers
