// Distributed under the Boost Software License, Version 1.0.
// What a job occupies, where and when. Key for key the report file; reading it needs nothing else of the library.
#pragma once

#include <headroom/report/assumption.hpp>
#include <headroom/units/literals.hpp>

#include <array>
#include <type_traits>

namespace headroom {

/// What memory is occupied by. The rows of a report, in the order they are printed.
enum class row : std::uint8_t {
  model_parameters,       ///< this rank's share; "parameters" in the file, where the plain name is not a unit's
  master_parameters,      ///< copies in the optimizer's precision
  gradients,
  optimizer_state,        ///< moments, quantization constants
  adapters,               ///< LoRA's and DoRA's weights
  activations,            ///< saved for backward, or flowing between layers
  logits,                 ///< of the head and the loss, with what the loss keeps and computes
  gathered_parameters,    ///< whole weights for as long as a sharded layer computes with them
  communication_buffers,  ///< buckets of a reduction or a gather
  workspace,              ///< cuBLAS's
  temporaries,            ///< of one operation or update, freed when it ends
};
inline constexpr int row_count = static_cast<int>(row::temporaries) + 1;

/// The moments of a step, in order. The columns of a report.
enum class phase : std::uint8_t {
  load,          ///< the model goes to the GPU
  forward,       ///< of the layers
  loss_forward,  ///< head and loss; "loss" in the file
  backward,
  reduce,        ///< gradients go to the ranks that own them
  step,          ///< the optimizer's
  save,          ///< what outlives the step
};
inline constexpr int phase_count = static_cast<int>(phase::save) + 1;

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
  friend constexpr bool operator==(const breakdown&, const breakdown&) = default;
};

/// Memory of a GPU that PyTorch's allocator does not see.
struct outside_allocator {
  bytes context;  ///< CUDA's, with the libraries' code
  bytes nccl;     ///< its buffers, of every communicator
  friend constexpr bool operator==(const outside_allocator&, const outside_allocator&) = default;
};

/// One kind of rank: every GPU of a pipeline stage on one type of GPU holds the same.
struct rank_report {
  std::int64_t pipeline_stage;
  std::int64_t count;          ///< how many GPUs are like this
  name gpu;
  bytes capacity;              ///< what a process can use of it
  bytes allocated;           ///< live tensors at the peak: torch's max_memory_allocated
  bytes active;              ///< plus blocks held for another stream
  bytes reserved;            ///< what the caching allocator took from the driver
  bytes device;              ///< plus what lies outside the allocator: what nvidia-smi shows
  phase peak_phase;
  std::int64_t peak_layer;   ///< -1: not in a layer (embedding, head, optimizer)
  breakdown at_peak;         ///< adds up to `allocated` exactly
  outside_allocator outside;
  bytes routed;              ///< of `allocated`, what grows with the tokens routed to this rank's experts, where that is assumed to be an even share
  std::array<bytes, phase_count> phases;  ///< the tallest moment of each
  std::array<breakdown, phase_count> at_phase;  ///< what each of those is made of

  [[nodiscard]] constexpr bytes headroom() const { return capacity - device; }
  [[nodiscard]] constexpr bool fits() const { return device <= capacity; }
  [[nodiscard]] constexpr bytes operator[](phase p) const { return phases[static_cast<std::size_t>(p)]; }
  friend constexpr bool operator==(const rank_report&, const rank_report&) = default;
};

/// Host memory of a node: tensors and pinned buffers of its ranks, at the moment when they are largest.
struct host_report {
  bytes per_node{};
  bytes pinned_per_node{};  ///< of these, page-locked
  phase at{};
  bytes capacity{};  ///< 0: not stated, so not judged
  friend constexpr bool operator==(const host_report&, const host_report&) = default;
};

/// Of the whole model, adapters included.
struct parameter_totals {
  parameters total{};
  parameters trainable{};
  parameters active{};  ///< that one token passes through: of a mixture of experts, fewer than `total`
  friend constexpr bool operator==(const parameter_totals&, const parameter_totals&) = default;
};

/// How far each number may be from a measured one: bounds(report) (bounds.hpp).
struct report {
  static constexpr int max_ranks = 64;
  std::array<rank_report, max_ranks> ranks;  ///< the first `size` are used; at run time the others are left as they are
  std::int32_t size{};
  host_report host{};
  bytes nvme_per_node{};
  bytes nvme_capacity{};
  parameter_totals parameter_count{};
  assumption_set assumptions{};

  constexpr report() {
    if (std::is_constant_evaluated())
      for (auto& r : ranks) r = rank_report{};
  }
  /// Room for one more kind of rank.
  /// Errors: job_error where a job has more than max_ranks of them.
  constexpr rank_report& add() {
    if (size == max_ranks) refuse("headroom: a report holds at most 64 kinds of rank; parallel.pipeline must not exceed it", size);
    auto& r = ranks[static_cast<std::size_t>(size++)];
    r = rank_report{};
    r.peak_layer = -1;
    return r;
  }
  [[nodiscard]] constexpr const rank_report* begin() const { return ranks.data(); }
  [[nodiscard]] constexpr const rank_report* end() const { return ranks.data() + size; }

  /// Whether its ranks are of several pipeline stages; on a mixed cluster there are several without.
  [[nodiscard]] constexpr bool staged() const { return size > 1 && ranks[static_cast<std::size_t>(size) - 1].pipeline_stage + ranks[0].pipeline_stage > 0; }
  /// The rank with the least headroom.
  [[nodiscard]] constexpr const rank_report& tightest() const {
    std::size_t worst = 0;
    for (std::size_t i = 1; i < static_cast<std::size_t>(size); ++i)
      if (ranks[i].headroom() < ranks[worst].headroom()) worst = i;
    return ranks[worst];
  }
  /// `allocated` of the tightest rank.
  [[nodiscard]] constexpr bytes peak() const { return tightest().allocated; }
  /// `device` of the tightest rank: what nvidia-smi shows.
  [[nodiscard]] constexpr bytes device() const { return tightest().device; }
  /// What the tightest rank has left; negative where it does not fit.
  [[nodiscard]] constexpr bytes headroom() const { return tightest().headroom(); }
  /// Every rank, the host and NVMe (where their sizes are stated) are large enough.
  [[nodiscard]] constexpr bool fits() const {
    for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i)
      if (!ranks[i].fits()) return false;
    if (host.capacity > bytes{0} && host.per_node > host.capacity) return false;
    return nvme_capacity == bytes{0} || nvme_per_node <= nvme_capacity;
  }
  friend constexpr bool operator==(const report& a, const report& b) {
    if (a.size != b.size) return false;
    for (std::size_t i = 0; i < static_cast<std::size_t>(a.size); ++i)
      if (!(a.ranks[i] == b.ranks[i])) return false;
    return a.host == b.host && a.nvme_per_node == b.nvme_per_node && a.nvme_capacity == b.nvme_capacity && a.parameter_count == b.parameter_count &&
           a.assumptions == b.assumptions;
  }
};

/// What a row or phase is called in the report file.
constexpr std::string_view text(row r) {
  constexpr std::array<std::string_view, row_count> names{"parameters",  "master_parameters",   "gradients",             "optimizer_state",
                                                          "adapters",    "activations",         "logits",                "gathered_parameters",
                                                          "communication_buffers", "workspace", "temporaries"};
  return names[static_cast<std::size_t>(r)];
}
constexpr std::string_view text(phase p) {
  constexpr std::array<std::string_view, phase_count> names{"load", "forward", "loss", "backward", "reduce", "step", "save"};
  return names[static_cast<std::size_t>(p)];
}

}  // namespace headroom
