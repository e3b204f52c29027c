// Distributed under the Boost Software License, Version 1.0.
// What Ray starts: a RayJob of KubeRay's, and `ray job submit` in a script, with the environment that either gives to its processes.
#include <doctest/doctest.h>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_ray {

using namespace imported;

namespace {

/// verl's trainer on so many nodes of 8 GPUs (verl examples/ppo_trainer, in its own words).
std::string verl(int nodes) {
  return "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size=256 data.max_prompt_length=512 data.max_response_length=256 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct "
         "actor_rollout_ref.actor.ppo_mini_batch_size=64 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.n=4 "
         "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=8 actor_rollout_ref.rollout.tensor_model_parallel_size=1 actor_rollout_ref.rollout.gpu_memory_utilization=0.4 "
         "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=4 algorithm.use_kl_in_reward=False actor_rollout_ref.model.use_remove_padding=True trainer.n_gpus_per_node=8 trainer.nnodes=" + std::to_string(nodes);
}

/// ray-project/kuberay apis/ray/v1: a head and a group of workers, with these lines in the job, the cluster and the head.
imported::text ray_job(const std::string& entrypoint, int workers, const std::string& job = {}, const std::string& group = {}, const std::string& head = {}) {
  const auto pod = [](const std::string& limits) {
    return "        template:\n          spec:\n            nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}\n            containers:\n            - name: ray\n              resources: {limits: {" + limits + "}}\n";
  };
  return {"ray.yaml", "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: a}\nspec:\n  entrypoint: " + entrypoint + "\n" + job + "  rayClusterSpec:\n    headGroupSpec:\n" + head + pod(head.empty() ? "cpu: 8" : "nvidia.com/gpu: 8") +
                          "    workerGroupSpecs:\n      - groupName: gpu\n        replicas: " + std::to_string(workers) + "\n" + group + pod("nvidia.com/gpu: 8, memory: 512Gi")};
}

}  // namespace

TEST_CASE("a RayJob's machines are its pods with GPUs") {
  const auto j = job_of({ray_job(verl(2), 2)}, {"rollout.sleep=2"});
  CHECK(j.hardware.nodes == 2);
  CHECK(j.hardware.gpus_per_node == 8);
  CHECK(j.hardware.gpu == gpus::h100_sxm_80gb);
  CHECK(j.hardware.host_memory == 512_GiB);
  CHECK(j.objective.kind == objective_kind::grpo);
  CHECK(j.model == models::qwen2_5_7b);

  const auto why = [](const imported::text& manifest) { return refusal_of({manifest}, {"rollout.sleep=2"}); };
  CHECK(why(ray_job(verl(2), 4)).empty());  // Ray gives what is asked for; the rest waits
  CHECK(holds(why(ray_job(verl(4), 2)), "ray.yaml:5: 2 machines are asked for, and its command trains on 4 nodes (ray.yaml:5): one of the two must change"));
  CHECK(why(ray_job(verl(4), 2, {}, "        numOfHosts: 2\n")).empty());
  CHECK(holds(why(ray_job(verl(3), 2, {}, "        maxReplicas: 4\n")), "2 machines are asked for"));  // nobody scales it
  auto scaled = ray_job(verl(3), 2, {}, "        maxReplicas: 4\n");
  scaled.said += "    enableInTreeAutoscaling: true\n";
  CHECK(why(scaled).empty());
  scaled.said.replace(scaled.said.find("maxReplicas: 4"), 14, "maxReplicas: 2");
  CHECK(holds(why(scaled), "2 machines are asked for"));
  CHECK(why(ray_job(verl(3), 2, {}, "        maxReplicas: 4\n", "        rayStartParams: {dashboard-host: 0.0.0.0}\n")).empty());  // the head has GPUs, too
  CHECK(holds(why(ray_job(verl(3), 2, {}, {}, "        rayStartParams: {num-gpus: \"0\"}\n")), "2 machines are asked for"));  // … which Ray is told not to use
  CHECK(holds(why({"ray.yaml", "apiVersion: ray.io/v1\nkind: RayJob\nspec:\n  entrypoint: python a.py\n  clusterSelector: {ray.io/cluster: a}\n"}), "runs on a cluster of another object (clusterSelector)"));
  CHECK(holds(why({"ray.yaml", "apiVersion: ray.io/v1\nkind: RayJob\nspec:\n  rayClusterSpec: {headGroupSpec: {}}\n"}), "entrypoint must be the command that the RayJob starts"));
  CHECK(holds(why({"ray.yaml", "apiVersion: ray.io/v1\nkind: RayCluster\nspec: {}\n"}), "a RayCluster of Kubernetes is not read"));
  CHECK(holds(why(ray_job("python train.py", 2)), "train.py"));
}

