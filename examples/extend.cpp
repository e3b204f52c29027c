// Distributed under the Boost Software License, Version 1.0.
// Everything that can be added from outside, without touching a header of the library: a number format, an optimizer, a GPU, a
// framework, a layer (alone, and beside the library's), and a pipeline schedule. All of it is known to the compiler.
#include <headroom/headroom.hpp>

#include <cstdio>

using namespace headroom::literals;
using headroom::bytes;

namespace mine {

// Values: whatever has the right members goes into a job.

/// Six bits an element, and one 8-bit scale for every 32 (the OCP microscaling formats).
constexpr headroom::number_format mxfp6{.label = "mxfp6", .bits = 6, .block = 32, .scale_bits = 8};

/// Adan (Xie et al. 2022, algorithm 1): three moments of every weight. Here they are kept in blocks of eight bits.
constexpr headroom::optimizer adan_8bit{.label = "adan-8bit", .moments = 3, .state = headroom::formats::int8_blockwise, .plain_below = 4096};

constexpr headroom::gpu card{.label = "my-card-64gb", .memory = 64 * headroom::gib, .compute_capability = 90, .bandwidth_gb_s = 2000};

constexpr headroom::profile trainer_of(headroom::profile p) {
  p.label = "my-trainer";
  p.norm.style = headroom::norm_style::fused;
  p.optimizer.how = headroom::implementation::fused;
  p.loss.style = headroom::loss_style::in_place;
  return p;
}
constexpr headroom::profile trainer = trainer_of(headroom::frameworks::libtorch);

/// A layer: a gated state-space mixer (after Gu & Dao 2023, Mamba, figure 3), then an MLP with a squared ReLU. Each part is a
/// program: its tensors, and the operations that read, make and save them. Nothing else has to be told: what is alive when, and
/// what a recomputed layer costs, is found by walking it. By its label a model's pattern names it.
struct mixer_layer {
  std::int64_t inner;  ///< width of the mixer
  std::int64_t state;  ///< numbers of state for each feature
  std::int64_t rank;   ///< of the step sizes

  constexpr void add_weights(headroom::inventory& list, const headroom::shape& m, const headroom::layer_span& layers) const {
    using headroom::module;
    const auto matrix = [&](module role, std::int64_t out, std::int64_t in) {
      list.add({.role = role, .rows = out, .columns = in, .layers = layers, .linear = true});
    };
    const auto vector = [&](module role, std::int64_t size) { list.add({.role = role, .rows = size, .layers = layers}); };
    vector(module::norm, m.hidden);
    matrix(module::q_proj, 2 * inner, m.hidden);         // into the mixer, and its gate
    list.add({.role = module::k_proj, .rows = inner, .columns = 4, .layers = layers});  // a convolution over four positions
    matrix(module::v_proj, rank + 2 * state, inner);     // step sizes, B and C
    list.add({.role = module::v_proj, .rows = inner, .columns = rank, .layers = layers});
    list.add({.role = module::v_proj, .rows = inner, .columns = state, .layers = layers});
    vector(module::v_proj, inner);
    matrix(module::o_proj, m.hidden, inner);
    vector(module::norm, m.hidden);
    matrix(module::up_proj, m.ffn, m.hidden);
    matrix(module::down_proj, m.hidden, m.ffn);
  }

  static constexpr std::string_view label() { return "mixer"; }
  static constexpr int parts() { return 2; }
  /// Of the scan, for its time: nine for each feature and number of state (VMamba, vmamba.py flops_selective_scan_fn).
  [[nodiscard]] constexpr double flops(const headroom::scene& s) const { return 9.0 * static_cast<double>(s.tokens) * static_cast<double>(inner * state); }
  [[nodiscard]] constexpr headroom::program part(int i, const headroom::scene& s, const headroom::module_set& trained, bool flows) const {
    namespace ops = headroom::ops;
    headroom::program p(s.granule);
    const auto h = s.model->hidden;
    const auto x = p.input(s.tokens * h, s.residual_width, flows);
    const auto n = ops::norm(p, s, x, h, trained.has(headroom::module::norm));
    p.set_output(ops::add(p, x, i == 0 ? mix(p, s, trained, n) : feed_forward(p, s, trained, n)));
    return p;
  }

