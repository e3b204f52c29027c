// Distributed under the Boost Software License, Version 1.0.
// Kubernetes manifests and SkyPilot tasks: the command that they start, on the machines that they ask for.
#include <doctest/doctest.h>

#include "imported.hpp"

#if HEADROOM_HAS_YAML

namespace test_manifests {

using namespace imported;

namespace {

const std::string sft = "trl/scripts/sft.py --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name x --max_length 2048 --per_device_train_batch_size 4 --bf16 --output_dir o";

job with_environment(const std::vector<imported::text>& files, const io::shell_values& environment, const std::vector<std::string>& set = {}) {
  auto with = settings();
  with.script.environment = environment;
  io::draft d;
  std::vector<io::import_input> all;
  for (const auto& f : files) all.push_back(io::input_of(f.said, f.file, io::file_kind::unknown, with));
  io::import_files(d, std::move(all), with);
  for (const auto& s : set) io::say_key(d, s);
  if (!d.has({"hardware", "gpu"})) d.say({"hardware", "gpu"}, "h100-sxm-80gb", "--gpu");
  return d.settled();
}

/// A PyTorchJob of a master and workers, with these lines in its spec and in the spec of its pods.
imported::text pytorch_job(int workers, const std::string& command, const std::string& limits, const std::string& spec = {}, const std::string& pod = {}) {
  const auto role = [&](const std::string& name, int replicas) {
    return "    " + name + ":\n      replicas: " + std::to_string(replicas) + "\n      template:\n        spec:\n" + pod +
           "          containers:\n          - name: pytorch\n            command: [bash, -c]\n            args:\n            - |\n              " + command + "\n            resources:\n              limits: {" + limits + "}\n";
  };
  return {"job.yaml", "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec:\n" + spec + "  pytorchReplicaSpecs:\n" + role("Master", 1) + (workers > 0 ? role("Worker", workers) : std::string{})};
}

}  // namespace

// aws-samples/awsome-distributed-training: a template whose ${NAME} are filled in, beside a service and a deployment that train nothing.
TEST_CASE("a PyTorchJob of Megatron's, from a template") {
  const auto manifest = launch_file("kubernetes-megatron-gpt3", "pytorchjob.yaml");
  io::shell_values environment{{"NUM_NODES", "2"}, {"GPU_PER_NODE", "8"}, {"TENSOR_PARALLEL", "4"}, {"PIPELINE_PARALLEL", "2"}, {"NUM_LAYERS", "36"}, {"HIDDEN_SIZE", "4096"},
                               {"NUM_ATTENTION_HEADS", "32"}, {"SEQ_LENGTH", "2048"}, {"MAX_POSITION_EMBEDDINGS", "2048"}, {"MICRO_BATCH_SIZE", "1"}, {"GLOBAL_BATCH_SIZE", "288"}};
  const auto j = with_environment({manifest}, environment, {"model.vocab=50257"});
  CHECK(j.hardware.nodes == 2);
  CHECK(j.hardware.gpus_per_node == 8);
  CHECK(j.parallel.tensor == 4);
  CHECK(j.parallel.pipeline == 2);
  CHECK(j.model.layers == 36);
  CHECK(j.batch == batch{.micro = 1, .sequence = 2048, .accumulation = 144});  // 288 samples over two replicas
  CHECK(j.precision.compute == formats::fp16);
  CHECK(j.environment.expandable_segments == choice::yes);
  CHECK(j.recompute.mode == recompute_mode::selective);  // --recompute-activations

  CHECK(holds(refusal_of({manifest}), "pytorchjob.yaml:75: replicas is \"${NUM_NODES}\", which the file itself does not say: add --env NAME=VALUE"));
  const auto why = [&](const std::string& name, const std::string& value) {
    auto other = environment;
    for (auto& [n, v] : other)
      if (n == name) v = value;
    try {
      with_environment({manifest}, other, {"model.vocab=50257"});
    } catch (const headroom::error& e) {
      return std::string{e.what()};
    }
    return std::string{};
  };
  CHECK(why("NUM_LAYERS", "36").empty());
  CHECK(holds(why("GPU_PER_NODE", "many"), "nvidia.com/gpu must be a whole number"));
}

// skypilot-org/skypilot llm/llama-3_1-finetuning: on 8 A100, with the recipe that its run names.
TEST_CASE("a SkyPilot task of torchtune's") {
  const std::vector<imported::text> files{launch_file("skypilot-torchtune-lora", "lora.yaml"), launch_file("skypilot-torchtune-lora", "8B-lora.yaml")};
  const auto j = job_of(files);
  CHECK(j.hardware.gpu == gpus::a100_sxm_40gb);
  CHECK(j.hardware.gpus_per_node == 8);
  CHECK(j.hardware.nodes == 1);
  CHECK(j.model == models::llama_3_1_8b);
  CHECK(j.adapter.rank == 8);
  CHECK(j.batch == batch{.micro = 2, .sequence = 2096, .accumulation = 32, .packed = true});
  CHECK(job_of({files[1], files[0]}) == j);
  CHECK(!refusal_of({files[0]}).empty());  // the recipe says what trains
}

TEST_CASE("any of a SkyPilot task's own keys beside its command says that it is one") {
  const std::string run = "run: |\n  torchrun --nproc_per_node 4 run_clm.py --model_name_or_path gpt2 --do_train --dataset_name x --output_dir o --bf16 True --per_device_train_batch_size 2 --block_size 512\n";
  for (const std::string key : {"resources: {accelerators: H100:4}\n", "num_nodes: 1\n", "setup: pip install x\n", "file_mounts: {/a: b}\n"}) {
    CAPTURE(key);
    const auto why = refusal_of({{"task.yaml", key + run}});
    CHECK(why == "");
    if (why.empty()) CHECK(job_of({{"task.yaml", key + run}}).batch.micro == 2);
  }
  CHECK(holds(refusal_of({{"task.yaml", run}}), "task.yaml is not a file that is known here"));
  CHECK(holds(refusal_of({{"task.yaml", "num_nodes: 1\nrun: [a]\n"}}), "task.yaml is not a file that is known here"));
}

TEST_CASE("what torchrun leaves open the operator says") {
  // training-operator, pytorch/envvar.go: PET_NNODES counts masters and workers, PET_NPROC_PER_NODE is spec.nprocPerNode, "auto" where nothing is said.
  const auto on = [](const imported::text& manifest) {
    const auto h = job_of({manifest}).hardware;
    return std::pair{h.nodes, h.gpus_per_node};
  };
  using shape = std::pair<std::int64_t, std::int64_t>;
  const std::string eight = "nvidia.com/gpu: 8";
  CHECK(on(pytorch_job(3, "torchrun " + sft, eight)) == shape{4, 8});
  CHECK(on(pytorch_job(0, "torchrun " + sft, eight)) == shape{1, 8});
  CHECK(on(pytorch_job(3, "torchrun " + sft, eight, "  nprocPerNode: \"2\"\n")) == shape{4, 2});
  CHECK(on(pytorch_job(1, "torchrun --nproc_per_node 4 " + sft, eight)) == shape{2, 4});
  CHECK(on(pytorch_job(3, "python " + sft, "nvidia.com/gpu: 1")) == shape{4, 1});  // a process on each, which WORLD_SIZE counts
  CHECK(on(pytorch_job(1, "accelerate launch --num_machines 2 --num_processes 16 --mixed_precision bf16 " + sft, eight)) == shape{2, 8});

  const auto why = [](const imported::text& manifest, const std::vector<std::string>& set = {}) { return refusal_of({manifest}, set); };
  CHECK(holds(why(pytorch_job(1, "torchrun --nnodes 4 " + sft, eight)), "2 machines are asked for, and its command trains on 4 nodes (job.yaml:14): one of the two must change"));
  CHECK(holds(why(pytorch_job(3, "torchrun --nnodes 1 " + sft, eight)), "4 machines are asked for, and its command trains on 1 node (job.yaml:14)"));
  CHECK(holds(why(pytorch_job(0, "torchrun --nproc_per_node 8 " + sft, "nvidia.com/gpu: 4")), "4 GPUs of each machine are asked for, and its command trains on 8 of each"));
  CHECK(holds(why(pytorch_job(1, "accelerate launch --num_processes 32 --mixed_precision bf16 " + sft, eight)), "2 machines with 8 GPUs are asked for, and its command trains on 32 GPUs"));
  CHECK(holds(why(pytorch_job(0, "python " + sft, eight)), "is one process, and sees 8 GPUs"));
  CHECK(holds(why(pytorch_job(1, "torchrun " + sft, "cpu: 8")), "a process starts for each GPU of a machine, but there is no limit of GPUs"));
  // An elastic job's torchrun is told a range; its own option decides.
  const std::string range = "  elasticPolicy: {minReplicas: 1, maxReplicas: 4}\n", fixed = "  elasticPolicy: {minReplicas: 2, maxReplicas: 2}\n";
  CHECK(holds(why(pytorch_job(1, "torchrun " + sft, eight, range)), "the command must tell how many of its 2 machines train together"));
  CHECK(why(pytorch_job(1, "torchrun " + sft, eight, range), {"hardware.nodes=2"}).empty());
  CHECK(on(pytorch_job(1, "torchrun --nnodes 2 " + sft, eight, range)) == shape{2, 8});
  CHECK(on(pytorch_job(1, "torchrun " + sft, eight, fixed)) == shape{2, 8});
}

TEST_CASE("which GPUs, and how much of the host") {
  const auto on = [](const std::string& pod, const std::string& limits = "nvidia.com/gpu: 8") { return job_of({pytorch_job(0, "torchrun " + sft, limits, {}, pod)}).hardware; };
  const auto selects = [](const std::string& label) { return "          nodeSelector: {" + label + "}\n"; };
  CHECK(on(selects("nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB")).gpu == gpus::a100_sxm_80gb);
  CHECK(on(selects("cloud.google.com/gke-accelerator: nvidia-l4")).gpu == gpus::l4);
  CHECK(on(selects("node.kubernetes.io/instance-type: p4de.24xlarge")).gpu == gpus::a100_sxm_80gb);
  CHECK(on(selects("node.kubernetes.io/instance-type: p5.48xlarge")).gpu == gpus::h100_sxm_80gb);
  CHECK(on("          affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: nvidia.com/gpu.product, operator: In, values: [NVIDIA-H200]}]}]}}}\n").gpu == gpus::h200_sxm_141gb);
  // One of two, whichever is free: nobody knows which.
  const auto either = "          affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: nvidia.com/gpu.product, operator: In, values: [NVIDIA-H200, NVIDIA-L4]}]}]}}}\n";
  io::draft d;
  io::import_files(d, {io::input_of(pytorch_job(0, "torchrun " + sft, "nvidia.com/gpu: 8", {}, either).said, "job.yaml", io::file_kind::unknown, settings())}, settings());
  CHECK_FALSE(d.has({"hardware", "gpu"}));

  CHECK(on({}, "nvidia.com/gpu: 8, memory: 1Ti").host_memory == bytes{std::int64_t{1} << 40});
  CHECK(on({}, "nvidia.com/gpu: 8, memory: 512Gi").host_memory == bytes{std::int64_t{512} << 30});
  CHECK(on({}, "nvidia.com/gpu: 8, memory: 128G").host_memory == bytes{128'000'000'000});
  CHECK(on({}, "nvidia.com/gpu: 8").host_memory == bytes{0});
  const auto why = [&](const std::string& pod, const std::string& limits) { return refusal_of({pytorch_job(0, "torchrun " + sft, limits, {}, pod)}); };
  CHECK(holds(why({}, "nvidia.com/gpu: 8, memory: lots"), "memory must be a quantity of bytes such as 512Gi, found \"lots\""));
  CHECK(holds(why({}, "nvidia.com/mig-1g.10gb: 1"), "is a part of a GPU"));
  CHECK(holds(why(selects("nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB-SHARED"), "nvidia.com/gpu: 1"), "is a part of a GPU or a shared one"));
}

TEST_CASE("other kinds of workload") {
  const std::string command = "[torchrun, --nproc_per_node, \"8\", trl/scripts/sft.py, --model_name_or_path, Qwen/Qwen2.5-0.5B, --dataset_name, x, --max_length, \"2048\", --per_device_train_batch_size, \"4\", --bf16, --output_dir, o]";
  const std::string pod = "{containers: [{name: a, command: " + command + ", resources: {limits: {nvidia.com/gpu: 8}}}]}";
  const auto on = [](const std::string& said, const std::vector<std::string>& set = {}) {
    const auto h = job_of({{"w.yaml", said}}, set).hardware;
    return std::pair{h.nodes, h.gpus_per_node};
  };
  using shape = std::pair<std::int64_t, std::int64_t>;
  CHECK(on("apiVersion: v1\nkind: Pod\nspec: " + pod + "\n") == shape{1, 8});
  CHECK(on("apiVersion: batch/v1\nkind: Job\nspec: {template: {spec: " + pod + "}}\n") == shape{1, 8});
  const std::string two = "apiVersion: batch/v1\nkind: Job\nspec: {parallelism: 2, template: {spec: " + pod + "}}\n";
  CHECK(holds(refusal_of({{"w.yaml", two}}), "the command must tell how many of its 2 machines train together"));
  CHECK(on(two, {"hardware.nodes=2"}) == shape{2, 8});
  CHECK(on("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nspec: {trainer: {numNodes: 3, command: " + command + ", resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}}\n") == shape{3, 8});
  CHECK(on("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nspec: {podTemplateOverrides: [], trainer: {numNodes: 3, command: " + command + ", resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}}\n") == shape{3, 8});
  CHECK(on("apiVersion: sagemaker.amazonaws.com/v1\nkind: HyperPodPyTorchJob\nspec:\n  nprocPerNode: \"8\"\n  replicaSpecs: [{name: pods, replicas: 2, template: {spec: " + pod + "}}]\n", {"hardware.nodes=2"}) == shape{2, 8});
  CHECK(on("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nspec:\n  plugins: {pytorch: []}\n  tasks: [{name: master, replicas: 1, template: {spec: " + pod + "}}, {name: worker, replicas: 3, template: {spec: " + pod + "}}]\n") == shape{4, 8});
  CHECK(on("apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nspec: {replicatedJobs: [{name: w, replicas: 1, template: {spec: {parallelism: 2, template: {spec: " + pod + "}}}}]}\n", {"hardware.nodes=2"}) == shape{2, 8});
  // mpirun starts a rank for each GPU of the workers.
  const auto ranks = job_of({{"w.yaml", "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nspec:\n  mpiReplicaSpecs:\n    Launcher: {replicas: 1, template: {spec: {containers: [{name: l, command: [mpirun, -np, \"16\", -N, \"8\", python, pretrain_gpt.py, "
                                         "--num-layers, \"4\", --hidden-size, \"256\", --num-attention-heads, \"8\", --seq-length, \"128\", --max-position-embeddings, \"128\", --tokenizer-type, NullTokenizer, --vocab-size, \"1000\", --micro-batch-size, \"1\"]}]}}}\n"
                                         "    Worker: {replicas: 2, template: {spec: {containers: [{name: w, resources: {limits: {nvidia.com/gpu: 8}}}]}}}\n"}});
  CHECK(ranks.hardware.nodes == 2);
  CHECK(ranks.hardware.gpus_per_node == 8);
  CHECK(holds(refusal_of({{"w.yaml", "apiVersion: apps/v1\nkind: CronTab\nspec: {}\n"}}), "a CronTab of Kubernetes is not read"));
  CHECK(holds(refusal_of({{"w.yaml", "apiVersion: v1\nkind: ConfigMap\ndata: {}\n"}}), "w.yaml has no workload that trains"));
  CHECK(holds(refusal_of({{"w.yaml", "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: a}]}\n"}}), "no container of this Pod has a command"));
  CHECK(holds(refusal_of({{"w.yaml", "apiVersion: v1\nkind: Pod\nspec: " + pod + "\n---\napiVersion: v1\nkind: Pod\nspec: " + pod + "\n"}}), "w.yaml:6: a second workload, after the one at w.yaml:2"));
}

TEST_CASE("scripts and configurations of a manifest") {
  const auto manifest = [](const std::string& command) { return imported::text{"job.yaml", "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: a, command: " + command + ", env: [{name: SIZE, value: \"0.5B\"}], resources: {limits: {nvidia.com/gpu: 2}}}]}\n"}; };
  const imported::text script{"train.sh", "torchrun --nproc_per_node 2 trl/scripts/sft.py --model_name_or_path Qwen/Qwen2.5-$SIZE --dataset_name x --max_length 2048 --per_device_train_batch_size $1 --bf16 --output_dir o\n"};
  const auto j = job_of({manifest("[bash, /app/train.sh, \"4\"]"), script});
  CHECK(j.batch.micro == 4);
  CHECK(j.model == models::qwen2_5_0_5b);
  CHECK(j.hardware.gpus_per_node == 2);
  CHECK(with_environment({manifest("[bash, /app/train.sh, \"4\"]"), script}, {{"SIZE", "1.5B"}}).model == models::qwen2_5_1_5b);  // --env wins
  CHECK(holds(refusal_of({manifest("[bash, /app/train.sh, \"4\"]")}), "job.yaml starts no training that is known here: give the script that it starts, too, \"/app/train.sh\""));
  CHECK(holds(refusal_of({manifest("[bash, /app/other.sh]"), script}), "job.yaml starts no training that is known here"));
  // Kubernetes writes out $(NAME) of the container's environment, and leaves $$(NAME) to the letter.
  const auto named = [&](const std::string& model) { return manifest("[torchrun, --nproc_per_node, \"2\", trl/scripts/sft.py, --model_name_or_path, \"" + model + "\", --dataset_name, x, --max_length, \"2048\", --per_device_train_batch_size, \"4\", --bf16, --output_dir, o]"); };
  CHECK(job_of({named("Qwen/Qwen2.5-$(SIZE)")}).model == models::qwen2_5_0_5b);
  CHECK(!refusal_of({named("Qwen/Qwen2.5-$$(SIZE)")}).empty());
  CHECK(!refusal_of({named("Qwen/Qwen2.5-$(OTHER)")}).empty());

  // A ConfigMap's file counts where the command names it.
  const std::string map = "apiVersion: v1\nkind: ConfigMap\ndata:\n  ds.json: |\n    {\"zero_optimization\": {\"stage\": 2}, \"bf16\": {\"enabled\": true}, \"train_micro_batch_size_per_gpu\": \"auto\"}\n  notes.json: \"{not json\"\n---\n";
  const auto deepspeed = pytorch_job(0, "torchrun " + sft + " --deepspeed /config/ds.json", "nvidia.com/gpu: 8").said;
  const auto sharded = job_of({{"job.yaml", map + deepspeed}});
  CHECK(sharded.framework.label == "deepspeed");
  CHECK(sharded.sharding.stage == 2);
  CHECK(holds(refusal_of({{"job.yaml", deepspeed}}), "ds.json"));
}

TEST_CASE("a SkyPilot task's machines and keys") {
  const auto task = [](const std::string& resources, const std::string& run, const std::string& more = {}) { return imported::text{"task.yaml", "resources:\n" + resources + more + "run: |\n  " + run + "\n"}; };
  const std::string all = "torchrun --nnodes=$SKYPILOT_NUM_NODES --nproc_per_node=$SKYPILOT_NUM_GPUS_PER_NODE " + sft;
  const auto j = job_of({task("  accelerators: {H100: 4}\n", all, "num_nodes: 2\n")});
  CHECK(j.hardware.nodes == 2);
  CHECK(j.hardware.gpus_per_node == 4);
  CHECK(j.hardware.gpu == gpus::h100_sxm_80gb);
  CHECK(job_of({task("  accelerators: L4\n", all)}).hardware.gpus_per_node == 1);
  for (const auto* counted : {R"($(echo "$SKYPILOT_NODE_IPS" | wc -l))", R"(`echo "$SKYPILOT_NODE_IPS" | wc -l`)"})
    CHECK(job_of({task("  accelerators: L4:4\n", "N=" + std::string{counted} + "; torchrun --nnodes=$N --nproc_per_node=4 " + sft, "num_nodes: 3\n")}).hardware.nodes == 3);
  CHECK(job_of({task("  instance_type: p4d.24xlarge\n  accelerators: A100:8\n", all)}).hardware.gpu == gpus::a100_sxm_40gb);
  const auto why = [&](const std::string& resources, const std::string& run, const std::string& more = {}) { return refusal_of({task(resources, run, more)}); };
  CHECK(holds(why("  accelerators: [A100:8, H100:8]\n", all), "task.yaml:2: accelerators names several, of which the run gets one"));
  CHECK(holds(why("  accelerators: {A100: 8, H100: 8}\n", all), "accelerators names several"));
  CHECK(holds(why("  any_of: [{accelerators: A100:8}]\n", all), "any_of leaves open which machines the run gets"));
  CHECK(holds(why("  accelerators: tpu-v5e-8\n", all), "what a compiler lays out as a whole is not predicted"));
  CHECK(holds(why("  accelerators: A100:0.5\n", all), "the number of accelerators must be a whole number"));
  CHECK(holds(why("  accelerators: A100:8\n", all, "nodes: 2\n"), "task.yaml:3: nodes is not known here"));
  CHECK(holds(why("  accelerators: A100:8\n  gpus: 4\n", all), "task.yaml:3: gpus is not known here"));
  CHECK(holds(why("  accelerators: A100:8\n", all, "service: {replicas: 2}\n"), "service serves a model"));
  CHECK(holds(why("  accelerators: A100:8\n", "torchrun --nproc_per_node 8 " + sft, "num_nodes: 2\n"), "the command must tell how many of its 2 machines train together"));
}

TEST_CASE("manifests that are made to be large") {
  // Each name stands for twice the one before it.
  std::string environment = "{name: E0, value: aaaaaaaaaaaaaaaa}";
  for (int i = 1; i < 40; ++i) environment += ", {name: E" + std::to_string(i) + ", value: $(E" + std::to_string(i - 1) + ")$(E" + std::to_string(i - 1) + ")}";
  CHECK(holds(refusal_of({{"job.yaml", "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: a, command: [echo], env: [" + environment + "]}]}\n"}}), "what $(NAME) stands for in the command and its environment takes more than"));
  const auto refused = [](const std::string& kind, const std::string& spec) { return refusal_of({{"job.yaml", "apiVersion: v1\nkind: " + kind + "\nspec: " + spec + "\n"}}); };
  CHECK(holds(refused("PyTorchJob", "{pytorchReplicaSpecs: {Master: {replicas: 99999999999999999999}}}"), "replicas must be a whole number from 0 to 1048576"));
  CHECK(holds(refused("Pod", R"({nodeSelector: {"99999999999999999999999": x}, containers: [{command: [1, null, {a: b}], resources: {limits: {nvidia.com/gpu: -1}}}]})"), "nvidia.com/gpu must be a whole number"));
  CHECK(holds(refused("Pod", R"({containers: [{command: [a], resources: {limits: {nvidia.com/gpu: 8, memory: "-5Gi"}}}]})"), "memory must be a quantity of bytes"));
  CHECK(holds(refused("Job", "[]"), "no container of this Job has a command"));
  // A script that counts its nodes many times is read once through.
  std::string counts = "resources: {accelerators: L4}\nrun: |\n";
  for (int i = 0; i < 5'000; ++i) counts += "  echo $(echo \"$SKYPILOT_NODE_IPS\" | wc -l)\n";
  CHECK(holds(refusal_of({{"task.yaml", counts}}), "starts no training"));
  CHECK(!refusal_of({{"job.yaml", "apiVersion: v1\n" + std::string(5000, '-') + "\n---\n"}}).empty());
  std::string parts = "apiVersion: v1\nkind: Service\n";
  for (int i = 0; i < 1000; ++i) parts += "---\n";
  CHECK(!refusal_of({{"job.yaml", parts}}).empty());
}

TEST_CASE("a pod without containers starts nothing") {
  const std::string head = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers: ";
  for (const auto* none : {"[]\n", "{}\n", "null\n"}) CHECK(refusal_of({{"pod.yaml", head + none}}).starts_with("headroom: "));
}

}  // namespace test_manifests

#endif
