// Distributed under the Boost Software License, Version 1.0.
// What a rank holds under Megatron-FSDP, bucket by bucket: parameters by their names and shapes are put into buckets, each bucket has a state, and the
// pipelines ask for the next bucket by its number, as the source does. Layers, head and loss weigh what the library's do (tests/block).
// Source: Megatron-LM core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py _get_parameter_groups, AllGatherPipeline.all_gather_params,
// GradReducePipeline.reduce_gradients; megatron_fsdp.py _register_fsdp_hooks.
#include "megatron_chunk.hpp"

#include <algorithm>
#include <deque>
#include <numeric>
#include <set>
#include <vector>

namespace test_megatron_fsdp_account {

using namespace headroom;
using namespace ledger;

namespace {

struct parameter {
  std::int64_t unit;  ///< layer, or -1 outside
  bool expert, fp8;
  std::int64_t rows, columns;
  [[nodiscard]] std::int64_t elements() const { return rows * columns; }
};

/// named_parameters() of a GPT of Llama's kind with TransformerEngine's layers; norms are vectors.
std::vector<parameter> parameters_of(const job& j) {
  const auto& m = j.model;
  const auto t = j.parallel.tensor, h = m.hidden;
  const auto vocabulary = m.vocab / t;
  const bool narrow = j.precision.parameters.bits == 8;  // matrices of TransformerEngine's layers, not the router
  std::vector<parameter> all{{-1, false, false, vocabulary, h}};
  for (std::int64_t i = 0; i < m.layers; ++i) {
    const auto add = [&](std::int64_t rows, std::int64_t columns, bool expert = false) { all.push_back({i, expert, narrow && columns > 1, rows, columns}); };
    add(h, m.heads * m.head_width() / t), add(h, 1), add((m.heads + 2 * m.kv_heads) * m.head_width() / t, h);
    add(h, 1);
    if (!m.sparse_layer(i)) {
      add(2 * m.ffn / t, h), add(h, m.ffn / t);
      continue;
    }
    const auto& e = m.experts;
    all.push_back({i, false, false, e.count, h});
    for (std::int64_t k = 0; k < e.count / j.parallel.expert; ++k) add(2 * e.ffn / t, h, true);
    for (std::int64_t k = 0; k < e.count / j.parallel.expert; ++k) add(h, e.ffn / t, true);
    if (e.shared_ffn > 0) add(2 * e.shared_ffn / t, h), add(h, e.shared_ffn / t);
  }
  all.push_back({-1, false, false, h, 1});
  if (!m.tied) all.push_back({-1, false, false, vocabulary, h});
  return all;
}

struct bucket {
  std::int64_t unit{};
  bool expert{}, fp8{};
  std::vector<parameter> of{};
  std::int64_t exact{}, padded{}, ranks{};
};

/// Parameters that are alike in unit and kind are grouped in the order of their first; what lies outside of units is cut at `most` elements.
std::vector<bucket> buckets_of(const job& j, std::int64_t most) {
  std::vector<bucket> groups;
  for (const auto& p : parameters_of(j)) {
    auto g = std::find_if(groups.begin(), groups.end(), [&](const bucket& b) { return b.unit == p.unit && b.expert == p.expert && b.fp8 == p.fp8; });
    if (g == groups.end()) g = groups.insert(groups.end(), bucket{p.unit, p.expert, p.fp8});
    g->of.push_back(p);
  }
  std::vector<bucket> cut;
  for (const auto& g : groups) {
    bucket now{g.unit, g.expert, g.fp8};
    for (const auto& p : g.of) {
      now.of.push_back(p), now.exact += p.elements();
      if (g.unit < 0 && now.exact >= most) cut.push_back(now), now = {g.unit, g.expert, g.fp8};
    }
    if (!now.of.empty()) cut.push_back(now);
  }
  for (auto& b : cut) {
    auto sorted = b.of;
    std::stable_sort(sorted.begin(), sorted.end(), [](const parameter& x, const parameter& y) { return x.columns > y.columns; });
    auto factor = sorted[0].columns;
    for (const auto& p : sorted)
      if (p.columns != factor && !(factor % p.columns == 0 && p.elements() % factor == 0) && p.elements() >= factor) factor = std::lcm(factor, p.columns);
    b.ranks = b.expert ? j.parallel.data * j.parallel.tensor / (j.parallel.expert * j.parallel.tensor) : j.parallel.data;
    const auto unit = j.sharding.stage > 0 ? b.ranks * factor : 1;
    b.padded = (b.exact + unit - 1) / unit * unit;
  }
  return cut;
}

class under_megatron_fsdp {
 public:
  under_megatron_fsdp(const job& j, amounts always)
      : j_(j), s_(settle(j)), is_(std::move(always)), chunk_(j_, s_, is_, 0, 0), buckets_(buckets_of(j, j.parallel.data > 40 ? 1'000'000 * j.parallel.data : 40'000'000)), there_(buckets_.size(), false) {
    unit_ = j.sharding.communication_unit;
    if (unit_ < 0) {
      std::int64_t inside = 0;
      for (const auto& b : buckets_) inside += b.unit >= 0 ? b.exact : 0;
      unit_ = std::max<std::int64_t>(1'000'000'000, inside / j.model.layers * 2);
    }
    // FixedPoolAllocator: two layers' buffers stay, of the largest group of layers that have buffers alike; of groups as large the first.
    for (std::int64_t i = 0; j.sharding.double_buffer == choice::yes && i < j.model.layers; ++i) {
      std::set<std::int64_t> alike;
      for (std::int64_t k = 0; k < j.model.layers; ++k)
        if (j.model.sparse_layer(k) == j.model.sparse_layer(i)) alike.insert(k);
      if (alike.size() > pool_.size()) pool_ = alike;
    }
    chunk_.around = [this](bool up, bool begins, std::int64_t layer) { up ? forward(begins, layer) : backward(begins, layer); };
    chunk_.head = [this](bool up, bool begins) { up ? head_up(begins) : head_down(begins); };
    chunk_.embedding_down = [this] { embedding_down(); };
  }

  /// Elements of the model's states, and what stays gathered: with what a rank of this strategy has of each bucket.
  [[nodiscard]] amounts states() const {
    amounts r;
    if (j_.parallel.sequence) r[row::communication_buffers] = j_.parallel.tensor * bytes_of_input(j_);  // get_global_memory_buffer("mpu")
    const auto stage = j_.sharding.stage;
    const auto& p = s_.precision;
    for (const auto& b : buckets_) {
      const auto part = [&](std::int64_t n, bool cut) { return cut ? (n + b.ranks - 1) / b.ranks : n; };
      r[row::model_parameters] += width(b) * part(b.padded, stage == 3);
      r[row::master_parameters] += p.master.bits / 8 * part(b.padded, stage >= 1);
      r[row::gradients] += p.gradients.bits / 8 * part(b.padded, stage >= 2);
      r[row::optimizer_state] += 8 * part(b.exact, stage >= 1);
      if (b.unit < 0 && stage == 3 && b.ranks > 1) r[row::gathered_parameters] += width(b) * b.padded;
      if (pool_.empty() || b.unit != *pool_.begin()) continue;
      r[row::gathered_parameters] += 2 * whole_weights(b);
      r[row::communication_buffers] += 2 * whole_gradients(b);
    }
    return r;
  }
  const account& run() {
    const auto input = chunk_.receive();
    (void)chunk_.forward(input, 0);
    (void)chunk_.backward(input, 0);
    for (const auto& b : there_) REQUIRE(!b);
    REQUIRE(queue_.empty());
    is_.look(phase::save);
    return is_;
  }

 private:
  [[nodiscard]] std::string name(const char* what, std::size_t b) const { return std::string(what) + " " + std::to_string(b); }
  [[nodiscard]] static std::int64_t width(const bucket& b) { return b.fp8 ? 1 : 2; }
  [[nodiscard]] std::int64_t whole_weights(const bucket& b) const { return j_.sharding.stage == 3 && b.ranks > 1 ? width(b) * b.padded : 0; }
  [[nodiscard]] std::int64_t whole_gradients(const bucket& b) const { return j_.sharding.stage >= 2 && b.ranks > 1 ? s_.precision.reduce.bits / 8 * b.padded : 0; }
  /// … that come and go.
  [[nodiscard]] std::int64_t gathered_bytes(const bucket& b) const { return pool_.count(b.unit) == 1 ? 0 : whole_weights(b); }
  [[nodiscard]] std::int64_t gradient_bytes(const bucket& b) const { return pool_.count(b.unit) == 1 ? 0 : whole_gradients(b); }
  [[nodiscard]] std::vector<std::size_t> of_unit(std::int64_t unit) const {
    std::vector<std::size_t> r;
    for (std::size_t b = 0; b < buckets_.size(); ++b)
      if (buckets_[b].unit == unit) r.push_back(b);
    return r;
  }
  /// all_gather_params: what is asked for, and buckets in front of it until half a portion is ahead. Those outside of units are there already.
  [[nodiscard]] std::set<std::size_t> asked(const std::vector<std::size_t>& own, bool up) const {
    std::set<std::size_t> all(own.begin(), own.end());
    std::int64_t ahead = 0;
    std::set<std::int64_t> units;  // double_buf_units
    for (const auto b : own)
      if (pool_.count(buckets_[b].unit) == 1) units.insert(buckets_[b].unit);
    auto next = up ? static_cast<std::int64_t>(*all.rbegin()) + 1 : static_cast<std::int64_t>(*all.begin()) - 1;
    while (next >= 0 && next < static_cast<std::int64_t>(buckets_.size()) && ahead < unit_ / 2) {
      const auto b = static_cast<std::size_t>(next);
      units.insert(buckets_[b].unit);
      if (!pool_.empty() && units.size() > 2) break;
      for (const auto k : of_unit(buckets_[b].unit))  // bucket_to_bucket_group
        if (k == b || (buckets_[b].unit >= 0 && buckets_[k].expert == buckets_[b].expert)) all.insert(k), ahead += buckets_[k].padded;
      while (next >= 0 && all.count(static_cast<std::size_t>(next)) == 1) next += up ? 1 : -1;
    }
    return all;
  }
  void gather(std::int64_t layer, bool up) {
    for (const auto b : asked(of_unit(layer), up))
      if (buckets_[b].unit >= 0 && !there_[b]) there_[b] = true, is_.make(name("gathered", b), row::gathered_parameters, gathered_bytes(buckets_[b]));
    for (const auto b : of_unit(layer))
      if (buckets_[b].fp8) is_.make(name("transposed", b), row::gathered_parameters, (s_.layer.fp8_copies - 1) * buckets_[b].padded);
  }
  void release(std::int64_t layer) {
    for (const auto b : of_unit(layer)) {
      there_[b] = false, is_.free(name("gathered", b));
      if (buckets_[b].fp8) is_.free(name("transposed", b));
    }
  }
  void forward(bool begins, std::int64_t layer) { begins ? gather(layer, true) : release(layer); }
  void backward(bool begins, std::int64_t layer) {
    if (begins) {
      gather(layer, false);
      for (const auto b : of_unit(layer)) is_.make(name("gradients", b), row::communication_buffers, gradient_bytes(buckets_[b]));
      return;
    }
    release(layer);
    for (const bool expert : {true, false}) {  // experts' gradients are whole first: the attention's come last
      std::vector<std::size_t> group;
      for (const auto b : of_unit(layer))
        if (buckets_[b].expert == expert) group.push_back(b);
      if (!group.empty()) reduce(group);
    }
  }
  /// reduce_gradients: first the oldest are waited for, until no more than a portion is under way.
  void reduce(const std::vector<std::size_t>& group) {
    while (under_way() > unit_) finish_oldest();
    std::set<std::int64_t> units;  // _enforce_double_buffer_limit
    if (pool_.count(buckets_[group[0]].unit) == 1) units.insert(buckets_[group[0]].unit);
    auto keep = queue_.size();
    for (auto q = queue_.rbegin(); !pool_.empty() && q != queue_.rend(); ++q) {
      units.insert(buckets_[*q].unit);
      if (units.size() > 2) --keep;
    }
    while (queue_.size() > keep) finish_oldest();
    queue_.insert(queue_.end(), group.begin(), group.end());
  }
  [[nodiscard]] std::int64_t under_way() const {
    std::int64_t n = 0;
    for (const auto b : queue_) n += buckets_[b].padded;
    return n;
  }
  /// The buckets of a group, whose norms (2 KiB here) the source may keep for a reduction longer than its matrices.
  void finish_oldest() {
    const auto first = queue_.front();
    while (!queue_.empty() && buckets_[queue_.front()].unit == buckets_[first].unit && buckets_[queue_.front()].expert == buckets_[first].expert) {
      is_.free(name("gradients", queue_.front()));
      queue_.pop_front();
      if (buckets_[first].unit < 0) break;
    }
  }
  /// In a run's first micro-batch the final norm gathers what follows its bucket; the backward thread has no workspace yet.
  void head_up(bool begins) {
    if (!begins) return is_.free("ahead");
    std::int64_t ahead = 0;
    if (j_.sharding.stage == 3 && pool_.empty())  // double buffers are for units
      for (const auto b : asked({of_unit(-1).size() - 1}, true)) ahead += buckets_[b].unit >= 0 ? gathered_bytes(buckets_[b]) : 0;
    is_.make("ahead", row::gathered_parameters, std::max<std::int64_t>(ahead - cublas_workspace(s_).count(), 0));
  }
  /// Buckets of the final norm and of a head of its own are reduced when the head's backward is over; one that has the embedding, too, at the end.
  void head_down(bool begins) {
    head_up(begins);
    if (begins) return;
    for (const auto b : of_unit(-1))
      if (b > 0 || of_unit(-1).size() == 1) {
        is_.make(name("gradients", b), row::communication_buffers, gradient_bytes(buckets_[b]));
        if (b > 0) reduce({b});
      }
    if (j_.model.tied && !s_.layer.fuses_weight_gradients) is_.make("half of the table", row::gradients, 2 * buckets_[0].of[0].elements());
  }
  void embedding_down() {
    if (of_unit(-1).size() > 1) is_.make(name("gradients", 0), row::communication_buffers, gradient_bytes(buckets_[0]));
    is_.look(phase::backward, {{row::gradients, 2 * buckets_[0].of[0].elements()}, {row::temporaries, bytes_of_input(j_)}});
    if (is_.has("half of the table")) is_.free("half of the table");
    while (!queue_.empty()) finish_oldest();
    is_.free(name("gradients", 0));
  }

  const job& j_;
  settled_job s_;
  account is_;
  megatron_chunk chunk_;
  std::vector<bucket> buckets_;
  std::vector<bool> there_;
  std::deque<std::size_t> queue_;
  std::set<std::int64_t> pool_;  // layers with double buffers
  std::int64_t unit_{};
};

job drawn_fsdp(draw::dice& dice) {
  auto j = drawn_pipeline(dice, 1, 1);
  j.parallel.stage_layers[0] = static_cast<std::int32_t>(j.model.layers = dice.pick({1, 2, 5, 9}));
  j.parallel.chunks = 1;
  j.parallel.data = dice.pick({2, 4, 8});
  j.hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = j.parallel.data, .gpus_per_node = j.parallel.tensor};
  if (j.parallel.tensor > 1 && j.model.sparse()) j.parallel.sequence = true;
  if (j.model.sparse()) j.parallel.expert = dice.pick({1, 2}), j.parallel.expert_tensor = j.parallel.tensor;
  j.model.vocab = dice.pick({1024, 32768, 100'096});  // 51.2 million elements are a bucket of their own
  j.model.tied = dice.index(3) == 0;
  j.sharding = megatron_fsdp(dice.pick({0, 1, 2, 3, 3, 3}));
  if (dice.index(4) > 0) j.sharding.communication_unit = dice.pick({1, 5'000'000, 20'000'000, 60'000'000});
  if (j.sharding.stage == 3 && dice.index(3) == 0) j.sharding.double_buffer = choice::yes;
  if (j.model.sparse()) j.model.experts.first_dense_layers = dice.pick({0, 1, 3});
  if (dice.flip()) j.precision = frameworks::megatron.precision;
  if (dice.index(4) == 0) {
    j.precision = {"fp8-parameters", formats::fp8, formats::fp8, formats::bf16, formats::bf16, formats::fp32, formats::fp32};
    j.attention = attention::flash;
    if (dice.flip()) j.hardware.gpu = gpus::b200_sxm_180gb;  // needs no transposes
  }
  j.framework.gradients.fused_accumulation = dice.flip();
  return j;
}

}  // namespace

TEST_CASE("a rank under Megatron-FSDP, bucket by bucket") {
  draw::dice dice(20261127);
  int seen = 0;
  for (int i = 0; i < 200; ++i) {
    const auto j = drawn_fsdp(dice);
    CAPTURE(i);
    CAPTURE(j.model.layers);
    CAPTURE(j.model.experts.count);
    CAPTURE(j.sharding.stage);
    CAPTURE(j.sharding.communication_unit);
    try {
      (void)estimate(j);
    } catch (const job_error& e) {
      MESSAGE(e.what());
      continue;
    }
    const auto r = estimate(j);
    const auto& rank = r.ranks[0];
    const auto always = amounts_of(rank.at_phase[static_cast<std::size_t>(phase::save)]);
    under_megatron_fsdp plain(j, always);
    for (const auto& entry : plain.states()) {
      const auto of = entry.first;
      const auto size = entry.second;
      CAPTURE(static_cast<int>(of));
      CHECK(size == (always.count(of) == 1 ? always.at(of) : 0));
    }
    check_rank(rank, plain.run(), {phase::forward, phase::loss_forward, phase::backward, phase::save});
    ++seen;
  }
  CHECK(seen >= 80);
}

}  // namespace test_megatron_fsdp_account