 private:
  constexpr headroom::tensor mix(headroom::program& p, const headroom::scene& s, const headroom::module_set& trained, headroom::tensor x) const {
    namespace ops = headroom::ops;
    const auto wide = s.tokens * inner;
    const auto both = ops::linear(p, s, trained, headroom::module::q_proj, x, s.model->hidden, 2 * inner, false);
    const auto u = p.view(both, wide), gate = p.view(both, wide);
    p.step(both.bit(), u | gate);  // a split
    const auto convolved = p.make(wide, s.width);
    p.step(u.bit(), convolved.bit(), {.saves = u.bit(), .weight_gradient = p.rounded(4 * inner, s.weight_width)});
    const auto small = ops::linear(p, s, trained, headroom::module::v_proj, convolved, inner, rank + 2 * state, false);
    // The scan in one kernel. Its states are not written out: one is kept for every 2048 positions, and made again in backward.
    const auto scanned = p.make(wide, s.width);
    const auto kept = p.make(s.samples * ((s.sequence + 2047) / 2048) * inner * state, 4);
    p.step(convolved | small, scanned | kept,
           {.saves = convolved | small | kept, .backward_temporary = p.rounded(wide, 4), .weight_gradient = p.rounded(inner * (rank + state + 1), s.weight_width)});
    const auto gated = ops::multiply(p, scanned, ops::activate(p, s, gate, headroom::activation_kind::silu));
    return ops::linear(p, s, trained, headroom::module::o_proj, gated, inner, s.model->hidden, false);
  }
  static constexpr headroom::tensor feed_forward(headroom::program& p, const headroom::scene& s, const headroom::module_set& trained, headroom::tensor x) {
    namespace ops = headroom::ops;
    const auto& m = *s.model;
    const auto up = ops::linear(p, s, trained, headroom::module::up_proj, x, m.hidden, m.ffn, false);
    const auto positive = ops::activate(p, s, up, headroom::activation_kind::relu);
    const auto squared = ops::multiply(p, positive, positive);
    return ops::linear(p, s, trained, headroom::module::down_proj, squared, m.ffn, m.hidden, false);
  }
};

/// A pipeline schedule: 1F1B in which no stage holds more than so many micro-batches. It waits more, and holds less.
struct patient_1f1b {
  std::int64_t most;
  template <class Visit>
  constexpr void run(const headroom::pipeline_plan& p, std::int64_t stage, Visit&& visit) const {
    using headroom::work_kind;
    auto warm = p.stages - stage < most ? p.stages - stage : most;
    if (warm > p.micros) warm = p.micros;
    for (std::int64_t i = 0; i < warm; ++i) visit({work_kind::forward, 0, i});
    for (std::int64_t i = 0; i < p.micros; ++i) {
      visit({work_kind::backward, 0, i});
      if (i + warm < p.micros) visit({work_kind::forward, 0, i + warm});
    }
  }
};

}  // namespace mine

// A layer, a GPU, an optimizer and a trainer in one job.

constexpr headroom::job mixer_job{
    .model = {.label = "mixer-3b", .layers = 48, .hidden = 2560, .heads = 1, .ffn = 6400, .position = headroom::position_kind::none, .vocab = 50280, .tied = true},
    .hardware = {.gpu = mine::card},
    .framework = mine::trainer,
    .optimizer = mine::adan_8bit,
    .batch = {.micro = 4, .sequence = 2048},
    .recompute = headroom::recompute::full,
};
constexpr auto with_mixer = headroom::estimate(mixer_job, mine::mixer_layer{.inner = 5120, .state = 16, .rank = 160});
static_assert(with_mixer.fits());
static_assert(with_mixer.parameter_count.total ==
              headroom::parameters{50280 * 2560 + 2560 + std::int64_t{48} * (2 * 2560 + 3 * 5120 * 2560 + 5120 * (4 + 192 + 160 + 16 + 1) + 2 * 2560 * 6400)});

