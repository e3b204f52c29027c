// Distributed under the Boost Software License, Version 1.0.
// Steps of transformers.Trainer itself (transformers 5.17.0, peft 0.21.0, torch 2.11.0, one H100), measured by `measure.py trainer`, beside what replay() says.
#include <headroom/io/job_reader.hpp>
#include <headroom/io/measured.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace test_trainer_measured {

using namespace headroom;

namespace {

struct judged {
  std::string name;  ///< of the job
  io::metric what{};
  double measured{}, predicted{};
  bool inside{};  ///< of the range of 95 %
  [[nodiscard]] double error() const { return std::abs(predicted / measured - 1); }
};

struct all_rows {
  std::vector<judged> rows;
  int refused{};
};
all_rows read(const std::string& name) {
  all_rows found;
  std::ifstream file(std::string{HEADROOM_TEST_DATA} + "/../accuracy/" + name);
  REQUIRE(file);
  for (std::string line; std::getline(file, line);) {
    const auto r = io::read_measured(line, name);
    try {
      const auto p = io::predict(replay(io::read_job(r.job, io::file_base{})), r.what, r.rank, 0.95);
      found.rows.push_back({r.id.substr(8, r.id.rfind('-') - 8), r.what, r.value, p.value, p.low <= r.value && r.value <= p.high});
    } catch (const job_error&) {
      ++found.refused;
    }
  }
  return found;
}
const all_rows& rows() {
  static const auto all = read("trainer_measured.jsonl");
  return all;
}

std::vector<double> errors(io::metric what, const all_rows& of = rows()) {
  std::vector<double> found;
  for (const auto& r : of.rows)
    if (r.what == what) found.push_back(r.error());
  std::sort(found.begin(), found.end());
  return found;
}
double share_inside(io::metric what, const all_rows& of = rows()) {
  double all = 0, inside = 0;
  for (const auto& r : of.rows)
    if (r.what == what) ++all, inside += r.inside ? 1 : 0;
  return inside / all;
}
double at(const std::vector<double>& sorted, double share) { return sorted.at(static_cast<std::size_t>(share * static_cast<double>(sorted.size()))); }

}  // namespace

TEST_CASE("steps of transformers.Trainer of 5.17: live tensors") {
  const auto all = errors(io::metric::allocated);
  CHECK(all.size() >= 350);
  CHECK(rows().refused <= 14);
  CHECK(at(all, 0.5) < 0.0003);
  CHECK(at(all, 0.75) < 0.0015);
  CHECK(at(all, 0.9) < 0.0026);
}

TEST_CASE("… and what the allocator took") {
  const auto all = errors(io::metric::reserved);
  CHECK(all.size() >= 350);
  CHECK(at(all, 0.5) < 0.008);
  CHECK(at(all, 0.9) < 0.056);
  CHECK(share_inside(io::metric::reserved) > 0.925);
}

TEST_CASE("… and under expandable segments") {
  const auto expandable = read("trainer_expandable.jsonl");
  const auto all = errors(io::metric::reserved, expandable);
  CHECK(all.size() == 141);
  CHECK(expandable.refused == 0);
  CHECK(at(all, 0.5) < 0.005);
  CHECK(at(all, 0.9) < 0.05);
  CHECK(share_inside(io::metric::reserved, expandable) > 0.91);
}

