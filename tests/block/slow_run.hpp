// Distributed under the Boost Software License, Version 1.0.
// A block's run as a slow interpreter has it: every storage and every gradient is an object with as many references as PyTorch would
// hold, and goes with the last of them. Nothing of block/run.hpp is used.
#pragma once

#include <headroom/block/walk.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

namespace slow {

using namespace headroom;

/// Bytes that are there, and the most there ever were.
struct meter {
  std::int64_t now = 0, peak = 0;
};

class buffer {
 public:
  buffer(meter& m, std::int64_t size) : meter_(&m) { grow(size); }
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;
  ~buffer() { meter_->now -= size_; }
  void grow(std::int64_t by) {
    size_ += by;
    meter_->now += by;
    meter_->peak = std::max(meter_->peak, meter_->now);
  }

 private:
  meter* meter_;
  std::int64_t size_ = 0;
};
using reference = std::shared_ptr<buffer>;

struct result {
  std::int64_t peak = 0, before_return = 0, left = 0, weights = 0;
};

class machine {
 public:
  explicit machine(const program& p) : p_(&p), size_(p.tensors()), owner_(p.tensors()) {
    for (std::size_t i = 0; i < p.tensors(); ++i) {
      const tensor t = nth(i);
      size_[i] = p.size(t).count();
      for (std::size_t k = 0; k < p.tensors(); ++k)
        if (has(p.storages(t.bit()), k)) owner_[i] = k;
    }
  }

  result forward(recording mode) {
    meter m;
    const auto& p = *p_;
    const auto n = p.tensors();
    std::vector<reference> local(n), graph(n), caller(n);
    const auto there = [&](std::size_t i) { return local[i] || graph[i] || caller[i]; };
        if (p.input().valid()) {
      const auto in = owner_[index(p.input())];
      local[in] = make(m, size_[in]);
    }
    if (mode == recording::again)
      for (std::size_t i = 0; i < n; ++i)
        if (has(p.kept(), i) && !there(i)) local[i] = make(m, size_[i]);
    result r;
    for (std::size_t o = 0; o < p.operations(); ++o) {
      const auto op = p[o];
      if (o == p.returns_at()) r.before_return = m.peak;
      std::vector<std::size_t> fresh;
      for (std::size_t i = 0; i < n; ++i)
        if (has(op.makes, i) && !there(owner_[i]) && std::find(fresh.begin(), fresh.end(), owner_[i]) == fresh.end()) fresh.push_back(owner_[i]);
      for (const auto i : fresh) local[i] = make(m, 0);
      for (std::int64_t piece = 0; piece < op.pieces; ++piece) {
        const auto temporary = make(m, op.forward_temporary.count());
        for (const auto i : fresh) local[i]->grow(piece + 1 == op.pieces ? size_[i] - size_[i] / op.pieces * piece : size_[i] / op.pieces);
      }
      for (std::size_t i = 0; i < n; ++i) {
        if (!local[i]) continue;
        if (has(p.cached(), i) || has(p.held(), i)) caller[i] = local[i];
        if (mode != recording::off && has(p.held_in_forward(), i)) caller[i] = local[i];
        if (graph_keeps(mode, i)) graph[i] = local[i];
        bool used = has(p.storages(p.output().bit()), i);
        for (auto later = o + 1; later < p.operations() && !used; ++later) used = uses(p[later], i);
        // What no operation up to here names is not a local yet: the input, before it is read.
        if (!used && uses(op, i)) local[i].reset();
      }
    }
    r.peak = m.peak;
    for (std::size_t i = 0; i < n; ++i)
      if (mode == recording::off ? has(p.cached(), i) : graph_keeps(mode, i) && !has(p.held(), i)) r.left += size_[i];
    return r;
  }

