// Distributed under the Boost Software License, Version 1.0.
// A step as a trace in Chrome's trace-event format, for Perfetto (ui.perfetto.dev) and chrome://tracing: for each kind of rank its memory
// by row as a counter, its phases and layers as slices, and each tensor's life.
// Source: "Trace Event Format" (Google): ph C counter, B and E slice, b and e life, M name; pid, tid, ts in microseconds.
#pragma once

#include <headroom/io/report/text_table.hpp>
#include <headroom/job.hpp>
#include <headroom/replay/recording.hpp>

#include <nlohmann/json.hpp>

#include <map>
#include <ostream>
#include <span>
#include <string>

namespace headroom::io {

namespace detail {

/// Writes one event after another, each on a line of its own.
class trace_writer {
 public:
  explicit trace_writer(std::ostream& out) : out_(&out) {}

  void begin(std::string_view title) {
    *out_ << R"({"displayTimeUnit":"ms","otherData":)"
          << nlohmann::ordered_json{{"title", title}, {"time", "the order of events, one microsecond each: a replay has no clock"}}.dump() << ",\n\"traceEvents\":[";
  }
  void end() { *out_ << "\n]}\n"; }

  /// One kind of rank, as process `pid`.
  void rank(const recorded_step& r, std::int64_t pid) {
    pid_ = pid;
    now_ = 0;
    layer_ = phase_ = false;
    live_ = r.beside;
    put("M", {{"name", "process_name"}, {"args", {{"name", "stage " + std::to_string(r.pipeline_stage) + ", " + std::to_string(r.count) + " x " + std::string{r.gpu.view()}}}}});
    put("M", {{"name", "thread_name"}, {"tid", 1}, {"args", {{"name", "step"}}}});
    for (const auto& e : r.events) event(e);
    close_layer();
    close_phase();
    for (const auto& [number, e] : alive_) life("e", e);
    alive_.clear();
  }

 private:
  void event(const step_event& e) {
    if (e.what == step_event::kind::enter) {
      enter(e);
    } else {
      const bool made = e.what == step_event::kind::make;
      if (made) {
        live_[e.of] += e.size;
        alive_[e.tensor] = e;
      } else {
        live_[e.of] = live_[e.of] - e.size;
        alive_.erase(e.tensor);
      }
      life(made ? "b" : "e", e);
      counter();
    }
    ++now_;
  }
  void enter(const step_event& e) {
    close_layer();
    if (!phase_ || e.at != at_) {
      close_phase();
      put("B", {{"name", std::string{text(e.at)}}, {"tid", 1}});
      phase_ = true;
      at_ = e.at;
    }
    if (e.layer < 0) return;
    put("B", {{"name", "layer " + std::to_string(e.layer)}, {"tid", 1}});
    layer_ = true;
  }
  void close_layer() {
    if (layer_) put("E", {{"tid", 1}});
    layer_ = false;
  }
  void close_phase() {
    if (phase_) put("E", {{"tid", 1}});
    phase_ = false;
  }
  void life(const char* kind, const step_event& e) {
    constexpr std::array<std::string_view, stream_count> streams{"compute", "all-gather", "reduction", "copy"};
    put(kind, {{"cat", std::string{text(e.of)}},
               {"name", std::string{text(e.of)} + " " + size_text(e.size)},
               {"id", e.tensor},
               {"tid", 1},
               {"args", {{"bytes", e.size.count()}, {"stream", std::string{streams[static_cast<std::size_t>(e.on)]}}}}});
  }
  void counter() {
    auto rows = nlohmann::ordered_json::object();
    for (int i = 0; i < row_count; ++i) rows[std::string{text(static_cast<row>(i))}] = live_[static_cast<row>(i)].count();
    put("C", {{"name", "memory (bytes)"}, {"args", std::move(rows)}});
  }
  static std::string size_text(bytes b) { return fixed(static_cast<double>(b.count()) / (1024.0 * 1024.0), 2) + " MiB"; }
  void put(const char* kind, nlohmann::ordered_json of) {
    of["ph"] = kind;
    of["pid"] = pid_;
    of["ts"] = now_;
    *out_ << (first_ ? "\n" : ",\n") << of.dump();
    first_ = false;
  }

  std::ostream* out_;
  std::int64_t pid_{}, now_{};
  bool first_{true}, phase_{}, layer_{};
  phase at_{};
  breakdown live_{};
  std::map<std::int64_t, step_event> alive_;  // by number
};

}  // namespace detail

/// Writes the trace of a step, rank by rank, as replay's record(job) gives it.
inline void write_trace(std::ostream& out, std::span<const recorded_step> ranks, const job& j) {
  detail::trace_writer writer(out);
  writer.begin(j.model.label.empty() ? std::string_view{"model"} : j.model.label.view());
  for (std::size_t i = 0; i < ranks.size(); ++i) writer.rank(ranks[i], static_cast<std::int64_t>(i) + 1);
  writer.end();
}

}  // namespace headroom::io