TEST_CASE("the environment that Ray gives") {
  using enum choice;
  const auto segments = [](const std::vector<imported::text>& files) { return job_of(files, {"rollout.sleep=2", "hardware.gpu=h100-sxm-80gb"}).environment.expandable_segments; };
  const std::string expands = "PYTORCH_CUDA_ALLOC_CONF: \"expandable_segments:True\"";
  CHECK(segments({ray_job(verl(2), 2)}) == unset);
  CHECK(segments({ray_job(verl(2), 2, "  runtimeEnvYAML: |\n    working_dir: ./\n    env_vars:\n      " + expands + "\n")}) == yes);
  CHECK(holds(refusal_of({ray_job(verl(2), 2, "  runtimeEnvYAML: |\n    env_vars:\n      PYTORCH_CUDA_ALLOC_CONF: \"backend:cudaMallocAsync\"\n")}), "backend \"cudaMallocAsync\" is not modelled"));

  const auto script = [](const std::string& options) { return imported::text{"run.sh", "ray job submit --address=http://127.0.0.1:8265 " + options + " -- " + verl(2) + "\n"}; };
  CHECK(segments({script("")}) == unset);
  CHECK(segments({script(R"(--runtime-env-json='{"working_dir": "/openrlhf"}')")}) == unset);
  CHECK(segments({script(R"(--runtime-env-json='{"env_vars": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}}')")}) == yes);
  CHECK(segments({script(R"(--no-wait --runtime-env-json '{"env_vars": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:False"}}')")}) == no);
  const imported::text file{"runtime_env.yaml", "working_dir: ./\nexcludes: [\"/.git/\"]\nenv_vars:\n  TORCH_NCCL_AVOID_RECORD_STREAMS: \"1\"\n  " + expands + "\n"};
  CHECK(segments({script("--runtime-env=verl/trainer/runtime_env.yaml"), file}) == yes);
  CHECK(segments({file, script("--runtime-env verl/trainer/runtime_env.yaml")}) == yes);
  CHECK(holds(refusal_of({script("--runtime-env=\"${RUNTIME_ENV}\"")}), "run.sh:1: runtime-env = \"$RUNTIME_ENV\" is not modelled by this version (whose env_vars may say how PyTorch allocates: give that file, too)"));
  CHECK(holds(refusal_of({script("--runtime-env-json='{\"env_vars\": '")}), "run.sh:1: --runtime-env-json"));
  CHECK(holds(refusal_of({script("--runtime-env-json='{\"env_vars\": [1]}'")}), "an object of names and values"));
  // Whatever starts Ray's command, its options are behind "submit".
  for (const char* before : {"", "exec ", "time ", "env A=1 ", "env A=1 B=2 ", "uv run "}) {
    CAPTURE(before);
    CHECK(segments({{"run.sh", before + std::string{R"(ray job submit --runtime-env-json='{"env_vars": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}}' -- )"} + verl(2) + "\n"}}) == yes);
  }
  // "--" ends Ray's options: a wrapper behind it has its own.
  CHECK(refusal_of({{"run.sh", "ray job submit -- env --runtime-env-json='{\"env_vars\": [1]}' " + verl(2) + "\n"}}, {"rollout.sleep=2"}).empty());
  CHECK(holds(refusal_of({{"run.sh", "ray job submit --no-wait env --runtime-env-json='{\"env_vars\": [1]}' " + verl(2) + "\n"}}, {"rollout.sleep=2"}), "an object of names and values"));
}

}  // namespace test_ray

#endif