TEST_CASE("families, each with its worst step") {
  struct held {
    const char* family;
    double worst;
  };
  // clang-format off
  constexpr held families[] = {
      {"llama", 0.0003}, {"qwen2", 0.0038}, {"qwen3", 0.0023}, {"gemma2", 0.0041}, {"gemma3", 0.0049}, {"gemma3n", 0.0016},
      {"gemma4", 0.0231}, {"mistral", 0.0003}, {"phi3", 0.0133}, {"gpt2", 0.0059}, {"qwen3-moe", 0.0001}, {"qwen3-next", 0.0001},
      {"gpt-oss", 0.0022}, {"qwen3.5", 0.0287}, {"deepseek-v3", 0.0035}, {"deepseek-v2", 0.0002}, {"mixtral", 0.0001}, {"lfm2", 0.0022},
      {"lfm2-moe", 0.0001}, {"olmo-hybrid", 0.0037}, {"granite", 0.0021}, {"granite-4-h", 0.0021}, {"falcon-h1", 0.0031}, {"bamba", 0.0025},
      {"nemotron-h", 0.0033}, {"jamba", 0.0018}, {"mamba", 0.0072}, {"mamba2", 0.0015}, {"opt", 0.0004}, {"phi", 0.0003},
      {"pythia", 0.0003}, {"cohere", 0.0001}, {"stablelm", 0.0003}, {"starcoder2", 0.0002}, {"nemotron", 0.0033}, {"olmo", 0.0037},
      {"bloom", 0.0010}, {"gptj", 0.0003}, {"gpt-bigcode", 0.0019}, {"vaultgemma", 0.0016}, {"nanochat", 0.0013}, {"ernie4.5-moe", 0.0029},
      {"glm4-moe", 0.0005}, {"smollm3", 0.0007}, {"dots1", 0.0002}, {"modernbert", 0.0025},
      {"bert", 0.0015}, {"roberta", 0.0012}, {"xlm-roberta", 0.0017}, {"electra", 0.0015}, {"distilbert", 0.0030}, {"albert", 0.0040},
      {"deberta-v3", 0.0051}, {"bart", 0.0006}, {"t5", 0.0083}, {"flan-t5", 0.0114}, {"whisper", 0.0022}, {"llava", 0.0025},
      {"smolvlm", 0.0028}, {"idefics3", 0.0001}, {"paligemma", 0.0105}, {"pixtral", 0.0001}, {"mistral3", 0.0002}, {"gemma3-vl", 0.0024},
      {"internvl3", 0.0009}, {"qwen2-vl", 0.0002}, {"qwen2.5-vl", 0.0018}, {"qwen3-vl", 0.0023},
      {"falcon", 0.0073}, {"hunyuan", 0.0002}, {"minimax", 0.0002},
  };
  // clang-format on
  std::map<std::string, double> worst;
  for (const auto& r : rows().rows)
    if (r.what == io::metric::allocated)
      for (const auto& f : families)
        if (r.name == f.family || r.name.starts_with(std::string{f.family} + "-")) worst[f.family] = std::max(worst[f.family], r.error());
  for (const auto& f : families) {
    CAPTURE(f.family);
    CHECK(worst[f.family] < f.worst);
    CHECK(worst[f.family] > 0);
  }
}

