// Distributed under the Boost Software License, Version 1.0.
// A trainer's start and its first steps, allocation by allocation: engine/eager/step.hpp with the caching allocator for a listener.
#pragma once

#include <headroom/engine/eager/autograd_rank.hpp>
#include <headroom/replay/allocated_step.hpp>
#include <headroom/replay/evaluation_trace.hpp>
#include <headroom/replay/other_trace.hpp>
#include <headroom/engine/eager/fsdp1_units.hpp>
#include <headroom/engine/eager/fsdp2_units.hpp>
#include <headroom/engine/eager/whole_parameters.hpp>

#include <memory>
#include <variant>

namespace headroom {

/// Loads a model and runs steps of it. The first step makes the optimizer's state; from the second on all is as it stays.
class step_trace {
 public:
  template <class Layers = detail::shipped_layers>
  step_trace(const settled_job& s, const inventory& list, const state_bytes& st, const windows& w, const moment& resident, caching_allocator& a,
             const replay_watch& watch = {}, const Layers& layers = {}, std::size_t kind_of_gpu = 0)
      : memory_(a, watch), before_(detail::before_stack(s, st, w)), tensors_(s, memory_, layers, detail::has_prelude(s) ? &before_ : nullptr),
        facts_(s, tensors_.sizes(), st, w, {0, s.model.layers}, detail::has_prelude(s) ? &before_ : nullptr) {
    const auto& kind = s.source->sharding;
    tensors_.start_from(facts_, load_trace(s, st, w, memory_, a).run(list, resident));
    if (s.layer.compares) {
      other_ = std::make_unique<other_trace>(s, kind_of_gpu, memory_, layers);
      tensors_.beside([this] { other_->forward(); });
    }
    memory_.reset_peak();
    if (kind.cuts_tensors())
      runs_.emplace<running<fsdp2_units<allocated_step>>>(facts_, list, tensors_);
    else if (kind.gathers_units() && kind.flat() && kind.cuts(sharded_state::weights))
      runs_.emplace<running<fsdp1_units<allocated_step>>>(facts_, list, tensors_);
    else
      runs_.emplace<running<whole_parameters<allocated_step>>>(facts_, list, tensors_);
  }
  step_trace(const step_trace&) = delete;
  step_trace& operator=(const step_trace&) = delete;

  /// One step, of the micro-batches that differ.
  void run() { run(detail::different_micro_batches(*facts_.job->source)); }
  void run(std::int64_t micros) {
    run(micros, [] {});
  }
  /// … `between`: called behind each micro-batch but the last.
  template <class Between>
  void run(std::int64_t micros, const Between& between) {
    std::visit([&](auto& r) { run(r, micros, between); }, runs_);
    memory_.begin_product();  // where backward had no matrix to say so
    stays_ = facts_.job->source->framework.gradients.stay;
  }
  /// An evaluation behind them, where it is written out.
  template <class Layers>
  void evaluate(const settled_job& s, const state_bytes& st, const windows& w, const Layers& layers) {
    if (replays_evaluation(s)) evaluation_trace(s, st, w, memory_, layers).run();
  }
  /// The most bytes that its steps have asked for at a time.
  [[nodiscard]] bytes peak_asked() const { return memory_.peak_asked(); }
  [[nodiscard]] std::int64_t made() const { return memory_.made(); }

 private:
  template <class Units>
  struct running {
    Units units;
    eager_step<allocated_step, Units> step;
    running(const step_facts& f, const inventory& list, allocated_step& to) : units(f, list, to), step(f, units, to) {}
    running(const running&) = delete;
    running& operator=(const running&) = delete;
  };
  template <class Between>
  void run(std::monostate, std::int64_t, const Between&) {}
  template <class Units, class Between>
  void run(running<Units>& r, std::int64_t micros, const Between& between) {
    for (std::int64_t i = 0; i < micros; ++i) {
      if (i > 0) between();
      r.step.run_micro_batch(i > 0 || stays_ || facts_.around->gradients_at_load, i + 1 == micros);
    }
    r.step.update();
  }

  tensor_memory memory_;
  prelude before_;
  allocated_step tensors_;
  step_facts facts_;
  std::variant<std::monostate, running<whole_parameters<allocated_step>>, running<fsdp2_units<allocated_step>>, running<fsdp1_units<allocated_step>>> runs_;
  std::unique_ptr<other_trace> other_;  ///< a reference or a teacher
  bool stays_{};
};

}  // namespace headroom
