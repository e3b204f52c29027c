// Distributed under the Boost Software License, Version 1.0.
// A small GPT that learns the bytes of a text on LibTorch, with the largest micro-batch that a budget of memory allows: headroom says
// which, and what each phase will take. Every tensor is counted while it trains; predicted and counted are printed side by side.
//   headroom_trainer --text README.md --budget 24 --steps 100
#include "trainer/step.hpp"

#include <CLI/CLI.hpp>
#include <headroom/headroom.hpp>
#include <headroom/solve/solve.hpp>

#include <unistd.h>

#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>

namespace {

using namespace headroom;

struct settings {
  std::string text{"README.md"};
  std::int64_t budget_mib{24}, steps{100}, layers{4}, hidden{64}, sequence{64};
  bool recompute{};
};

/// The model and how it is trained, for a "GPU" that is a share of this machine's memory.
job job_of(const settings& s) {
  job j;
  j.model = {.label = "byte-gpt", .layers = s.layers, .hidden = s.hidden, .heads = 4, .ffn = 4 * s.hidden, .mlp = mlp_kind::plain,
             .activation = activation_kind::gelu, .norm = norm_kind::layernorm, .norm_bias = true, .attention_bias = true, .output_bias = true,
             .mlp_bias = true, .position = position_kind::learned, .max_positions = s.sequence, .vocab = 256, .tied = true};
  j.hardware.gpu = gpus::cpu;
  j.hardware.gpu.memory = bytes{s.budget_mib << 20};
  j.framework = frameworks::libtorch_cpp;
  j.precision = precisions::fp32;
  j.optimizer = optimizers::adamw;
  j.batch = {.micro = 1, .sequence = s.sequence};
  if (s.recompute) j.recompute = recompute::full;
  j.attention = attention::eager;
  return j;
}

/// Fills both with the next samples of the text, which starts over at its end.
void read_batch(const std::string& text, std::size_t& at, torch::Tensor& numbers, torch::Tensor& targets) {
  const auto length = static_cast<std::size_t>(numbers.size(1));
  for (std::int64_t i = 0; i < numbers.size(0); ++i) {
    if (at + length + 1 > text.size()) at = 0;
    auto* in = numbers.data_ptr<std::int64_t>() + i * numbers.size(1);
    auto* out = targets.data_ptr<std::int64_t>() + i * numbers.size(1);
    for (std::size_t k = 0; k < length; ++k) {
      in[k] = static_cast<unsigned char>(text[at + k]);
      out[k] = static_cast<unsigned char>(text[at + k + 1]);
    }
    at += length;
  }
}

void show_progress(std::int64_t done, std::int64_t all, double loss) {
  if (isatty(STDERR_FILENO) == 0) return;
  constexpr std::int64_t width = 40;
  const auto full = static_cast<std::size_t>(width * done / all);
  std::cerr << "\r  [" << std::string(full, '=') << std::string(static_cast<std::size_t>(width) - full, ' ') << "] " << done << '/' << all << "  loss "
            << std::fixed << std::setprecision(3) << loss << (done == all ? "\n" : "") << std::flush;
}

/// The tallest moments of all steps but the first, in which the optimizer has no state yet.
struct peaks {
  std::int64_t built{}, forward{}, loss{}, backward{}, update{};
};

struct outcome {
  peaks counted{};
  double first_loss{}, last_loss{};
};

outcome train(const job& j, const std::string& text, std::int64_t steps) {
  trainer::set_up(1);
  const trainer::counting bytes;
  trainer::decoder model(trainer::plan_of(j));
  outcome o;
  o.counted.built = bytes->live();
  torch::optim::AdamW optimizer(model.parameters(), torch::optim::AdamWOptions(2e-3));
  auto numbers = torch::zeros({j.batch.micro, j.batch.sequence}, torch::kLong), targets = torch::zeros_like(numbers);
  const auto keep = [](std::int64_t& most, std::int64_t now) { most = std::max(most, now); };
  std::size_t at = 0;
  for (std::int64_t i = 0; i < steps; ++i) {
    read_batch(text, at, numbers, targets);
    optimizer.zero_grad();
    const auto seen = trainer::run(model, numbers, targets, 1.0, *bytes, &o.last_loss);
    bytes->take_peak();
    optimizer.step();
    const auto update = bytes->take_peak();
    show_progress(i + 1, steps, o.last_loss);
    if (i == 0) {
      o.first_loss = o.last_loss;
      continue;
    }
    keep(o.counted.forward, seen.forward_peak);
    keep(o.counted.loss, seen.loss_peak);
    keep(o.counted.backward, seen.backward_peak);
    keep(o.counted.update, update);
  }
  return o;
}

/// Prints one line; whether both are the same.
bool compare(const char* what, bytes predicted, std::int64_t counted) {
  std::cout << "  " << std::left << std::setw(18) << what << std::right << std::setw(14) << predicted.count() << std::setw(14) << counted
            << (predicted.count() == counted ? "" : "  differs") << '\n';
  return predicted.count() == counted;
}

bool compare_all(const report& r, const peaks& counted) {
  const auto& rank = r.ranks[0];
  std::cout << "\n  bytes                  predicted       counted\n";
  bool same = compare("model", rank[phase::load], counted.built);
  same = compare("forward", rank[phase::forward], counted.forward) && same;
  same = compare("loss", rank[phase::loss_forward], counted.loss) && same;
  same = compare("backward", rank[phase::backward], counted.backward) && same;
  same = compare("update", rank[phase::step], counted.update) && same;
  const auto tallest = std::max({counted.forward, counted.loss, counted.backward, counted.update});
  return compare("peak", rank.allocated, tallest) && same;
}

std::string read_text(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

int main(int count, char** arguments) try {
  settings s;
  CLI::App app{"Trains a small GPT within a budget of memory that headroom keeps. Exit code: 0 if every byte was predicted"};
  app.add_option("--text", s.text, "what is learned, byte by byte")->capture_default_str()->check(CLI::ExistingFile);
  app.add_option("--budget", s.budget_mib, "MiB of tensors")->capture_default_str()->check(CLI::Range(1, 1 << 20));
  app.add_option("--steps", s.steps)->capture_default_str()->check(CLI::Range(2, 1'000'000));
  app.add_option("--layers", s.layers)->capture_default_str()->check(CLI::Range(1, 128));
  app.add_option("--hidden", s.hidden, "of 4 heads")->capture_default_str()->check(CLI::Range(4, 1 << 14));
  app.add_option("--sequence", s.sequence, "bytes of a sample")->capture_default_str()->check(CLI::Range(1, 1 << 16));
  app.add_flag("--recompute", s.recompute, "recompute layers in backward: larger batches, more time");
  CLI11_PARSE(app, count, arguments);

  const auto text = read_text(s.text);
  if (text.size() <= static_cast<std::size_t>(s.sequence)) {
    std::cerr << "headroom: " << s.text << " is shorter than a sample and the byte after it; --sequence " << s.sequence << '\n';
    return 2;
  }
  auto j = job_of(s);
  const auto found = solve(j, unknowns::micro_batch);
  if (found.value < 1) {
    std::cerr << "headroom: not even one sample of " << s.sequence << " bytes fits in " << s.budget_mib << " MiB\n";
    return 2;
  }
  j.batch.micro = found.value;
  const auto r = estimate(j);
  std::cout << "  " << r.parameter_count.total.count() << " parameters, " << s.budget_mib << " MiB: " << j.batch.micro << " samples of " << s.sequence
            << " bytes fit, with " << r.headroom().count() / 1024 << " KiB to spare\n";
  const auto o = train(j, text, s.steps);
  std::cout << "  loss " << std::fixed << std::setprecision(3) << o.first_loss << " at first, " << o.last_loss << " after " << s.steps << " steps\n";
  return compare_all(r, o.counted) ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << e.what() << '\n';
  return 2;
}
