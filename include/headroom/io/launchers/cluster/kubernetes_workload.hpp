// Distributed under the Boost Software License, Version 1.0.
// The command of a Kubernetes workload that trains, and the machines that its pods are: a Pod, a Job, a JobSet, Kubeflow's PyTorchJob, MPIJob and
// TrainJob, Volcano's Job, KubeRay's RayJob. What says nothing of memory, time or shape (images, volumes, probes, policies) is passed over.
#pragma once

#include <headroom/io/launchers/cluster/hosted_launch.hpp>
#include <headroom/io/launchers/cluster/manifest.hpp>

namespace headroom::io {

namespace detail {

class kubernetes_workload {
 public:
  explicit kubernetes_workload(const document& from) : from_(&from), m_{&from} {}

  /// Its command, and its machines.
  /// Errors: those of machines(); job_error where no container has a command.
  hosted_launch read() {
    auto at = machines();
    if (at.text.empty()) fail("headroom: " + at.place + ": no container of this " + from_->root["kind"].get<std::string>() + " has a command: give the script that it starts, too");
    return at;
  }
  /// Its machines, and its command where it has one.
  /// Errors: job_error for a kind that starts no training, and for pods that ask for GPUs in different ways.
  hosted_launch machines() {
    const auto& root = from_->root;
    const auto kind = root["kind"].get<std::string>(), version = root["apiVersion"].is_string() ? root["apiVersion"].get<std::string>() : "";
    at_.place = from_->place("kind");
    if (kind == "Pod") pod({"spec"}, 1);
    else if (kind == "PyTorchJob") pytorch_job();
    else if (kind == "HyperPodPyTorchJob") hyperpod_job();
    else if (kind == "MPIJob") mpi_job();
    else if (kind == "TrainJob") train_job();
    else if (kind == "RayJob") ray_job();
    else if (kind == "JobSet") m_.each_of({"spec", "replicatedJobs"}, [&](path p) { set_of(std::move(p)); });
    else if (kind == "Job" && version.starts_with("batch.volcano.sh/")) volcano_job();
    else if (kind == "Job") job({"spec"});
    else fail("headroom: " + at_.place + ": a " + printable(cut_to(kind, 60)) + " of Kubernetes is not read: Pod, Job, JobSet, PyTorchJob, HyperPodPyTorchJob, MPIJob, TrainJob, RayJob and Volcano's Job are");
    return std::move(at_);
  }

 private:
  using path = manifest_path;

