// Distributed under the Boost Software License, Version 1.0.
// What a stage of torchtitan's pipelines holds under FSDP2, tensor by tensor, by another account than the library's: a list of events, each with
// the names of what it makes and frees. Layers weigh what the library's layer weighs (tests/block has what that is held to).
// Sources: torch distributed/pipelining/stage.py forward_one_chunk, backward_one_chunk, backward_maybe_with_nosync; distributed/fsdp/_fully_shard/
// _fsdp_param_group.py post_backward, _fsdp_param.py to_accumulated_grad_if_needed, _fsdp_state.py _lazy_init (the order of the units) and
// _root_post_backward_final_callback; torchtitan apply_fsdp before and after #1094.
#include "../estimate/dice.hpp"
#include "ledger.hpp"

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace test_torchtitan_pipelines {

using namespace headroom;
using ledger::account;
using ledger::amounts;
using ledger::amounts_of;
using ledger::operator+;

namespace {

std::string name(const char* what, std::size_t chunk, std::int64_t number = -1, std::int64_t micro = -1) {
  return std::string(what) + " " + std::to_string(chunk) + " " + std::to_string(number) + " " + std::to_string(micro);
}

/// A unit that FSDP2 gathers and reduces as one: the elements of each of its parameters, as this rank of tensor parallelism has them.
struct unit {
  std::vector<std::int64_t> parameters;
  [[nodiscard]] std::int64_t elements() const { return std::accumulate(parameters.begin(), parameters.end(), std::int64_t{0}); }
  [[nodiscard]] std::int64_t largest() const { return parameters.empty() ? 0 : *std::max_element(parameters.begin(), parameters.end()); }
  /// A rank's part of each in fp32, which the allocator rounds up.
  [[nodiscard]] std::int64_t shards(std::int64_t data) const {
    std::int64_t all = 0;
    for (const auto n : parameters) all += (4 * ((n + data - 1) / data) + 511) / 512 * 512;
    return all;
  }
};

/// Layers that run in a row on one stage.
struct chunk {
  std::int64_t first, count;
  bool begins, ends;            ///< the model: it has the embedding, or norm and head
  std::int64_t recomputed;      ///< of its layers, from the first
  std::vector<unit> units;      ///< embedding, layers, norm with head; empty ones where it has none
  std::int64_t backwards{};     ///< that are done
};

struct step {
  bool forward;
  std::size_t chunk;
  std::int64_t micro;
};

/// The order of one stage: 1F1B and GPipe as their papers draw them; interleaved as the library has it (tests/layout).
std::vector<step> order_of(const job& j, std::int64_t stage) {
  std::vector<step> r;
  const auto& p = j.parallel;
  const auto micros = j.batch.accumulation;
  if (p.virtual_pipeline > 1) {
    run_schedule({schedule::interleaved, p.pipeline, p.virtual_pipeline, micros}, stage, [&](const work& w) { r.push_back({w.kind == work_kind::forward, static_cast<std::size_t>(w.chunk), w.micro}); });
    return r;
  }
  const auto ahead = p.schedule == schedule::gpipe ? micros : p.pipeline - stage;
  std::int64_t back = 0;
  for (std::int64_t m = 0; m < micros; ++m) {
    r.push_back({true, 0, m});
    if (m + 1 >= ahead && p.schedule != schedule::gpipe) r.push_back({false, 0, back++});
  }
  while (back < micros) r.push_back({false, 0, back++});
  return r;
}

class stage_account {
 public:
  stage_account(const job& j, std::int64_t stage) : j_(j), s_(settle(j)), sc_(s_.layer), stage_(stage), micros_(j.batch.accumulation), is_(start()) {
    sc_.model = &s_.model;
  }

  const account& run() {
    is_.look(phase::save);
    for (const auto& w : order_of(j_, stage_)) w.forward ? forward(w.chunk, w.micro) : backward(w.chunk, w.micro);
    std::int64_t logits = 0;
    for (const auto& c : chunks_) logits += c.ends ? micros_ * logits_ : 0;
    is_.look(phase::loss_forward, {{row::logits, logits}});  // what the caller is given: all of them joined
    is_.look(phase::step, {{row::temporaries, updating_}});
    return is_;
  }

 private:
  // --- what there is -----------------------------------------------------------------------------------------------------

  [[nodiscard]] std::vector<unit> units_of(const chunk& c) const {
    const auto& m = j_.model;
    const auto tp = j_.parallel.tensor;
    const auto q = m.heads * m.head_width(), kv = m.kv_heads * m.head_width();
    std::vector<unit> r;
    r.push_back({c.begins ? std::vector<std::int64_t>{m.vocab * m.hidden / tp} : std::vector<std::int64_t>{}});
    for (std::int64_t i = 0; i < c.count; ++i)
      r.push_back({{q * m.hidden / tp, kv * m.hidden / tp, kv * m.hidden / tp, q * m.hidden / tp, m.hidden * m.ffn / tp, m.hidden * m.ffn / tp, m.hidden * m.ffn / tp, m.hidden, m.hidden}});
    r.push_back({c.ends ? std::vector<std::int64_t>{m.hidden, m.vocab * m.hidden / tp} : std::vector<std::int64_t>{}});
    return r;
  }
  /// States, inputs of all micro-batches, tables of rotary angles, and the buffers for what comes from other stages.
  amounts start() {
    const auto& p = j_.parallel;
    const auto& m = j_.model;
    const auto tokens = j_.batch.micro * j_.batch.sequence;
    x_ = 2 * tokens * m.hidden / (p.sequence ? p.tensor : 1);
    logits_ = 2 * tokens * m.vocab / p.tensor;
    amounts r;
    std::int64_t first = 0;
    for (std::int64_t i = 0; i < p.pipeline * p.virtual_pipeline; ++i) {
      const auto count = static_cast<std::int64_t>(p.stage_layers[i]);
      if (i % p.pipeline == stage_) {
        chunk c{first, count, i == 0, i + 1 == p.pipeline * p.virtual_pipeline, 0, {}};
        if (j_.recompute.mode == recompute_mode::full) c.recomputed = j_.recompute.layers == 0 ? count : j_.recompute.layers * count / m.layers;
        c.units = units_of(c);
        for (const auto& u : c.units)
          for (const auto n : u.parameters) {
            const auto part = (4 * (n / p.data) + 511) / 512 * 512;
            r[row::model_parameters] += part;
            r[row::optimizer_state] += 2 * part;
            updating_ += j_.optimizer.how == implementation::foreach ? part : 0;
          }
        r[row::communication_buffers] += ((c.begins ? 0 : 1) + (c.ends ? 0 : 1)) * micros_ * x_;
        r[row::activations] += 2 * j_.batch.sequence * m.head_width() * 4;  // model.py: max_seq_len × 2 rows of cosines and sines, of half the width each
        chunks_.push_back(c);
      }
      first += count;
    }
    r[row::activations] += 2 * 8 * tokens * micros_;
    r[row::workspace] += s_.source->framework.process.cublas_handles * cublas_workspace(s_).count();
    return r;
  }
  [[nodiscard]] bool head_apart() const { return j_.framework.sharding.root == root_units::split; }
  [[nodiscard]] layer_walk layer(const chunk& c, std::int64_t i) const { return walk_layer(sc_, trained_modules(*s_.source, -1), true, i < c.recomputed); }
  /// The buffer that the first layer reads is there already.
  [[nodiscard]] amounts received(const chunk& c, std::int64_t i) const { return {{row::activations, i == 0 && !c.begins ? -x_ : 0}}; }
  template <class Use>
  void with_tail(const Use& use) const { with_made([&] { return detail::tail_of(sc_, trained_modules(*s_.source, -1), true); }, use); }
  template <class Use>
  void with_front(const Use& use) const { with_made([&] { return embedding(sc_, trained_modules(*s_.source, -1)); }, use); }

  // --- what happens ------------------------------------------------------------------------------------------------------

  void forward(std::size_t at, std::int64_t micro) {
    auto& c = chunks_[at];
    if (micro == 0)
      for (std::size_t u = 0; u < c.units.size(); ++u) is_.make(name("whole", at, static_cast<std::int64_t>(u)), row::gathered_parameters, 2 * c.units[u].elements());
    if (c.begins)
      with_front([&](const program& front) {
        const auto f = walk_forward(front);
        is_.look(phase::forward, amounts_of(f.peak));
        is_.make(name("embedding", at, -1, micro), amounts_of(f.saved_rows));
      });
    for (std::int64_t i = 0; i < c.count; ++i) {
      const auto l = layer(c, i);
      const bool again = i < c.recomputed;
      is_.look(phase::forward, amounts_of(again ? l.forward_off : l.forward) + received(c, i));
      if (again)
        is_.make(name("kept", at, i, micro), amounts{{row::activations, x_}} + received(c, i));
      else
        is_.make(name("kept", at, i, micro), amounts_of(l.saved) + (l.input_saved ? received(c, i) : amounts{}));
    }
    if (!c.ends) return is_.make(name("sent", at, -1, micro), row::activations, x_);
    with_tail([&](const program& tail) {
      const auto f = walk_forward(tail);
      is_.look(phase::loss_forward, amounts_of(f.peak));
      is_.make(name("loss", at, -1, micro), amounts_of(f.saved_rows));
      is_.make(name("logits", at, -1, micro), row::logits, logits_);
    });
  }

  /// What a unit's hook does behind its backward. Gradients that autograd made are cast one by one in the first, which ends with the last matrix,
  /// and added to those that are there in another.
  void add_up(std::size_t at, std::size_t u, const std::string& fresh, std::int64_t beside) {
    auto& c = chunks_[at];
    if (c.backwards == 0) {
      const auto& of = c.units[u];
      is_.free(fresh);
      is_.look(phase::backward, {{row::gradients, 4 * of.elements() + 2 * of.largest()}, {row::temporaries, beside}});
      is_.make(name("sum", at, static_cast<std::int64_t>(u)), row::gradients, 4 * of.elements());
      return;
    }
    is_.free(fresh);
  }

  void backward(std::size_t at, std::int64_t micro) {
    auto& c = chunks_[at];
    const auto head = c.units.size() - 1;
    if (c.ends)
      with_tail([&](const program& tail) {
        is_.free(name("loss", at, -1, micro));
        const auto b = walk_backward(tail);
        is_.look(phase::backward, amounts_of(b.peak));
        is_.make("fresh head", row::gradients, b.made.count());
        if (head_apart()) add_up(at, head, "fresh head", x_);
      });
    for (auto i = c.count; i-- > 0;) {
      const auto l = layer(c, i);
      is_.free(name("kept", at, i, micro));
      const bool again = i < c.recomputed;
      const amounts input{{row::activations, again && !l.input_saved ? x_ : 0}};
      if (again) is_.look(phase::backward, amounts_of(l.forward) + amounts{{row::temporaries, x_}} + received(c, i));
      if (l.again.total > bytes{0}) is_.look(phase::backward, amounts_of(l.again) + amounts{{row::temporaries, x_}} + received(c, i));
      is_.look(phase::backward, amounts_of(l.backward) + input + (again || l.input_saved ? received(c, i) : amounts{}));
      is_.make("fresh layer", row::gradients, l.made.count());
      add_up(at, static_cast<std::size_t>(i) + 1, "fresh layer", x_);
    }
    if (c.begins)
      with_front([&](const program& front) {
        is_.free(name("embedding", at, -1, micro));
        const auto b = walk_backward(front);
        is_.look(phase::backward, amounts_of(b.peak));
        is_.make("fresh table", row::gradients, b.made.count());
        add_up(at, 0, "fresh table", 0);
      });
    if (c.ends && !head_apart()) add_up(at, head, "fresh head", x_);
    if (!c.ends) is_.free(name("sent", at, -1, micro));
    if (!c.begins) is_.make(name("gradient of input", at, -1, micro), row::communication_buffers, x_);
    if (++c.backwards == micros_) reduce(at);
  }

  /// Unit by unit: its parameters go, then its gradients are copied into the reduction's input, and go. The root is the first where it has parameters
  /// of its own.
  void reduce(std::size_t at) {
    auto& c = chunks_[at];
    std::vector<std::size_t> units(c.units.size());
    std::iota(units.begin(), units.end(), std::size_t{0});
    if (!head_apart()) std::rotate(units.begin(), units.end() - 1, units.end());
    for (const auto u : units) {
      const auto number = static_cast<std::int64_t>(u);
      is_.free(name("whole", at, number));
      if (c.units[u].parameters.empty()) continue;
      is_.look(phase::reduce, {{row::communication_buffers, 4 * c.units[u].elements()}});
      is_.free(name("sum", at, number));
      is_.make(name("shard", at, number), row::gradients, c.units[u].shards(j_.parallel.data));
    }
  }

  const job& j_;
  settled_job s_;
  scene sc_;
  std::int64_t stage_, micros_, x_{}, logits_{}, updating_{};
  std::vector<chunk> chunks_;
  account is_;
};

job drawn(draw::dice& dice) {
  job j;
  auto& p = j.parallel;
  j.framework = *std::vector<const profile*>{&frameworks::torchtitan_202404, &frameworks::torchtitan_202504, &frameworks::torchtitan_202508, &frameworks::torchtitan_202602}[dice.index(4)];
  p.pipeline = dice.pick({2, 4});
  p.virtual_pipeline = dice.pick({1, 1, 2});
  p.data = dice.pick({2, 4});
  p.tensor = dice.pick({1, 1, 2});
  p.sequence = p.tensor > 1;
  p.schedule = p.virtual_pipeline > 1 ? schedule::interleaved : dice.flip() ? schedule::gpipe : schedule::one_forward_one_backward;
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = p.data * p.pipeline, .gpus_per_node = p.tensor};
  j.model = {.hidden = 512, .heads = 8, .kv_heads = dice.pick({2, 8}), .ffn = dice.pick({1024, 2048}), .vocab = dice.pick({1024, 32768})};
  p.chunks = static_cast<std::int32_t>(p.pipeline * p.virtual_pipeline);
  for (std::int32_t i = 0; i < p.chunks; ++i) j.model.layers += p.stage_layers[i] = static_cast<std::int32_t>(dice.pick({1, 2, 3}));
  j.sharding = fsdp2();
  j.batch = {.micro = dice.pick({1, 2}), .sequence = dice.pick({256, 2048}), .accumulation = p.pipeline * dice.pick({1, 2, 3})};
  if (p.virtual_pipeline == 1) j.batch.accumulation += dice.pick({0, 0, 1});
  switch (dice.index(4)) {
    case 0: break;
    case 1: j.recompute = recompute::full; break;
    case 2: j.recompute = {.mode = recompute_mode::full, .method = recompute_method::block, .layers = 1 + static_cast<std::int64_t>(dice.index(static_cast<std::size_t>(j.model.layers)))}; break;
    default: j.recompute = {.mode = recompute_mode::selective, .policy = recompute_policy::attention_only}; break;
  }
  j.optimizer.how = dice.flip() ? implementation::fused : implementation::foreach;
  return j;
}

}  // namespace

TEST_CASE("a stage of torchtitan's pipelines, tensor by tensor") {
  draw::dice dice(20261126);
  int seen = 0;
  for (int i = 0; i < 60; ++i) {
    const auto j = drawn(dice);
    CAPTURE(i);
    for (const auto& rank : estimate(j)) {
      CAPTURE(rank.pipeline_stage);
      stage_account plain(j, rank.pipeline_stage);
      ledger::check_rank(rank, plain.run(), {phase::forward, phase::loss_forward, phase::backward, phase::reduce, phase::step, phase::save});
      ++seen;
    }
  }
  CHECK(seen >= 120);
}

}  // namespace test_torchtitan_pipelines
