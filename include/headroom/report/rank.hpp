// Distributed under the Boost Software License, Version 1.0.
// What one kind of rank occupies: rows, phases, and the four numbers of its peak.
#pragma once

#include <headroom/name.hpp>
#include <headroom/report/spread.hpp>
#include <headroom/units/literals.hpp>

#include <array>

namespace headroom {

/// What memory is occupied by. The rows of a report, in the order they are printed.
enum class row : std::uint8_t {
  model_parameters,       ///< this rank's share; "parameters" in the file, where the plain name is not a unit's
  master_parameters,      ///< copies in the optimizer's precision
  gradients,
  optimizer_state,        ///< moments, quantization constants
  adapters,               ///< LoRA's and DoRA's weights
  other_models,           ///< a reference or a teacher: its weights, what of them is gathered, and what its forward takes
  activations,            ///< saved for backward, or flowing between layers
  logits,                 ///< of the head and the loss, with what the loss keeps and computes
  gathered_parameters,    ///< whole weights for as long as a sharded layer computes with them
  communication_buffers,  ///< buckets of a reduction or a gather
  workspace,              ///< cuBLAS's
  rollout_engine,         ///< what generates: its weights and buffers
  kv_cache,               ///< … keys and values of tokens that were read or generated
  temporaries,            ///< of one operation or update, freed when it ends
};
inline constexpr int row_count = static_cast<int>(row::temporaries) + 1;

/// The moments of a step, in order, and those that only methods with more than one model have. The columns of a report.
enum class phase : std::uint8_t {
  load,          ///< the model goes to the GPU, and the trainer with its optimizer is built around it
  forward,       ///< of the layers
  loss_forward,  ///< head and loss; "loss" in the file
  backward,
  reduce,        ///< gradients go to the ranks that own them
  step,          ///< the optimizer's
  save,          ///< what outlives the step
  reference,     ///< forward of a reference or a teacher
  generate,      ///< completions are sampled
  sync,          ///< the weights go to what generates
  score,         ///< completions are scored: old log-probabilities, rewards, values
  evaluate,      ///< between steps
  reward,        ///< forward of a reward model
  value,         ///< forward of a critic, without a graph
  critic,        ///< a critic's own step
};
inline constexpr int phase_count = static_cast<int>(phase::critic) + 1;
/// Of them those of every step, of which a report says what each is made of; of the others it says how much.
inline constexpr int step_phase_count = static_cast<int>(phase::save) + 1;
constexpr bool in_every_step(phase p) { return static_cast<int>(p) < step_phase_count; }

/// Bytes by row; total() is their sum.
struct breakdown {
  std::array<bytes, row_count> rows;  // breakdown{} is all zero

  [[nodiscard]] constexpr bytes operator[](row r) const { return rows[static_cast<std::size_t>(r)]; }
  [[nodiscard]] constexpr bytes& operator[](row r) { return rows[static_cast<std::size_t>(r)]; }
  [[nodiscard]] constexpr bytes total() const {
    bytes sum{0};
    for (auto b : rows) sum += b;
    return sum;
  }
  constexpr breakdown& operator+=(const breakdown& b) {
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] += b.rows[i];
    return *this;
  }
  friend constexpr breakdown operator+(breakdown a, const breakdown& b) { return a += b; }
  bool operator==(const breakdown&) const = default;
};

/// Memory of a GPU that PyTorch's allocator does not see.
struct outside_allocator {
  bytes context;  ///< CUDA's, with the libraries' code
  bytes nccl;     ///< its buffers, of every communicator
  bytes engine{}; ///< of an engine that generates: its CUDA graphs, its context where it is a process of its own, its communicator
  [[nodiscard]] constexpr bytes total() const { return context + nccl + engine; }
  bool operator==(const outside_allocator&) const = default;
};

/// What runs over samples of different lengths reserve, by the order in which the samples come, and what they need: the replays of a report's
/// rank (replay/lengths.hpp). All 0 where samples are of one length, or nothing was replayed.
struct reserved_orders {
  bytes low{}, median{}, high{};  ///< reserved in one order of ten at most, in half of them, in nine of ten
  bytes least{};                  ///< reserved memory with which every step of every order finds room, cached segments given back
  std::int32_t orders{};          ///< that were replayed
  std::int32_t micro_batches{};   ///< of each
  [[nodiscard]] constexpr bool given() const { return orders > 0; }
  bool operator==(const reserved_orders&) const = default;
};

/// What a measured run says of a rank's four numbers (measured/correct.hpp), by `reading`.
struct measured_effect {
  bool given{};
  std::array<bytes, reading_count> moved{};        ///< in the numbers already; of `allocated`, among the temporaries, or taken off what passes
  std::array<std::int32_t, reading_count> below{}, above{};  ///< thousandths of the range that are left
  std::array<bytes, reading_count> unexplained{};  ///< of the measured run, beyond the ranges of all that is uncertain: not carried to other jobs
  bool operator==(const measured_effect&) const = default;
};

