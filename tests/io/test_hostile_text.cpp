// Distributed under the Boost Software License, Version 1.0.
// Whatever stands in a file, a terminal obeys nothing of the sentence about it.
#include <doctest/doctest.h>
#include <headroom/io/admission.hpp>
#include <headroom/io/measured.hpp>
#include <headroom/io/plan_reader.hpp>
#include <headroom/io/search_reader.hpp>

#include "imported.hpp"

namespace test_hostile_text {

using namespace headroom;
using io::json_value;

const std::string texts[] = {"\x1b[2J", "a\nb", "a\rb", std::string("a\0b", 3), "\x7f", "\xc2\x9b" "31m", "\xe2\x80\xae" "txt.exe", "\xe2\x80\x8f", "\xe2\x81\xa6", "\xe2\x80\xa8", "\xef\xbb\xbf", "\xf3\xa0\x81\x81"};
const std::string no_text[] = {"\xff\xfe", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x80"};

/// Nothing of `texts` is in it, nor of `no_text`: nlohmann::json writes valid UTF-8 alone.
bool plain(const std::string& sentence) {
  for (const auto* seen : {"\xc2\x9b", "\xe2\x80\xae", "\xe2\x80\x8f", "\xe2\x81\xa6", "\xe2\x80\xa8", "\xef\xbb\xbf", "\xf3\xa0\x81\x81"})
    if (sentence.find(seen) != std::string::npos) return false;
  for (const char c : sentence)
    if ((static_cast<unsigned char>(c) < 0x20) || c == 0x7f) return false;
  try {
    return !json_value(sentence).dump().empty();
  } catch (const std::exception&) {
    return false;
  }
}

/// Refused in a plain sentence, or read.
template <class Read>
void check(const std::string& what, Read&& read) {
  CAPTURE(json_value(what).dump(-1, ' ', true, json_value::error_handler_t::replace));
  try {
    read();
  } catch (const headroom::error& e) {
    CHECK(plain(e.what()));
  }
}

TEST_CASE("text of strangers is written out") {
  CHECK(io::printable("plain, Größe, 模型") == "plain, Größe, 模型");
  CHECK(io::printable("\x1b[2J") == "\\x1b[2J");
  CHECK(io::printable(std::string("\0\n", 2)) == "\\x00\\x0a");
  CHECK(io::printable("\xe2\x80\xae") == "\\u202e");
  CHECK(io::printable("\xc2\x9b") == "\\u009b");
  CHECK(io::printable("\xf3\xa0\x81\x81") == "\\U000e0041");
  CHECK(io::printable("\xff" "a\xc0\xaf") == "\\xffa\\xc0\\xaf");
  CHECK(io::printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // half a surrogate pair
  CHECK(io::in_quotes("Größe", 3) == "\"Gr…\"");              // cut where a character ends
  for (const auto& t : texts) CHECK(plain(io::printable(t)));
  for (const auto& t : no_text) CHECK(plain(io::printable(t)));
}

TEST_CASE("jobs, searches, configurations, plans and measured runs quote nothing as it stands") {
  const json_value job = {{"model", "llama-3.1-8b"}, {"framework", "deepspeed"}, {"batch", {{"sequence", 8}}}, {"hardware", {{"gpu", "h100-sxm-80gb"}}}, {"sharding", {{"kind", "zero"}, {"stage", 2}}}};
  for (const auto& t : texts) {
    std::vector<json_value> jobs;
    for (const auto* key : {"model", "framework", "precision", "optimizer", "recompute", "attention", "recurrence", "sharding", "adapter", "trainable", "batch", "hardware"})
      for (const auto& v : {json_value(t), json_value{{t, 1}}, json_value{{"name", t}}, json_value{{"kind", t}}, json_value{{"base", t}}, json_value::array({t})}) {
        jobs.push_back(job);
        jobs.back()[key] = v;
      }
    for (const auto& model : {json_value{{"layers", 2}, {"hidden", 64}, {"heads", 2}, {"vocab", 8}, {"ffn", 8}, {"name", t}}, json_value{{"model_type", t}}, json_value{{"architectures", {t}}},
                              json_value{{"model_type", "llama"}, {"hidden_act", t}}, json_value{{"model_type", "llama"}, {t, t}, {"_name_or_path", t}}}) {
      jobs.push_back(job);
      jobs.back()["model"] = model;
    }
    jobs.push_back(job);
    jobs.back()["hardware"]["gpu"] = {{"name", t}, {"memory_gib", 80}};
    jobs.push_back({{t, t}});
    for (const auto& j : jobs) {
      const auto text = j.dump();
      check(text, [&] {
        const auto read = io::read_job(io::parse_json(text, t));
        CHECK(plain(std::string{read.model.label.view()}));
        CHECK(plain(std::string{read.hardware.gpu.label.view()}));
      });
      check(text, [&] { (void)io::read_search(j); });
      check(text, [&] { (void)io::read_measured(json_value{{"id", t}, {"job", j}, {t, 1}}.dump(), t); });
      check(text, [&] { (void)io::read_plans(j, t); });
      CHECK(plain(io::admit({.job = text}).sentence));
    }
  }
  for (const auto& t : no_text) {
    CHECK(plain(io::admit({.job = "{\"model\": \"" + t + "\"}"}).sentence));
    check(t, [&] { (void)io::parse_json("{\"" + t + "\": " + t, t); });
  }
}

TEST_CASE("files of other programs quote nothing as it stands") {
  const auto imports = [](const std::string& file, const std::string& text) { check(file + ": " + text, [&] { (void)imported::job_of({{file, text}}, imported::llama); }); };
  for (const auto& all : {std::span<const std::string>{texts}, std::span<const std::string>{no_text}})
    for (const auto& t : all) {
      const bool valid = all.data() == std::data(texts);
      const auto quoted = valid ? json_value(t).dump(-1, ' ', true) : '"' + t + '"';  // YAML and TOML know JSON's escapes, too
      for (const auto* key : {"model_name_or_path", "per_device_train_batch_size", "deepspeed", "optim", "bf16", "cutoff_len"}) {
        imports("a.yaml", "per_device_train_batch_size: 1\n" + std::string{key} + ": " + quoted + "\n" + quoted + ": 1\n");
        imports("a.json", "{\"per_device_train_batch_size\": 1, \"" + std::string{key} + "_\": " + quoted + ", " + quoted + ": 1}");
      }
      imports("a.yaml", "base_model: " + quoted + "\nadapter: " + quoted + "\n");
      imports("a.yaml", "a: !" + t + " 1\n");
      imports("a.toml", "[training]\nsteps = " + quoted + "\n[parallelism]\n" + quoted + " = 1\n");
      imports("a.toml", "[training]\n" + t + " = 1\n");
      for (const std::string& word : {"--" + t, "--model_name_or_path " + t, "--model_name_or_path '" + t + "'", "--deepspeed " + t, "--bf16 " + t, "$'" + t + "'", "${" + t + "}", "$((" + t + "))"})
        for (const auto* start : {"deepspeed --num_gpus 8 train.py ", "torchrun pretrain_gpt.py ", "accelerate launch sft.py ", "srun ", "eval "}) imports("a.sh", start + word + "\n");
      imports("a.sh", "A" + t + "=1\n#SBATCH --nodes=" + t + "\n#SBATCH --" + t + "\nwhile read " + t + "; do deepspeed train.py; done <<" + t + "\n");
      imports(".env", "NCCL_" + t + "=1\nOMP_NUM_THREADS=" + t + "\n");
      imports(t, "deepspeed train.py --" + t);
    }
}

#if HEADROOM_HAS_YAML
TEST_CASE("a refusal says its line, whatever the key became") {
  const auto begins = [](const std::string& file, const std::string& text, const std::string& sentence) {
    const auto said = imported::refusal_of({{file, text}}, imported::llama);
    CAPTURE(said);
    CHECK(said.starts_with("headroom: " + file + ":" + sentence));
  };
  const std::string swift = "NPROC_PER_NODE=2 \\\nmegatron sft --model Qwen/Qwen2.5-7B-Instruct --max_length 512 ";
  begins("a.sh", swift + "--tuner_type x\n", "2: tuner_type must not be \"x\"");
  begins("a.sh", swift + "--micro_batch_size '\x1b'\n", "2: micro_batch_size must be a whole number");
  begins("a.sh", swift + "--virtual_pipeline_model_parallel_size -1\n", "2: virtual_pipeline_model_parallel_size must be");
  const std::string megatron = "torchrun pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --max-position-embeddings 128 --vocab-size 1000 --micro-batch-size 1 ";
  begins("a.sh", megatron + "--intra-layer-model-parallel-size x\n", "1: tensor-model-parallel-size must be a whole number");
  begins("a.sh", megatron + "--activations-checkpoint-num-layers x --activations-checkpoint-method uniform\n", "1: recompute-num-layers must be");
  begins("a.yaml", "base_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 1\nsequence_len: 64\noptimizer: x\nflash_attention: true\nbf16: true\n", "4: optim must not be \"x\"");
  begins("a.yaml", "base_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 1\nrl: grpo\ntrl:\n  max_completion_length: 8\n  num_iterations: -1\nflash_attention: true\nbf16: true\n", "4: num_iterations must be");
  begins("a.yaml", "model_name_or_path: qwen2.5-7b\nfinetuning_type: freeze\nfreeze_trainable_layers: 2\nfreeze_trainable_modules: x\nbf16: true\n", "3: trainable[0].modules[0] must not be \"x\"");
}
#endif

TEST_CASE("a configuration's own lists and sections are what they must be") {
  const auto why = [](const std::string& more) {
    return imported::refusal_of({{"config.json", R"({"model_type": "qwen3", "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 100)" + more + "}"}},
                                {"framework=deepspeed", "batch.sequence=8", "hardware.gpus_per_node=1"});
  };
  CHECK(why("") == "");
  for (const auto* none : {"null", "[\"full_attention\", \"full_attention\"]"}) CHECK(why(std::string{", \"layer_types\": "} + none) == "");
  CHECK(why(", \"quantization_config\": null") == "");
  for (const auto* value : {"\"x\"", "1", "true", "\"\""}) {
    CHECK(why(std::string{", \"quantization_config\": "} + value).starts_with("headroom: config.json:1: quantization_config must be an object, found "));
    CHECK(why(std::string{", \"layer_types\": "} + value).starts_with("headroom: config.json:1: layer_types must be a list of words, one for each layer, found "));
  }
}

TEST_CASE("the fuzzer's first texts are refused in plain sentences, or read") {
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator{std::string{HEADROOM_TEST_DATA} + "/hostile"}) {
    const auto text = io::read_file(file.path());
    check(file.path().filename().string(), [&] { (void)imported::job_of({{file.path().filename().string(), text}}, imported::llama); });
    CHECK(plain(io::admit({.job = text}).sentence));
    ++files;
  }
  CHECK(files >= 25);
  const auto refusal = [](const std::string& name) { return imported::refusal_of({{name, io::read_file(std::string{HEADROOM_TEST_DATA} + "/hostile/" + name)}}); };
  CHECK(refusal("doubling.sh").find("expand to more than 4 MiB") != std::string::npos);
  CHECK(refusal("dotted.toml").find("a key has more than 64 parts") != std::string::npos);
  CHECK(refusal("job-outside.json").find("neither a name") != std::string::npos);
}

}  // namespace test_hostile_text
