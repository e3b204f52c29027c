// Distributed under the Boost Software License, Version 1.0.
// An export is the same job or a refusal: what is written, read beside what its target leaves to others, has the job's report and step time. Jobs are
// drawn over every key of a job file.
#include <doctest/doctest.h>

#include <headroom/cost/cost.hpp>
#include <headroom/estimate.hpp>

#include "fitting_jobs.hpp"
#include "imported.hpp"

namespace test_export_law {

using namespace headroom;
using enum io::export_target;

namespace {

/// What a target's file leaves to others, and what its file is called. Programs over the Trainer name a model where the library knows it.
struct target_file {
  io::export_target target;
  const char* name;
  std::vector<std::string> beside;
};
const std::vector<std::string> launched{"hardware", "environment", "batch.lengths", "ignored_keys", "assumed_defaults"};  // lengths are the data's, which the file says
const std::vector<std::string> of_engine{"model", "hardware", "framework", "optimizer", "parallel", "batch.sequence", "batch.padded", "batch.packed", "batch.lengths", "recompute", "attention", "recurrence", "kernels", "loss", "adapter", "trainable", "dropout", "compile", "environment", "objective", "rollout", "evaluation", "fake_quantization", "ignored_keys", "assumed_defaults"};
const target_file files[] = {{deepspeed, "ds.json", of_engine},       {hf_trainer, "run.yaml", launched}, {trl, "run.yaml", launched},
                             {llama_factory, "run.yaml", launched}, {axolotl, "run.yaml", launched},    {megatron, "run.sh", {"hardware", "environment"}},
                             {torchtitan, "run.toml", {"model", "hardware", "framework.name", "framework.version", "environment", "attention", "dropout"}}};

io::json_value only(const io::json_value& whole, const std::vector<std::string>& keys) {
  auto r = io::json_value::object();
  for (const auto& key : keys) {
    const auto dot = key.find('.');
    const auto section = key.substr(0, dot);
    if (!whole.contains(section)) continue;
    if (dot == std::string::npos)
      r[key] = whole[key];
    else if (const auto inner = key.substr(dot + 1); whole[section].contains(inner))
      r[section][inner] = whole[section][inner];
  }
  return r;
}

/// The keys of a job that stand beside a target's file.
io::json_value beside(const job& j, io::export_target target) {
  auto whole = io::job_to_json(io::stated(j));
  for (const auto& f : files) {
    if (f.target != target) continue;
    auto r = only(whole, f.beside);
    const auto* known = models::find(j.model.label.view());
    if (f.beside == launched && (known == nullptr || *known != j.model)) r["model"] = whole["model"];
    return r;
  }
  if (whole.contains("hardware"))
    for (const auto* key : {"nodes", "gpus_per_node"}) whole["hardware"].erase(key);
  if (target == accelerate && j.framework.label.view() != "deepspeed") {
    for (const auto* key : {"sharding", "precision", "compile"}) whole.erase(key);
    if (j.sharding.fully_sharded() && whole.contains("offload"))
      for (const auto* key : {"parameters", "optimizer"}) whole["offload"].erase(key);
  }
  if (target != accelerate && whole.contains("environment"))
    for (const auto* key : {"allocator", "cublas_workspace", "nccl_buffsize"}) whole["environment"].erase(key);
  return whole;
}

job again(const job& j, const std::string& text, io::export_target target) {
  io::draft d;
  d.job = beside(j, target);
  d.read.push_back(io::file_kind::job);
  std::string name = target == accelerate ? "accelerate.yaml" : "run.sh";
  for (const auto& f : files)
    if (f.target == target) name = f.name;
  if (name == "run.yaml" && j.framework.label.view() == "deepspeed") io::import_file(d, io::exported(j, deepspeed), "ds.json", io::file_kind::unknown, imported::settings());
  io::import_file(d, text, name, io::file_kind::unknown, imported::settings());
  return d.settled();
}

/// What a job's estimate says; nothing where it is refused. Assumptions are what a file states more of.
struct answer {
  report occupies{};
  double seconds{};
  bool refused{};
  explicit answer(const job& j) {
    try {
      occupies = estimate(j);
      occupies.assumptions = {};
      seconds = cost(j).step.value;
    } catch (const job_error&) {
      refused = occupies.size == 0;
    }
  }
  bool operator==(const answer&) const = default;
};

/// A target's program reads YAML or TOML, for which there may be no library.
bool readable(io::export_target target) {
#if !HEADROOM_HAS_YAML
  if (target == accelerate || target == hf_trainer || target == trl || target == llama_factory || target == axolotl) return false;
#endif
#if !HEADROOM_HAS_TOML
  if (target == torchtitan) return false;
#endif
  return io::export_targets.size() > static_cast<std::size_t>(target);
}

}  // namespace

TEST_CASE("an export is the same job, or a refusal") {
  draw::jobs jobs{20261121};
  draw::dice dice{20261127};
  std::array<int, io::export_targets.size()> written{}, refused{};
  const int all = draw::watched(4000);
  for (int i = 0; i < all; ++i) {
    const auto which = static_cast<std::size_t>(i) % io::export_targets.size();
    const auto target = io::export_targets[which].value;
    if (!readable(target)) continue;
    job j;
    try {
      j = changed::with_changes(dice.index(4) == 0 ? jobs.next() : changed::fit_for(changed::drawn_for(target, jobs), target, dice), dice, 2);
    } catch (const job_error&) {
      continue;  // no job
    }
    const answer before{j};
    if (before.refused) continue;
    std::string text;
    try {
      text = io::exported(j, target);
    } catch (const job_error& e) {
      CHECK(std::string_view{e.what()}.starts_with("headroom: "));
      ++refused[which];
      continue;
    }
    ++written[which];
    CAPTURE(io::job_to_json(j).dump());
    CAPTURE(text);
    job back;
    REQUIRE_NOTHROW(back = again(j, text, target));
    CHECK((answer{back} == before));
  }
  for (std::size_t i = 0; i < written.size(); ++i) {
    CAPTURE(io::export_targets[i].text);
    if (readable(io::export_targets[i].value)) CHECK(written[i] >= all / 150);  // enough to have met most keys; how many it is hangs on the dice
    if (io::export_targets[i].value != torchrun && readable(io::export_targets[i].value)) CHECK(refused[i] > 0);
  }
}

}  // namespace test_export_law