/// One kind of rank: every GPU of a pipeline stage on one type of GPU holds the same.
struct rank_report {
  std::int64_t pipeline_stage;
  std::int64_t count;          ///< how many GPUs are like this
  name gpu;
  bytes capacity;              ///< what a process can use of it, without `taken`
  bytes taken{};               ///< what others hold of it: cluster::taken
  bytes allocated;           ///< live tensors at the peak: torch's max_memory_allocated
  bytes active;              ///< plus blocks held for another stream
  bytes reserved;            ///< what the caching allocator took from the driver
  bytes device;              ///< plus what lies outside the allocator: what nvidia-smi shows
  bytes fragmentation;       ///< what fragmentation may add to `device`, at most; 0 after a replay, and where there is none
  bytes surplus;             ///< of `device`, what streams' pools hold at different times and perhaps need not; 0 likewise
  phase peak_phase;
  std::uint8_t absent{};     ///< a bit for each phase of every step that this rank's does not have; has()
  std::int64_t peak_layer;   ///< -1: not in a layer (embedding, head, optimizer)
  breakdown at_peak;         ///< adds up to `allocated` exactly
  outside_allocator outside;
  reserved_orders lengths{}; ///< `reserved` is their median
  bytes routed;              ///< of `allocated`, what grows with the tokens routed to this rank's experts, where that is assumed to be an even share
  std::array<bytes, phase_count> phases;  ///< the tallest moment of each
  std::array<breakdown, step_phase_count> at_phase;  ///< what those of every step are made of; where another is the tallest, at_peak says it
  measured_effect measured{};

  /// What of the GPU's memory it cannot do without: `device`, but over samples of different lengths, where what stays cached and is given back
  /// on a full GPU does no harm.
  [[nodiscard]] constexpr bytes needs() const { return lengths.given() ? lengths.least + outside.total() : device; }
  [[nodiscard]] constexpr bytes headroom() const { return capacity - needs(); }
  /// Fits even with the most that fragmentation may add.
  [[nodiscard]] constexpr bool fits() const { return needs() + fragmentation <= capacity; }
  /// Whether a replay may say that it fits.
  [[nodiscard]] constexpr bool may_fit() const { return needs() - surplus <= capacity; }
  [[nodiscard]] constexpr bytes operator[](phase p) const { return phases[static_cast<std::size_t>(p)]; }
  /// Whether its step has a phase: only a pipeline's last stage computes a loss. Of one that it does not have all bytes are 0.
  [[nodiscard]] constexpr bool has(phase p) const { return in_every_step(p) ? (absent >> static_cast<unsigned>(p) & 1U) == 0 : (*this)[p] > bytes{0}; }
  bool operator==(const rank_report&) const = default;
};

/// One of the four numbers of a rank, in bytes.
constexpr bytes value_of(const rank_report& r, reading m) {
  return m == reading::allocated ? r.allocated : m == reading::active ? r.active : m == reading::reserved ? r.reserved : r.device;
}

/// What the tallest moment of forward, loss and backward holds beside weights, gradients, optimizer states, adapters and an engine that generates.
constexpr bytes passing_of(const rank_report& r) {
  bytes most{0};
  for (const auto p : {phase::forward, phase::loss_forward, phase::backward}) {
    const auto& at = r.at_phase[static_cast<std::size_t>(p)];
    const auto stays = at[row::model_parameters] + at[row::master_parameters] + at[row::gradients] + at[row::optimizer_state] + at[row::adapters] + at[row::rollout_engine] + at[row::kv_cache];
    most = max(most, at.total() - stays);
  }
  return most;
}

/// What a source of error is proportional to, in one rank.
constexpr bytes base_of(const rank_report& r, error_base b) {
  const auto& at = r.at_peak;
  const auto states = at[row::model_parameters] + at[row::master_parameters] + at[row::gradients] + at[row::optimizer_state] + at[row::adapters];
  // An engine takes its share of the GPU whatever the trainer's tensors turn out to be.
  const auto engine = at[row::rollout_engine] + (at[row::rollout_engine] > bytes{0} ? at[row::kv_cache] : bytes{0});
  switch (b) {
    case error_base::mebibyte: return mib;
    case error_base::step_tensors: return r.allocated - states - engine;
    case error_base::activations: return at[row::activations];
    case error_base::routed: return r.routed;
    case error_base::samples: return at[row::activations] + at[row::logits];
    case error_base::gathered: return at[row::gathered_parameters] + at[row::communication_buffers];
    case error_base::over_next: {
      bytes next{0};
      for (int i = 0; i < phase_count; ++i)
        if (static_cast<phase>(i) != r.peak_phase) next = max(next, r[static_cast<phase>(i)]);
      return r.allocated - next;
    }
    case error_base::logits_again: {
      bytes most{0};
      for (const auto p : {phase::forward, phase::loss_forward, phase::backward}) most = max(most, r[p] + r.at_phase[static_cast<std::size_t>(p)][row::logits]);
      return most > r.allocated ? most - r.allocated : bytes{0};
    }
    case error_base::temporaries: return at[row::temporaries];
    case error_base::allocated: return r.allocated - engine;
    case error_base::turnover: return max(r.reserved - states - engine, r.reserved - r.allocated + passing_of(r));
    case error_base::nccl: return r.outside.nccl;
    case error_base::orders: return r.lengths.high - r.lengths.low;
    case error_base::cached: return r.reserved - r.allocated + passing_of(r);
    case error_base::holes: return r.reserved - r.active;
    case error_base::device: break;
  }
  return r.device - engine;
}

/// What a row or phase is called in the report file.
constexpr std::string_view text(row r) {
  constexpr std::array<std::string_view, row_count> names{"parameters",  "master_parameters",   "gradients",             "optimizer_state",
                                                          "adapters",    "other_models",        "activations",           "logits",
                                                          "gathered_parameters", "communication_buffers", "workspace", "rollout_engine", "kv_cache", "temporaries"};
  return names[static_cast<std::size_t>(r)];
}
constexpr std::string_view text(phase p) {
  constexpr std::array<std::string_view, phase_count> names{"load", "forward", "loss", "backward", "reduce", "step", "save", "reference", "generate", "sync", "score", "evaluate", "reward", "value", "critic"};
  return names[static_cast<std::size_t>(p)];
}

}  // namespace headroom
