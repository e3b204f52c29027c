// Distributed under the Boost Software License, Version 1.0.
#include "review.hpp"

#include <headroom/io/admission.hpp>
#include <headroom/io/launchers/cluster/kubernetes_workload.hpp>
#include <headroom/io/syntax/json_reader.hpp>

namespace kubernetes {

namespace {

using namespace headroom;
using io::fail;
using io::json_value;

/// The value at a path of keys, or nullptr.
template <class... Keys>
const json_value* at(const json_value* from, Keys... keys) {
  for (const char* key : {keys...}) {
    if (from == nullptr || !from->is_object()) return nullptr;
    const auto found = from->find(key);
    from = found != from->end() ? &*found : nullptr;
  }
  return from;
}

/// An annotation of the object, or of the pods that it makes.
std::optional<std::string> annotation(const json_value* object, std::string_view name) {
  for (const auto* metadata : {at(object, "metadata", "annotations"), at(object, "spec", "template", "metadata", "annotations")}) {
    const std::string key{name};
    if (const auto* value = at(metadata, key.c_str())) return io::string_at(*value, "annotation " + key);
  }
  return std::nullopt;
}

/// A count of Kubernetes: a number or a string of digits.
std::int64_t count_at(const json_value& value, const std::string& path) {
  constexpr std::int64_t most = 1'000'000;
  if (!value.is_string()) return io::whole_at(value, path, 0, most);
  const auto& text = *value.get_ptr<const std::string*>();
  if (text.empty() || text.size() > 7 || text.find_first_not_of("0123456789") != std::string::npos) io::wrong_value(path, "a whole number", value);
  return std::stoll(text);
}

/// GPUs of one pod: https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/ asks for them as limits. Containers started before the
/// others are there in turn.
std::int64_t gpus_of_pod(const json_value* spec) {
  std::int64_t together = 0, before = 0;
  for (const auto& [key, in_turn] : {std::pair{"containers", false}, std::pair{"initContainers", true}}) {
    const auto* containers = at(spec, key);
    if (containers == nullptr) continue;
    io::each_at(*containers, std::string{"spec."} + key, "a list of containers", [&, in_turn = in_turn](const json_value& container, const std::string& path) {
      const auto* gpus = at(&container, "resources", "limits", "nvidia.com/gpu");
      if (gpus == nullptr) return;
      const auto n = count_at(*gpus, path + ".resources.limits.nvidia.com/gpu");
      if (in_turn) before = std::max(before, n);
      else together += n;
    });
  }
  return std::max(together, before);
}

/// Whether any of its containers asks for GPUs, wherever they stand.
bool gpus_asked(const json_value* object) {
  if (object == nullptr) return false;
  const auto text = object->dump(-1, ' ', false, json_value::error_handler_t::replace);
  return text.find("\"nvidia.com/gpu\"") != std::string::npos || text.find("\"amd.com/gpu\"") != std::string::npos;
}

struct gpus {
  std::int64_t pods{}, per_pod{};
};

/// What the object asks for; the pods of a bare pod's job are others', and not known (0).
gpus gpus_of(const json_value* object) {
  const auto* spec = at(object, "spec");
  if (const auto* pod = at(spec, "template", "spec")) {
    std::int64_t pods = 1;
    for (const auto* key : {"parallelism", "replicas"})
      if (const auto* n = at(spec, key)) pods = count_at(*n, std::string{"spec."} + key);
    return {pods, gpus_of_pod(pod)};
  }
  gpus all;  // Kubeflow: spec.pytorchReplicaSpecs.{Master,Worker}.{replicas,template}
  if (const auto* roles = at(spec, "pytorchReplicaSpecs"); roles != nullptr && roles->is_object()) {
    for (const auto& [name, role] : roles->items()) {
      const auto path = "spec.pytorchReplicaSpecs." + name;
      const auto each = gpus_of_pod(at(&role, "template", "spec"));
      if (all.per_pod != 0 && each != all.per_pod) fail("headroom: " + path + " asks for another number of GPUs than the other roles");
      all.per_pod = each;
      const auto* n = at(&role, "replicas");
      all.pods += n != nullptr ? count_at(*n, path + ".replicas") : 1;
    }
    return all;
  }
  const auto* kind = at(object, "kind");
  if (kind == nullptr || !kind->is_string() || !io::among_words("Job|JobSet|MPIJob|TrainJob|HyperPodPyTorchJob|RayJob", kind->get_ref<const std::string&>())) return {0, gpus_of_pod(spec)};
  const io::document other{.source = "the workload", .root = *object, .lines = {}};  // a kind of several roles
  const auto machines = io::detail::kubernetes_workload{other}.machines();
  return {machines.machines, machines.gpus};
}

/// The job on the GPUs that were asked for. Throws job_error where it is for others.
void put_on(json_value& job, const gpus& asked) {
  if (!job.is_object() || asked.per_pod == 0) return;
  auto& hardware = job["hardware"];
  if (hardware.is_null()) hardware = json_value::object();
  if (!hardware.is_object()) return;  // the reader says it
  const auto settle = [&](const char* key, std::int64_t pods) {
    if (pods == 0) return;
    const auto* stated = at(&hardware, key);
    if (stated == nullptr) hardware[key] = pods;
    else if (const auto n = io::whole_at(*stated, std::string{"hardware."} + key, 1, io::largest_exact); n != pods)
      fail("headroom: hardware." + std::string{key} + " is " + std::to_string(n) + ", and the pods ask for " + std::to_string(pods));
  };
  settle("gpus_per_node", asked.per_pod);
  settle("nodes", asked.pods);
}

/// A workload's job: its annotation, or what its command is, which was read with its machines.
struct asked_job {
  std::string text{};
  bool own_command{};
};
/// Who made it was reviewed before.
bool owned(const json_value* object) {
  const auto* owners = at(object, "metadata", "ownerReferences");
  return owners != nullptr && owners->is_array() && !owners->empty();
}
/// KEY=VALUE, blanks between them.
std::vector<std::string> settings_in(const std::string& text) {
  std::vector<std::string> all;
  for (std::size_t from = text.find_first_not_of(" \t\n"); from != std::string::npos;) {
    const auto to = std::min(text.find_first_of(" \t\n", from), text.size());
    all.push_back(text.substr(from, to - from));
    from = text.find_first_not_of(" \t\n", to);
  }
  return all;
}
/// The job of a workload, or nothing where it has none. `asks`: an annotation says that its command is one.
/// Errors: job_error for an annotation that is none, and for a command that is not understood.
std::optional<asked_job> job_in(const json_value* object, const policy& by, bool& asks) {
  if (auto text = annotation(object, job_annotation)) {
    asks = true;
    return asked_job{std::move(*text), false};
  }
  const auto wish = annotation(object, import_annotation);
  if (wish && *wish != "true" && *wish != "false") fail("headroom: annotation " + std::string{import_annotation} + " must be \"true\" or \"false\", found " + io::in_quotes(*wish));
  asks = wish && *wish == "true";
  const bool read = asks || (by.reads_commands && !wish && gpus_asked(object));
  if (!read || !by.read_command || owned(object)) return std::nullopt;
  return asked_job{by.read_command(object->dump(-1, ' ', false, json_value::error_handler_t::replace), settings_in(annotation(object, set_annotation).value_or(""))), true};
}

/// A decision, and how sure it was to be.
struct judged_job {
  io::admission said{};
  std::optional<confidence> sure{};
};
judged_job judge(const json_value* object, const asked_job& of, std::optional<double> share, std::chrono::steady_clock::time_point end) {
  try {
    auto job = io::parse_json(of.text, "annotation " + std::string{job_annotation});
    if (!of.own_command) put_on(job, gpus_of(object));
    if (const auto stated = annotation(object, confidence_annotation)) {
      const auto value = io::parse_json(*stated, "annotation " + std::string{confidence_annotation});
      share = io::number_at(value, "annotation " + std::string{confidence_annotation}, 0.5, 0.999);
    }
    const auto judged = job.dump(-1, ' ', false, json_value::error_handler_t::replace);
    const auto sure = share ? std::optional<confidence>{*share} : std::nullopt;
    return {io::admit({.job = judged, .sure = sure, .full = false, .until = headroom::deadline(end)}), sure};
  } catch (const error& e) {
    return {{io::decision::bad_input, e.what(), {}, {}}, {}};
  }
}

/// The review's answer. What is refused under audit is allowed, with the refusal as a warning: kubectl prints it.
std::string reviewed(const verdict& v, int code, const std::string& message, bool audit) {
  io::ordered_json response = {{"uid", v.uid}, {"allowed", v.allowed || audit}};
  if (!v.allowed && audit)
    response["warnings"] = {"not refused, as headroom audits: " + message};
  else if (!message.empty())
    response["status"] = {{"code", code}, {"message", message}};
  const io::ordered_json all = {{"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}, {"response", response}};
  return all.dump(-1, ' ', false, io::ordered_json::error_handler_t::replace);
}

/// Allowed, with a warning that kubectl prints.
std::string warned(const verdict& v, const std::string& message) {
  const io::ordered_json all = {{"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}, {"response", {{"uid", v.uid}, {"allowed", true}, {"warnings", {message}}}}};
  return all.dump(-1, ' ', false, io::ordered_json::error_handler_t::replace);
}

/// Why a job does not fit, of the kinds of memory.
std::string_view reason_of(const full_report& r) {
  if (r.host.capacity > bytes{0} && r.host.per_node > r.host.capacity && r.headroom() >= bytes{0}) return "host_memory";
  return r.headroom() < bytes{0} || r.nvme_per_node <= r.nvme_capacity ? "gpu_memory" : "nvme";
}

/// A short text of the review, for a log.
std::string shown(const json_value* value) {
  if (value == nullptr || !value->is_string()) return {};
  return io::printable(io::cut_to(value->get_ref<const std::string&>(), 253));  // the longest name that Kubernetes has
}

answer refused(verdict v, std::string_view decision, std::string_view reason, int code, const std::string& message, bool audit) {
  v.decision = decision, v.reason = reason, v.allowed = false, v.sentence = message;
  auto body = reviewed(v, code, message, audit);
  v.allowed = audit;
  return {200, std::move(body), std::move(v)};
}

}  // namespace

answer review(std::string_view body, const policy& by, std::chrono::steady_clock::time_point end) try {
  verdict v;
  const auto open = [&](const std::string& why) {
    v.decision = "not_decided", v.allowed = false, v.sentence = why;
    return answer{503, why, v};  // no opinion: the failure policy decides
  };
  if (std::chrono::steady_clock::now() >= end) return open("headroom: not decided: the time for an answer had passed before it was begun");
  const auto whole = io::parse_json(body, "the review");
  const auto* uid = at(&whole, "request", "uid");
  const auto* kind = at(&whole, "kind");
  const auto* version = at(&whole, "apiVersion");
  if (kind == nullptr || *kind != "AdmissionReview" || version == nullptr || *version != "admission.k8s.io/v1" || uid == nullptr || !uid->is_string())
    return {400, "headroom: the body must be an AdmissionReview of admission.k8s.io/v1 with a request.uid", {.decision = "bad_input", .reason = "no_review", .allowed = false}};
  v = {.uid = *uid->get_ptr<const std::string*>(), .kind = shown(at(&whole, "request", "kind", "kind")), .space = shown(at(&whole, "request", "namespace")), .name = shown(at(&whole, "request", "name")), .user = shown(at(&whole, "request", "userInfo", "username"))};
  const auto* object = at(&whole, "request", "object");
  std::optional<asked_job> job;
  bool asks = true;
  try {
    job = job_in(object, by, asks);
  } catch (const error& e) {
    if (asks) return refused(std::move(v), "bad_input", "bad_input", 400, e.what(), by.audit);
    v.decision = "not_understood", v.sentence = e.what();
    return {200, warned(v, std::string{"not judged: "} + e.what()), v};
  }
  if (!job) return {200, reviewed(v, 200, {}, false), v};
  const auto [a, sure] = judge(object, *job, by.confidence, end);
  switch (a.decision) {
    case io::decision::fits:
      v.decision = "fits", v.sentence = a.sentence;
      return {200, reviewed(v, 200, a.sentence, false), v};
    case io::decision::does_not_fit: {
      // Half of what time there is: a refusal without advice is worth more than advice that comes too late.
      const auto help = by.advise ? by.advise(a.job, sure, headroom::deadline(end).share(0.5)) : std::string{};
      return refused(std::move(v), "does_not_fit", reason_of(*a.report), 422, "headroom: " + a.sentence + (help.empty() ? "" : "; would fit: " + help), by.audit);
    }
    case io::decision::not_decided: return open(a.sentence);
    case io::decision::bad_input: break;
  }
  return refused(std::move(v), "bad_input", "bad_input", 400, a.sentence, by.audit);
} catch (const error& e) {
  return {400, e.what(), {.decision = "bad_input", .reason = "no_review", .allowed = false}};
}

}  // namespace kubernetes