/// Of 1 to 10 GiB each: weights of 16 bits without autocast, tables that are tied, capped logits, adapters in some layers alone, experts, and what else there is.
TEST_CASE("steps that are right within 300 KiB to 2.4 MiB") {
  struct near {
    std::int64_t kib;
    const char* names;
  };
  constexpr near all[] = {
      {300, "deepseek-v2-recompute deepseek-v3-eager dots1-autocast exaone4 falcon-mamba gemma2-autocast-recompute gemma3-lora-recompute "
            "gemma3-vl gemma3n-autocast gemma4-lora-qv-autocast glm4-moe glm4-moe-autocast glm4-moe-recompute gpt-oss-accumulation "
            "gpt-oss-recompute granite granite-4 granite-4-autocast granite-4-recompute granite-autocast helium lfm2-moe lfm2-moe-autocast "
            "lfm2-moe-recompute llama llama-accumulation llama-adafactor llama-adagrad llama-adamw-foreach llama-autocast "
            "llama-bf16-and-autocast llama-classification llama-eager llama-eager-padded llama-evaluation llama-fp16-autocast llama-long "
            "llama-lora llama-lora-qv-autocast llama-lora-recompute llama-padded llama-reentrant llama-rmsprop llama-sgd llama-untied "
            "llama-vocab-128256 mamba mistral-fp32 mistral-lora-qv-autocast mixtral mixtral-autocast mixtral-recompute nemotron olmo3 "
            "olmo3-autocast olmoe-autocast phi3-autocast qwen3-autocast qwen3-lora-qv-autocast qwen3-moe-autocast qwen3-moe-autocast-recompute "
            "qwen3-moe-lora-qv-autocast qwen3-next qwen3.5-eager qwen3.5-moe smollm3-autocast"},
      {700, "afmoe apertus bitnet cohere cwm dots1 ernie4.5-moe-recompute exaone-moe gemma2-accumulation gemma2-autocast granite-recompute "
            "hunyuan hunyuan-moe idefics3 llama-autocast-recompute llama-fp32 llama-recompute llama4 minimax minimax-m2 ministral "
            "ministral-autocast ministral3 ministral3-autocast ministral3-recompute mistral mistral-accumulation mistral-autocast "
            "mistral-autocast-recompute mistral-bf16-and-autocast mistral-eager mistral-lora mistral-lora-recompute mistral-padded "
            "mistral-reentrant olmoe olmoe-recompute phi3 phi3-accumulation phi3-bf16-and-autocast phi3-lora phi3-lora-recompute phi3-padded "
            "phi3-recompute phi3-reentrant phimoe phimoe-autocast pixtral qwen2-autocast qwen3 qwen3-accumulation qwen3-bf16-and-autocast "
            "qwen3-classification qwen3-eager qwen3-lora qwen3-lora-recompute qwen3-moe qwen3-moe-accumulation qwen3-moe-bf16-and-autocast "
            "qwen3-moe-eager qwen3-moe-padded qwen3-moe-recompute qwen3-moe-reentrant qwen3-padded qwen3-recompute qwen3-reentrant "
            "qwen3-vocab-151936 smollm3 t5 youtu"},
      {1400, "deepseek-v2 deepseek-v3-autocast-recompute deepseek-v3-reentrant dots1-recompute ernie4.5 gemma gemma2-lora-recompute "
             "gemma3-padded glm-autocast glm4-autocast gpt-oss gpt-oss-fp32 internvl3 internvl3-recompute llama-b8 llama-evaluation-loss-only "
             "mistral-recompute olmo olmo2 olmo2-autocast olmo2-recompute olmo3-recompute opt phi phi3-autocast-recompute pythia "
             "qwen2-accumulation qwen2-moe qwen2-padded qwen2-vl qwen3-autocast-recompute qwen3-fp32 qwen3-moe-fp32 roberta-autocast seed-oss "
             "starcoder2 xlm-roberta-autocast"},
      {2400, "arcee bart bert deberta-v3 deepseek-v2-autocast deepseek-v3-autocast deepseek-v3-fp32 distilbert distilbert-recompute electra "
             "gemma2 gemma2-bf16-and-autocast gemma2-lora-qv-autocast gemma3-reentrant glm4-moe-lite-autocast gpt-oss-bf16-and-autocast "
             "gpt-oss-padded gpt2 gpt2-accumulation gpt2-autocast gpt2-bf16-and-autocast gpt2-eager gpt2-fp32 gpt2-lora gpt2-padded gptj "
             "granitemoe granitemoe-autocast jamba jamba-recompute lfm2-recompute llava-recompute ministral-recompute mistral3 qwen2 qwen2-fp32 "
             "qwen2-lora qwen2-lora-recompute qwen2-moe-autocast qwen2-moe-recompute qwen2-recompute qwen3.5-autocast-recompute roberta smolvlm "
             "stablelm"},
  };
  std::size_t held = 0;
  for (const auto& one : all) {
    std::istringstream names{one.names};
    for (std::string name; names >> name; ++held) {
      const auto r = std::find_if(rows().rows.begin(), rows().rows.end(), [&](const judged& row) { return row.what == io::metric::allocated && row.name == name; });
      CAPTURE(name);
      REQUIRE(r != rows().rows.end());
      CHECK(std::abs(r->predicted - r->measured) < static_cast<double>(one.kib * 1024));
    }
  }
  CHECK(held == 218);
}

}  // namespace test_trainer_measured
