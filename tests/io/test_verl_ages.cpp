// Distributed under the Boost Software License, Version 1.0.
// How old verl is by the keys of its command, key by key, and what its releases do where a command is silent: one row a release, both sides of each change.
// Source: volcengine/verl v0.3.0.post1, v0.4.0, v0.5.0, v0.6.1 and v0.7.0: verl/trainer/config/ppo_trainer.yaml, rollout/rollout.yaml, model/hf_model.yaml.
#include "imported.hpp"

#include <headroom/headroom.hpp>
#include <headroom/io/launchers/verl/ages.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace test_verl_ages {

using namespace imported;

namespace {

std::vector<std::string> keys_of(std::string_view list) {
  std::vector<std::string> r(1);
  for (const char c : list) {
    if (c == '|') r.emplace_back();
    else r.back() += c;
  }
  return r;
}
std::int32_t age(const std::vector<std::string>& words) {
  std::vector<io::shell_word> all;
  for (const auto& w : words) all.push_back({.text = w});
  return io::detail::verl_release_with(all);
}
/// Silent of what releases differ in.
const std::string bare =
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.max_prompt_length=512 data.max_response_length=1024 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B actor_rollout_ref.rollout.name=vllm "
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 actor_rollout_ref.rollout.n=8 trainer.n_gpus_per_node=8 ";
const std::string packs = "actor_rollout_ref.model.use_remove_padding=True ", eager = "actor_rollout_ref.rollout.enforce_eager=";

}  // namespace

TEST_CASE("each key that a release brought says that a command is no older") {
  for (const auto& key : keys_of(io::detail::verl_since_04)) {
    CAPTURE(key);
    CHECK(age({key + "=1"}) == 4);
    CHECK(age({"+" + key + "=1"}) == 0);  // Hydra's: a key that the configuration does not have
    CHECK(age({key + ".more=1"}) == 0);
    CHECK(age({"trainer.nnodes=2", key + "=1"}) == 4);
  }
  for (const auto& key : keys_of(io::detail::verl_since_07)) {
    CAPTURE(key);
    CHECK(age({key + "=1"}) == 7);
    CHECK(age({"+" + key + "=1"}) == 0);
    CHECK(age({key + "=1", "trainer.device=cuda"}) == 7);
    CHECK(age({"trainer.device=cuda", key + "=1"}) == 7);
  }
  CHECK(age({}) == 0);
  CHECK(age({"trainer.nnodes=2"}) == 0);
}

TEST_CASE("what a silent command means, release by release") {
  struct row {
    const char* release;
    bool modelled, packed, graphs;  ///< by default
  };
  for (const auto& r : {row{"0.3", false, false, false}, row{"0.4", true, false, false}, row{"0.5", true, false, false}, row{"0.6", true, false, true}, row{"0.7", true, true, true}}) {
    CAPTURE(std::string{r.release});
    const std::vector<std::string> of{std::string{"environment.verl="} + r.release};
    const auto text = [&](const std::string& more) { return std::vector<imported::text>{{"run.sh", bare + more + "\n"}}; };
    if (!r.modelled) {
      CHECK(holds(refusal_of(text(packs), of), "is modelled as of its release 0.4"));
      continue;
    }
    // Nothing but the graphs is open: a command that says them is the same job.
    const auto silent = job_of(text(packs), of);
    CHECK((silent.rollout.graphs == choice::no) == !r.graphs);
    CHECK(job_of(text(packs + eager + (r.graphs ? "False" : "True")), of).rollout.graphs == silent.rollout.graphs);
    CHECK(job_of(text(packs + eager + (r.graphs ? "True" : "False")), of).rollout.graphs != silent.rollout.graphs);
    // Samples are padded, or packed.
    CHECK((job_of(text(""), of) == silent) == r.packed);
  }
}

TEST_CASE("a key of 0.7 leaves nothing open that a key of 0.4 does") {
  const auto why = [&](const std::string& more) { return refusal_of({{"run.sh", bare + more + "\n"}}); };
  const std::string since_04 = "trainer.val_before_train=False ", since_07 = "actor_rollout_ref.actor.calculate_entropy=False ";
  CHECK(holds(why(packs), "before 0.4 (2025-06)"));
  CHECK(holds(why(since_04 + eager + "False"), "use_remove_padding is not given, and is false in verl before 0.7"));
  CHECK(job_of({{"run.sh", bare + since_07 + "\n"}}).rollout.graphs != choice::no);
}

}  // namespace test_verl_ages
