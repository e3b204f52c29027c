// Distributed under the Boost Software License, Version 1.0.
// An AdmissionReview in, an AdmissionReview out: what the webhook decides, without a network.
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
#pragma once

#include <headroom/bounds.hpp>
#include <headroom/deadline.hpp>
#include <headroom/job.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kubernetes {

/// Of a pod, or of the workload that makes pods (Job, StatefulSet, PyTorchJob, …):
inline constexpr std::string_view job_annotation = "headroom.dev/job";                ///< a headroom job, as JSON
inline constexpr std::string_view confidence_annotation = "headroom.dev/confidence";  ///< a share from 0.5 to 0.999
inline constexpr std::string_view import_annotation = "headroom.dev/import";          ///< "true": the job is the workload's own command
inline constexpr std::string_view set_annotation = "headroom.dev/set";                ///< what that leaves open: KEY=VALUE, blanks between them

/// What was decided, for a log and for counters. Text of the review's author: printable, and of bounded length.
struct verdict {
  std::string_view decision{"not_asked"};  ///< or "fits", "does_not_fit", "bad_input", "not_decided", "not_understood"
  std::string_view reason{};               ///< of a refusal: "gpu_memory", "host_memory", "nvme", "bad_input"
  bool allowed{true};
  std::string uid{}, kind{}, space{}, name{}, user{}, sentence{};
};

struct answer {
  int status{};        ///< of HTTP: 200; 400 where the body is no review, 503 where there was no time to decide
  std::string body{};  ///< a review, or a sentence
  verdict said{};
};

/// How reviews are decided.
struct policy {
  std::optional<double> confidence{};  ///< of reviews that state none; nothing: by the prediction itself
  bool audit{};                        ///< what would be refused is allowed, with a warning that says so
  /// What would make a job fit, in a few words; "" where nothing is known in time. Not asked where there is none. Called by several threads.
  std::function<std::string(const headroom::job& j, std::optional<headroom::confidence> sure, headroom::deadline until)> advise{};
  /// The job that a workload's own command is, as JSON; `set` is KEY=VALUE each. Throws job_error where it is not understood. Called by several threads.
  std::function<std::string(const std::string& workload, const std::vector<std::string>& set)> read_command{};
  bool reads_commands{};  ///< of workloads that ask for GPUs and have no annotation, too: one that is not understood is allowed, with a warning
};

/// Allows what has no job annotation, and pods whose workload was reviewed before them. A job must fit, and be for the GPUs that the pods ask for: where it says nothing of
/// nodes and GPUs it is judged on those.
answer review(std::string_view body, const policy& by, std::chrono::steady_clock::time_point end = std::chrono::steady_clock::time_point::max());

}  // namespace kubernetes
