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

TEST_CASE("steps that are right within 300 KiB of 1 to 10 GiB") {
  constexpr const char* exact[] = {
      "llama", "llama-accumulation", "llama-lora", "llama-lora-qv-autocast", "llama-autocast", "llama-fp16-autocast",
      "llama-evaluation", "llama-adafactor", "llama-sgd", "qwen3-lora-qv-autocast", "qwen3-next", "qwen3.5-moe",
      "qwen3-moe-autocast", "mistral-lora-qv-autocast", "granite", "nemotron", "lfm2-moe", "lfm2-moe-recompute",
      "olmo3", "glm4-moe", "mixtral", "exaone4", "gemma4-lora-qv-autocast",
      "gemma3-lora-recompute",
  };
  for (const auto* name : exact) {
    const auto r = std::find_if(rows().rows.begin(), rows().rows.end(), [&](const judged& one) { return one.what == io::metric::allocated && one.name == name; });
    CAPTURE(name);
    REQUIRE(r != rows().rows.end());
    CHECK(std::abs(r->predicted - r->measured) < 300 * 1024);
  }
}

}  // namespace test_trainer_measured