  void pytorch_job() {
    const path roles{"spec", "pytorchReplicaSpecs"};
    at_.numbers_ranks = true;
    std::int64_t machines = 0;
    for (const auto* role : {"Master", "Worker"}) {  // all run one command: the first that has one says it
      const auto here = below(roles, {role});
      if (m_.find(here) == nullptr) continue;
      const auto n = m_.count(below(here, {"replicas"}), 1);
      machines = checked::add(machines, n);
      if (n > 0) pod(below(here, {"template", "spec"}), 1);
    }
    at_.machines = std::max<std::int64_t>(machines, 1);
    const path elastic{"spec", "elasticPolicy"};  // PET_NNODES is a range then (pytorch/elastic.go)
    if (m_.find(elastic) != nullptr) at_.numbers_ranks = m_.count(below(elastic, {"minReplicas"}), at_.machines) == at_.machines && m_.count(below(elastic, {"maxReplicas"}), at_.machines) == at_.machines;
    processes({{"spec", "nprocPerNode"}, {"spec", "elasticPolicy", "nProcPerNode"}});
  }
  /// "auto", "gpu" and nothing are one for each GPU (training-operator, pytorch_defaults.go, DefaultNprocPerNode).
  void processes(std::initializer_list<path> keys) {
    const auto said = std::find_if(keys.begin(), keys.end(), [&](const path& p) { return m_.find(p) != nullptr && !m_.find(p)->is_null(); });
    const auto text = said == keys.end() ? std::string{"auto"} : text_as_said(*m_.find(*said));
    const bool all = text == "auto" || text == "gpu";
    at_.processes = !all ? whole_at(typed_count(text), m_.place(*said) + ": " + said->back(), 1, 1 << 20) : at_.gpus > 0 ? at_.gpus : hosted_launch::as_many_as_gpus;
  }
  /// Amazon SageMaker HyperPod's operator (docs.aws.amazon.com, hyperpod training operator).
  void hyperpod_job() {
    std::int64_t machines = 0;
    m_.each_of({"spec", "replicaSpecs"}, [&](const path& p) {
      machines = checked::add(machines, m_.count(below(p, {"replicas"}), 1));
      pod(below(p, {"template", "spec"}), 1);
    });
    at_.machines = std::max<std::int64_t>(machines, 1);
    processes({{"spec", "nprocPerNode"}});
  }
  /// The launcher's pod starts mpirun on the workers.
  void mpi_job() {
    const path roles{"spec", "mpiReplicaSpecs"};
    pod(below(roles, {"Worker", "template", "spec"}), m_.count(below(roles, {"Worker", "replicas"}), 1));
    at_.text.clear();
    const auto workers = at_;
    at_ = {};
    pod(below(roles, {"Launcher", "template", "spec"}), 1);
    at_.machines = workers.machines;
    at_.gpus = workers.gpus;
    at_.gpu = workers.gpu;
    at_.host_gib = workers.host_gib;
    at_.place = workers.place;
  }
  /// Its runtime, an object of its own, may say what it leaves open (kubeflow/trainer, pkg/runtime/framework/plugins/torch).
  void train_job() {
    const path trainer{"spec", "trainer"};
    at_.machines = std::max<std::int64_t>(m_.count(below(trainer, {"numNodes"}), 1), 1);
    at_.numbers_ranks = true;
    resources(below(trainer, {"resourcesPerNode"}));
    nodes_of(path{"spec", "podTemplateOverrides", "0", "spec"});
    container(trainer);
    processes({below(trainer, {"numProcPerNode"})});
  }
  void set_of(path p) {
    const auto sets = m_.count(below(p, {"replicas"}), 1);
    const auto before = at_.gpus;
    job(below(std::move(p), {"template", "spec"}));
    if (at_.gpus != before) at_.machines = checked::mul(at_.machines, std::max<std::int64_t>(sets, 1));
  }
  void job(path p) {
    const auto pods = m_.count(below(p, {"parallelism"}), 1);
    pod(below(std::move(p), {"template", "spec"}), pods);
  }
  void volcano_job() {
    const auto* plugins = m_.find({"spec", "plugins"});
    at_.numbers_ranks = plugins != nullptr && plugins->is_object() && plugins->contains("pytorch");
    std::int64_t machines = 0;
    m_.each_of({"spec", "tasks"}, [&](const path& p) {
      const auto n = m_.count(below(p, {"replicas"}), 1);
      if (gpus_in(below(p, {"template", "spec"})) > 0) machines = checked::add(machines, n);
      pod(below(p, {"template", "spec"}), 1);
    });
    at_.machines = std::max<std::int64_t>(machines, 1);
  }