// The same layer in a hybrid: three of four layers mix, the fourth is the library's own with attention.

constexpr headroom::job hybrid_of(headroom::job j) {
  j.model.label = "hybrid-3b";
  j.model.heads = 20;
  for (int i = 0; i < 3; ++i) j.model.pattern.add_own("mixer");
  j.model.pattern.add({});
  j.hardware.gpu = headroom::gpus::h100_sxm_80gb;  // whose speeds are known, too
  return j;
}
constexpr headroom::job hybrid_job = hybrid_of(mixer_job);
constexpr headroom::own_layers mine_in_hybrid{mine::mixer_layer{.inner = 5120, .state = 16, .rank = 160}};
constexpr auto hybrid = headroom::estimate(hybrid_job, mine_in_hybrid);
static_assert(hybrid.parameter_count.total - with_mixer.parameter_count.total ==  // twelve attentions and gated MLPs instead of mixers and plain ones
              headroom::parameters{std::int64_t{12} * (4 * 2560 * 2560 + 2560 * 6400 - 3 * 5120 * 2560 - 5120 * (4 + 192 + 160 + 16 + 1))});
constexpr auto hybrid_time = headroom::cost(hybrid_job, mine_in_hybrid);

// A number format: the frozen base of an adapter.

constexpr headroom::job adapted{
    .model = headroom::models::llama_3_1_8b,
    .hardware = {.gpu = mine::card},
    .batch = {.sequence = 2048},
    .recompute = headroom::recompute::full,
    .adapter = {.kind = headroom::adapter_kind::lora, .rank = 16, .targets = headroom::all_linear, .format = headroom::formats::bf16, .base = mine::mxfp6},
};
static_assert(headroom::estimate(adapted).peak() < 20_GiB);

// A schedule.

constexpr headroom::job piped{
    .model = headroom::models::llama_3_1_70b,
    .hardware = {.gpu = headroom::gpus::h100_sxm_80gb, .nodes = 4, .gpus_per_node = 8},
    .framework = headroom::frameworks::megatron,
    .parallel = {.tensor = 8, .sequence = true, .pipeline = 4},
    .sharding = {.kind = headroom::sharding_kind::megatron_distributed_optimizer},
    .batch = {.micro = 2, .sequence = 8192, .accumulation = 16},
};
constexpr auto usual = headroom::estimate(piped);
constexpr auto patient = headroom::estimate(piped, mine::patient_1f1b{.most = 2});
static_assert(patient.ranks[0].allocated < usual.ranks[0].allocated);
static_assert(patient.ranks[3] == usual.ranks[3]);  // the last stage never holds more than one

int main() {
  const auto gib = [](bytes b) { return static_cast<double>(b.count()) / static_cast<double>(headroom::gib.count()); };
  std::printf("%s on %s: %.2f GiB, the tallest moment in layer %d\n", mixer_job.model.label.text, mine::card.label.text, gib(with_mixer.peak()),
              static_cast<int>(with_mixer.tightest().peak_layer));
  std::printf("%s on %s: %.2f GiB, %.1f seconds a step; the largest micro-batch that fits: %d\n", hybrid_job.model.label.text, hybrid_job.hardware.gpu.label.text,
              gib(hybrid.peak()), hybrid_time.step.value, static_cast<int>(headroom::solve(hybrid_job, headroom::unknowns::micro_batch, mine_in_hybrid).value));
  std::printf("Llama-3.1-8B over a base in %s: %.2f GiB\n", mine::mxfp6.label.text, gib(headroom::estimate(adapted).peak()));
  std::printf("Llama-3.1-70B, first of four stages: %.2f GiB with 1F1B, %.2f GiB with two micro-batches at most\n", gib(usual.ranks[0].allocated),
              gib(patient.ranks[0].allocated));
}
