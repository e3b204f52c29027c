// Distributed under the Boost Software License, Version 1.0.
// A trainer and an engine that take turns on a GPU: each program's own order of calls, with everything that is there by its name, over drawn jobs.
// Sources: TRL generation/vllm_generation.py sync_weights, generate; ms-swift rlhf_trainers/rollout_mixin.py _fast_infer, _move_full_model_to_vllm,
// split_batches, offload_model, offload_optimizer; verl workers/fsdp_workers.py rollout_mode, trainer_mode; PEFT tuners/lora/layer.py get_delta_weight.
#include "../estimate/dice.hpp"

#include <headroom/hardware/gpu.hpp>
#include <headroom/estimate.hpp>
#include <headroom/framework/frameworks.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace test_turns {

using namespace headroom;

namespace {

using long64 = std::int64_t;

/// What is there, by name, and the most of each phase.
struct card {
  std::map<std::string, long64> there;
  std::map<std::string, long64> most;
  std::string now;
  void look() {
    long64 sum = 0;
    for (const auto& [name, size] : there) sum += size;
    const auto [at, made] = most.emplace(now, sum);
    if (!made) at->second = std::max(at->second, sum);
  }
  void put(const std::string& name, long64 size) { there[name] += size, look(); }
  void drop(const std::string& name) { there.erase(name), look(); }
};

/// A Llama whose tensors are multiples of what allocators and ranks divide by.
struct sizes {
  long64 table{}, tables{}, layer{}, layers{}, hidden{}, widest{}, adapters{}, merged{}, engine{};
  [[nodiscard]] long64 outside() const { return tables * table + hidden; }
  [[nodiscard]] long64 all() const { return layers * layer + outside(); }
};
sizes sizes_of(const job& j) {
  const auto& m = j.model;
  const auto q = m.heads * 64, kv = m.kv_heads * 64, t = j.rollout.tensor;
  struct matrix {
    module is;
    long64 out, in;
    bool by_rows;
  };
  const std::vector<matrix> all{{module::q_proj, q, m.hidden, true}, {module::k_proj, kv, m.hidden, true}, {module::v_proj, kv, m.hidden, true}, {module::o_proj, m.hidden, q, false},
                                {module::gate_proj, m.ffn, m.hidden, true}, {module::up_proj, m.ffn, m.hidden, true}, {module::down_proj, m.hidden, m.ffn, false}};
  sizes r{.table = m.vocab * m.hidden, .tables = m.tied ? 1 : 2, .layer = 2 * m.hidden, .layers = m.layers, .hidden = m.hidden};
  r.widest = r.table;
  r.engine = m.hidden + r.tables * ((m.vocab + 63) / 64 * 64) * m.hidden / t;
  for (long64 l = 0; l < m.layers; ++l) {
    r.engine += 2 * m.hidden;
    for (const auto& w : all) {
      const bool keys = w.is == module::k_proj || w.is == module::v_proj;
      r.engine += keys ? std::max<long64>(m.kv_heads / t, 1) * 64 * w.in : w.out * w.in / t;  // each GPU has at least one head of keys
      if (l > 0) continue;
      r.layer += w.out * w.in;
      r.widest = std::max(r.widest, w.out * w.in);
      if (!j.adapter.active() || !j.adapter.targets.has(w.is)) continue;
      r.adapters += m.layers * j.adapter.rank * (w.out + w.in);
      r.merged = std::max(r.merged, w.out * w.in);
    }
  }
  return r;
}

job draw_one(draw::dice& d) {
  job j;
  j.model = {.layers = d.pick({2, 4, 6}), .hidden = 1024, .heads = d.pick({8, 16}), .kv_heads = d.pick({2, 8}), .head_dim = 64, .ffn = d.pick({2048, 4096}), .vocab = d.pick({1000, 32'000}), .tied = d.flip()};
  j.hardware = {.gpu = d.flip() ? gpus::h100_sxm_80gb : gpus::a100_sxm_40gb, .nodes = 1, .gpus_per_node = d.pick({2, 4})};
  j.batch = {.micro = d.pick({1, 4}), .sequence = 512, .accumulation = 2};
  j.recompute = recompute::full;
  j.attention = attention::flash;
  const method_code codes[] = {method_code::trl, method_code::ms_swift, method_code::verl};
  j.objective = {.kind = objective_kind::grpo, .code = codes[d.index(3)], .reference = reference_way::none};
  j.rollout = {.engine = d.index(4) == 0 ? engine_kind::sglang : engine_kind::vllm, .placement = rollout_place::colocated, .share = memory_share::of(0.1 * static_cast<double>(2 + d.index(5))),
               .tensor = d.pick({1, 2}), .sleep = static_cast<std::int32_t>(d.index(3)), .batched_tokens = d.pick({1024, 4096}), .prompt = 256, .completion = 256};
  const bool verl = j.objective.code == method_code::verl;
  if (j.rollout.engine == engine_kind::sglang) j.rollout.sleep = 0;
  const bool fsdp = verl || (j.objective.code == method_code::trl && d.index(3) == 0);
  if (fsdp) {
    j.framework = frameworks::hf_trainer;
    j.sharding = d.flip() ? fsdp1() : fsdp2();
    j.precision = {.parameters = formats::fp32, .compute = formats::bf16, .gradients = formats::fp32, .reduce = formats::fp32, .master = formats::none, .state = formats::fp32};
  } else {
    j.framework = frameworks::deepspeed;
    j.sharding = zero(d.pick({0, 2, 3, 3}));
    j.precision = precisions::bf16_mixed;
  }
  const bool adapts = !fsdp && d.flip();
  if (adapts) j.adapter = {.kind = adapter_kind::lora, .rank = 16, .targets = d.flip() ? all_linear : module_set{module::q_proj, module::v_proj}, .format = formats::bf16};
  if (j.rollout.sleep > 0 && j.objective.code != method_code::trl) {
    if (d.flip()) j.rollout.trainer_moves.add(trainer_part::optimizer);
    if (d.flip() && (verl || j.sharding.stage >= 2)) j.rollout.trainer_moves.add(trainer_part::weights);
  }
  if (j.objective.code == method_code::ms_swift) j.rollout.sync_groups = d.pick({1, 2, 3});
  if (verl && d.flip()) j.rollout.sync_bucket_mib = 0;
  return j;
}

/// The rank's card, from the end of an update to the end of generation, above what is there between.
card turn(const job& j, const rank_report& rank) {
  const auto z = sizes_of(j);
  const auto& r = j.rollout;
  const auto n = j.hardware.gpus();
  const bool adapts = j.adapter.active(), whole = j.sharding.kind == sharding_kind::zero && j.sharding.stage < 3;
  const long64 width = j.precision.parameters.bits / 8, weights = 2 * z.engine;
  // vLLM: math.ceil(total_memory × share), of which weights, a forward and keys with values are parts. SGLang: of what is free.
  const auto parts = (j.hardware.gpu.memory.count() * r.share.per_million + 999'999) / 1'000'000;
  const long64 forward = 2 * r.batched_tokens * (2 * j.model.hidden + 3 * j.model.ffn / r.tensor);
  const auto rows = rank.at_phase[static_cast<std::size_t>(phase::step)];
  const auto in_use = rank.outside.context.count() + rows[row::model_parameters].count() + rows[row::adapters].count();
  const auto share = r.engine == engine_kind::vllm ? parts : ((j.hardware.gpu.memory.count() - in_use) * r.share.per_million + 999'999) / 1'000'000 + forward;
  card c;
  const auto wake = [&](const char* name, long64 size) { r.sleep > 0 ? c.put(name, size) : c.look(); };
  const long64 trained = adapts ? z.adapters : z.all(), moments = (r.trainer_moves.has(trainer_part::optimizer) ? 8 : 0) * trained / (whole && j.sharding.stage == 0 ? 1 : n);
  const bool leaves = r.trainer_moves.has(trainer_part::weights);
  c.now = "sync";
  if (j.objective.code == method_code::verl) {
    c.there["optimizer on the host"] = -moments;  // since update_actor was over
    const bool copies = j.sharding.kind == sharding_kind::fsdp1;
    if (copies) {
      c.put("state_dict", width * z.all() / n);
      c.put("unit", width * std::max(z.layer, z.outside()));  // gathered, to be cut as tensors
      c.drop("unit");
    }
    const long64 shards = copies && leaves ? width * z.all() / n : 0;
    c.put("offload_fsdp_model_to_cpu", -shards);
    wake("weights", weights);
    c.put("full_tensor", width * z.widest);
    if (r.engine == engine_kind::sglang)
      c.put("bucket", 2 * std::max<long64>(r.sync_bucket_mib == 0 ? 0 : 2048LL << 20, width * z.widest));  // clones as they are, while the engine reads the bucket before (sglang_rollout/utils.py get_named_tensor_buckets)
    else if (r.sync_bucket_mib != 0)
      c.put("bucket", (2048LL << 20) + 2 * z.widest);
    c.drop("full_tensor"), c.drop("bucket"), c.drop("state_dict"), c.drop("offload_fsdp_model_to_cpu");
  } else {
    if (leaves) c.there["looks into the buffers again"] = -2 * trained / (whole ? 1 : n);  // ms-swift, since the update
    wake("weights", weights);
    const auto groups = r.sync_groups;
    const auto each = (z.layers + groups - 1) / groups;
    if (j.sharding.kind == sharding_kind::fsdp1) {
      c.put("unit", width * std::max(z.layer, z.outside()));
    } else if (!whole && j.objective.code == method_code::trl) {
      c.put("gathered", width * (adapts ? z.all() + z.adapters : z.widest));
    } else if (!whole) {
      const auto group = groups == 1 ? z.all() + z.adapters : std::max(each * (z.layer + z.adapters / z.layers), z.outside());
      c.put("gathered", width * group);
    }
    if (adapts) c.put("delta_weight", 2 * 2 * z.merged);  // B·A, and that times the scale
    c.drop("delta_weight"), c.drop("gathered"), c.drop("unit");
  }
  c.now = "generate";
  c.there.erase("optimizer on the host");
  c.there.erase("looks into the buffers again");
  c.there["optimizer on the host"] = -moments;
  if (leaves) c.there["parameters on the host"] = -(j.sharding.kind == sharding_kind::zero ? 2 * (z.all() + z.adapters) / (whole ? 1 : n) : width * z.all() / n);
  wake("keys and values", share - weights);
  return c;
}

}  // namespace

TEST_CASE("who is on the card when, over drawn jobs of TRL, ms-swift and verl") {
  draw::dice dice{2026'1127'04};
  int read = 0, of[3]{};
  for (int n = 0; n < 300; ++n) {
    const auto j = draw_one(dice);
    if (objection_to(j)) continue;
    const auto rank = estimate(j).ranks[0];
    ++read;
    ++of[j.objective.code == method_code::trl ? 0 : j.objective.code == method_code::ms_swift ? 1 : 2];
    CAPTURE(n);
    CAPTURE(static_cast<int>(j.objective.code));
    CAPTURE(static_cast<int>(j.sharding.kind));
    CAPTURE(j.sharding.stage);
    CAPTURE(j.adapter.rank);
    CAPTURE(static_cast<int>(j.rollout.engine));
    CAPTURE(j.rollout.sleep);
    CAPTURE(j.rollout.tensor);
    CAPTURE(j.rollout.sync_groups);
    CAPTURE(j.rollout.trainer_moves.bits);
    const auto c = turn(j, rank);
    CHECK((rank[phase::sync] - rank[phase::save]).count() == c.most.at("sync"));
    CHECK((rank[phase::generate] - rank[phase::save]).count() == c.most.at("generate"));
    // While the trainer works an engine that sleeps takes nothing, and one that never sleeps all that it has.
    auto apart = j;
    apart.rollout = {.engine = engine_kind::vllm, .placement = rollout_place::separate, .prompt = 256, .completion = 256};
    const auto alone = estimate(apart).ranks[0];
    const auto twice = j.rollout.trainer_moves.has(trainer_part::weights) && j.objective.code == method_code::ms_swift;  // DeepSpeed's flat partitions, as well
    const auto z = sizes_of(j);
    const auto again = twice ? 2 * (j.adapter.active() ? z.adapters : z.all()) / (j.sharding.stage < 3 ? 1 : j.hardware.gpus()) : 0;
    for (const auto p : {phase::forward, phase::loss_forward, phase::backward, phase::step, phase::save}) {
      const auto more = (rank[p] - alone[p]).count() - again;
      CHECK(more == (j.rollout.sleep > 0 ? 0 : (rank.at_phase[static_cast<std::size_t>(phase::step)][row::rollout_engine] + rank.at_phase[static_cast<std::size_t>(phase::step)][row::kv_cache]).count()));
    }
  }
  CHECK(read > 150);
  for (const auto k : of) CHECK(k > 30);
}

}  // namespace test_turns