  /// The entrypoint is started once; Ray spreads its processes over the pods that have GPUs (ray-project/kuberay apis/ray/v1 RayJobSpec, RayClusterSpec).
  void ray_job() {
    const path cluster{"spec", "rayClusterSpec"}, entry{"spec", "entrypoint"};
    const auto* command = m_.find(entry);
    if (m_.find(cluster) == nullptr) fail("headroom: " + m_.place({"spec"}) + ": the RayJob runs on a cluster of another object (clusterSelector), whose machines are not known here: give the command that it starts as a script");
    std::int64_t machines = 0;
    const auto group = [&](const path& p, std::int64_t pods) {
      const auto* given = m_.find(below(p, {"rayStartParams", "num-gpus"}));
      if (pods == 0 || gpus_in(below(p, {"template", "spec"})) == 0 || (given != nullptr && text_as_said(*given) == "0")) return;
      machines = checked::add(machines, pods);
      pod(below(p, {"template", "spec"}), 1);
    };
    group(below(cluster, {"headGroupSpec"}), 1);
    const auto *scales = m_.find(below(cluster, {"enableInTreeAutoscaling"}));
    m_.each_of(below(cluster, {"workerGroupSpecs"}), [&](const path& p) {
      const auto n = m_.count(below(p, {"replicas"}), 1), most = m_.count(below(p, {"maxReplicas"}), n);
      group(p, checked::mul(scales != nullptr && *scales == true ? std::max(n, most) : n, m_.count(below(p, {"numOfHosts"}), 1)));
    });
    at_.all = false;
    at_.machines = std::max<std::int64_t>(machines, 1);
    at_.place = m_.place(entry);
    if (command == nullptr || !command->is_string()) fail("headroom: " + at_.place + ": entrypoint must be the command that the RayJob starts");
    const auto& text = command->get_ref<const std::string&>();
    at_.text = std::string(static_cast<std::size_t>(std::max(0, m_.line_of(entry) - (text.find('\n') == std::string::npos ? 1 : 0))), '\n') + text + "\n";
  }

  [[nodiscard]] std::int64_t gpus_in(const path& spec) {
    std::int64_t sum = 0;
    m_.each_of(below(spec, {"containers"}), [&](const path& c) { sum += gpus_of(below(c, {"resources"})); });
    return sum;
  }
  /// A pod, of which the container that asks for GPUs trains, or the only one. Another role's pods must have as many.
  void pod(const path& spec, std::int64_t pods) {
    path trains;
    std::size_t containers = 0;
    m_.each_of(below(spec, {"containers"}), [&](const path& c) {
      ++containers;
      if (gpus_of(below(c, {"resources"})) == 0) return;
      if (!trains.empty()) fail("headroom: " + m_.place(c) + ": two containers of one pod ask for GPUs: which one trains is not said");
      trains = c;
    });
    if (trains.empty() && containers == 1) trains = below(spec, {"containers", "0"});
    if (trains.empty()) return;
    const auto asked = gpus_of(below(trains, {"resources"}));
    if (at_.gpus > 0 && asked > 0 && asked != at_.gpus) fail("headroom: " + m_.place(trains) + ": pods of one training ask for " + std::to_string(at_.gpus) + " and " + std::to_string(asked) + " GPUs: one job has as many on each node");
    if (asked == 0 && !at_.text.empty()) return;
    if (asked > 0 || at_.text.empty()) at_.machines = std::max<std::int64_t>(pods, 1);
    at_.place = m_.place(trains);
    resources(below(trains, {"resources"}));
    nodes_of(spec);
    if (at_.text.empty()) container(trains);
  }
  [[nodiscard]] std::int64_t gpus_of(const path& resources) const {
    const auto* limits = m_.find(below(resources, {"limits"}));
    if (limits == nullptr || !limits->is_object()) return 0;
    for (const auto& [name, value] : limits->items()) {
      if (name.starts_with("nvidia.com/mig-") || name.ends_with(".shared")) fail("headroom: " + m_.place(below(resources, {"limits", name})) + ": " + name + " is a part of a GPU, of which no table says what it has: write a job file with the part's memory, hardware.gpu {\"name\": …, \"memory_gib\": …}");
      for (const auto* whole : {"nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi", "huawei.com/Ascend910"})
        if (name == whole && !value.is_null()) return m_.count(below(resources, {"limits", name}), 0);
    }
    return 0;
  }
  void resources(const path& p) {
    if (const auto n = gpus_of(p); n > 0) at_.gpus = n;
    const auto memory = below(p, {"limits", "memory"});
    if (const auto* v = m_.find(memory); v != nullptr && !v->is_null()) at_.host_gib = gib_of_quantity(*v, m_.place(memory) + ": memory");
  }
  /// Which GPUs its nodes have, where it chooses them by a label that says so.
  void nodes_of(const path& spec) {
    const auto say = [&](const std::string& key, const std::string& value, const path& where) {
      if (key == "nvidia.com/gpu.sharing-strategy" && value != "none") fail("headroom: " + m_.place(where) + ": the GPU is shared with other pods (" + value + "): what they take is not known; hardware.taken_gib of a job file says it");
      if (key == "nvidia.com/gpu.product" && (value.ends_with("-SHARED") || value.find("-MIG-") != std::string::npos)) fail("headroom: " + m_.place(where) + ": " + in_quotes(value) + " is a part of a GPU or a shared one, of which no table says what it has");
      const bool product = key == "nvidia.com/gpu.product" || key == "cloud.google.com/gke-accelerator";
      const bool machine = key == "node.kubernetes.io/instance-type" || key == "beta.kubernetes.io/instance-type" || key == "sagemaker.amazonaws.com/compute-type";
      const auto type = std::string_view{value}.substr(value.starts_with("ml.") ? 3 : 0);
      const auto known = product ? gpu_of_label(node_gpu_labels, value) : machine ? gpu_of_label(machine_gpu_labels, type) : std::string_view{};
      if (!known.empty()) at_.gpu = known;
    };
    if (const auto* chosen = m_.find(below(spec, {"nodeSelector"})); chosen != nullptr && chosen->is_object())
      for (const auto& [key, value] : chosen->items())
        if (value.is_string()) say(key, value.get<std::string>(), below(spec, {"nodeSelector", key}));
    m_.each_of(below(spec, {"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"}), [&](const path& term) {
      m_.each_of(below(term, {"matchExpressions"}), [&](const path& e) {
        const auto *key = m_.find(below(e, {"key"})), *how = m_.find(below(e, {"operator"})), *values = m_.find(below(e, {"values"}));
        if (key != nullptr && key->is_string() && how != nullptr && *how == "In" && values != nullptr && values->is_array() && values->size() == 1 && (*values)[0].is_string())
          say(key->get<std::string>(), (*values)[0].get<std::string>(), e);
      });
    });
  }