  result backward(bool accumulate) {
    meter m;
    const auto& p = *p_;
    const auto n = p.tensors();
    std::vector<reference> graph(n), gradient(n), context(n), weights;
    for (std::size_t i = 0; i < n; ++i) {
      if (has(p.sticky() | p.held(), i)) context[i] = make(m, size_[i]);
      if (has(p.saved(), i)) graph[i] = context[i] ? context[i] : make(m, size_[i]);
    }
    reference callers;
    if (p.needs_gradient(p.output())) {
      const auto out = index(p.output());
      gradient[out] = make(m, size_[out]);
      if (p.borrows_output_gradient()) callers = gradient[out];
    }
    result r;
    for (auto o = p.operations(); o-- > 0;) {
      const auto op = p[o];
      if (!op.recorded) continue;
      std::size_t from = n;
      for (std::size_t i = 0; i < n; ++i)
        if (has(op.makes, i) && gradient[i]) from = i;
      const auto release = [&] {
        for (std::size_t i = 0; i < n; ++i)
          if (has(op.saves, i)) graph[i].reset();
      };
      if (op.releases_first) release();
      std::map<std::size_t, reference> incoming;
      std::int64_t given = 0;
      for (std::size_t i = 0; i < n; ++i) {
        if (!has(op.reads, i) || !has(p.gradients(), i)) continue;
        if (op.passes_gradient && from < n && size_[i] == size_[from]) {
          incoming[i] = gradient[from];
        } else {
          incoming[i] = make(m, 0);
        }
      }
      for (std::size_t i = 0; i < n; ++i) {
        if (has(op.saves, i) && !has(p.sticky() | p.held(), i)) given += size_[i];
        if (has(op.makes, i) && gradient[i] && gradient[i].use_count() == 1) given += size_[i];
      }
      auto weight = make(m, 0);
      auto gone = make(m, 0);  // of what is given up piece by piece: less than nothing
      for (std::int64_t piece = 0; piece < op.pieces; ++piece) {
        const auto added = make(m, 0), temporary = make(m, 0);
        const bool last = piece + 1 == op.pieces;
        for (auto& [i, b] : incoming)
          if (!(op.passes_gradient && from < n && size_[i] == size_[from])) b->grow(last ? size_[i] - size_[i] / op.pieces * piece : size_[i] / op.pieces);
        (piece == 0 ? weight : added)->grow(op.weight_gradient.count());
        temporary->grow(op.backward_temporary.count());
        if (op.pieces > 1 && !last) gone->grow(-(given / op.pieces));
      }
      r.weights += accumulate && !op.gradient_waits ? 0 : op.weight_gradient.count();
      if (!accumulate || op.gradient_waits) weights.push_back(weight);
      weight.reset();
      gone.reset();
      if (!op.releases_first) release();
      for (std::size_t i = 0; i < n; ++i)
        if (has(op.makes, i)) gradient[i].reset();
      for (auto& [i, b] : incoming) {
        if (!gradient[i]) {
          gradient[i] = b;
        } else if (gradient[i].use_count() > 1 || p.sums_out_of_place()) {
          gradient[i] = make(m, size_[i]);
        }
        b.reset();
      }
    }
    r.peak = m.peak;
    return r;
  }

 private:
  static tensor nth(std::size_t i) { return tensor::at(i); }
  static bool has(const wide_set& s, std::size_t i) { return (s.word[i / 64] >> i % 64 & 1U) != 0; }
  static std::size_t index(tensor t) { return t.place(); }
  static reference make(meter& m, std::int64_t size) { return std::make_shared<buffer>(m, size); }
  [[nodiscard]] bool uses(const operation& o, std::size_t storage) const {
    for (std::size_t i = 0; i < owner_.size(); ++i)
      if (owner_[i] == storage && has(o.reads | o.makes | o.holds, i)) return true;
    return false;
  }
  [[nodiscard]] bool graph_keeps(recording mode, std::size_t i) const {
    const auto& p = *p_;
    if (mode == recording::off) return false;
    if (p.checkpointed() && mode == recording::on) return has(p.kept(), i);
    return has(p.saved() | p.sticky(), i) && !has(p.recomputed() | p.offloaded(), i);
  }

  const program* p_;
  std::vector<std::int64_t> size_;
  std::vector<std::size_t> owner_;
};

}  // namespace slow
