// Distributed under the Boost Software License, Version 1.0.
// An AdmissionReview in, an AdmissionReview out: what the webhook decides, without a network.
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace kubernetes {

/// Of a pod, or of the workload that makes pods (Job, StatefulSet, PyTorchJob, …):
inline constexpr std::string_view job_annotation = "headroom.dev/job";                ///< a headroom job, as JSON
inline constexpr std::string_view confidence_annotation = "headroom.dev/confidence";  ///< a share from 0.5 to 0.999

struct answer {
  int status{};        ///< of HTTP: 200; 400 where the body is no review, 503 where there was no time to decide
  std::string body{};  ///< a review, or a sentence
};

/// Allows what has no job annotation. A job must fit, and be for the GPUs that the pods ask for: where it says nothing of
/// nodes and GPUs it is judged on those. `confidence` is for reviews that state none; nothing: by the prediction itself.
answer review(std::string_view body, std::optional<double> confidence, std::chrono::steady_clock::time_point end = std::chrono::steady_clock::time_point::max());

}  // namespace kubernetes