  /// Its command, with $(NAME) of its environment written out as Kubernetes does (kubernetes.io, dependent environment variables).
  void container(const path& p) {
    environment(p);
    std::vector<shell_word> words;
    for (const auto* key : {"command", "args"})
      m_.each_of(below(p, {key}), [&](const path& w) { words.push_back({written_out(text_as_said(*m_.find(w))), m_.line_of(w)}); });
    if (!words.empty()) at_.text = script_of(words);
  }
  void environment(const path& p) {
    at_.environment.clear();
    known_.clear();
    m_.each_of(below(p, {"env"}), [&](const path& e) {
      const auto *name = m_.find(below(e, {"name"})), *value = m_.find(below(e, {"value"}));
      if (name == nullptr || !name->is_string() || value == nullptr || value->is_null()) return;
      auto text = written_out(text_as_said(*value));
      known_[name->get<std::string>()] = text;
      at_.environment.emplace_back(name->get<std::string>(), std::move(text));
    });
  }
  [[nodiscard]] std::string written_out(const std::string& text) {
    std::string made;
    for (std::size_t i = 0; i < text.size();) {
      if (text.compare(i, 3, "$$(") == 0) {  // "$(" to the letter
        made += "$(";
        i += 3;
        continue;
      }
      const auto end = text.compare(i, 2, "$(") == 0 ? text.find_first_of(") $", i + 2) : std::string::npos;
      const auto known = end == std::string::npos || text[end] != ')' ? known_.end() : known_.find(text.substr(i + 2, end - i - 2));
      if (known == known_.end()) {
        made += text[i++];
        continue;
      }
      if (!work_.spend(known->second.size() + 1)) fail("headroom: " + at_.place + ": what $(NAME) stands for in the command and its environment takes more than " + std::to_string(most_work >> 20) + " MiB");
      made += known->second;
      i = end + 1;
    }
    return made;
  }

  const document* from_;
  manifest m_;
  hosted_launch at_{};
  std::map<std::string, std::string, std::less<>> known_{};  ///< of the container's environment
  work_left work_{};
};

}  // namespace detail

}  // namespace headroom::io
