// Distributed under the Boost Software License, Version 1.0.
// A validating admission webhook for Kubernetes: refuses pods and workloads whose training job will not fit.
//   headroom_webhook --certificate tls.crt --key tls.key --listen 0.0.0.0:8443
// examples/kubernetes/webhook.yaml registers it. The files of the certificate are read again when they change. SIGTERM ends it within a second,
// and lets requests that are under way end before.
#include "../calls/answers.hpp"
#include "../server/metrics.hpp"
#include "../server/server.hpp"
#include "review.hpp"

#include <headroom/io/admission.hpp>
#include <headroom/io/diagnosis_text.hpp>

#include <CLI/CLI.hpp>

#include <csignal>
#include <deque>
#include <iostream>
#include <mutex>
#include <thread>

namespace {

using namespace kubernetes;
using namespace serving;
using seconds = std::chrono::duration<double>;

struct settings {
  std::string certificate{}, key{}, log{"all"};
  policy by{};
  std::string gpu{};   ///< of workloads that choose none by a label
  double answer{4.0};  ///< seconds
};

/// What it has done so far.
struct counters {
  counter decisions{"headroom_decisions_total", "Reviews by what was decided; not_asked: without a job.", "decision"};
  counter refusals{"headroom_refusals_total", "Reviews that were refused, or would have been under --audit.", "reason"};
  latency took{"headroom_decision_seconds", "From a review's last byte to its decision."};
  [[nodiscard]] std::string text() const { return decisions.text() + refusals.text() + took.text(); }
};

/// The least of the changes that make a job fit. A controller asks for the same pod again and again: the last jobs' advice is kept.
class advisor {
 public:
  std::string operator()(const headroom::job& j, std::optional<headroom::confidence> sure, headroom::deadline until) try {
    if (const auto known = find(j, sure)) return *known;
    const auto all = calls::advice_for(j, sure, until);
    if (!all) return {};  // no time: another time there may be
    auto text = all->empty() ? std::string{} : headroom::io::changes_text(all->front());
    const std::lock_guard lock(use_);
    if (kept_.size() == most) kept_.pop_front();
    kept_.push_back({j, sure, text});
    return text;
  } catch (const headroom::error&) {
    return {};
  }

 private:
  static constexpr std::size_t most = 64;
  struct advised {
    headroom::job job;
    std::optional<headroom::confidence> sure;
    std::string text;
  };
  std::optional<std::string> find(const headroom::job& j, std::optional<headroom::confidence> sure) {
    const std::lock_guard lock(use_);
    for (const auto& a : kept_)
      if (a.sure == sure && a.job == j) return a.text;
    return std::nullopt;
  }
  std::mutex use_;
  std::deque<advised> kept_;
};

/// One line of JSON on standard error for each decision about a job.
void log(const verdict& v, const settings& s, double took) {
  const bool refused = v.decision != "fits";
  const bool quiet = v.decision == "not_asked" || v.decision == "not_understood";
  if (quiet || s.log == "none" || (s.log == "refused" && !refused)) return;
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  nlohmann::ordered_json line = {{"time", static_cast<double>(now) / 1000.0}, {"decision", v.decision}, {"allowed", v.allowed}, {"audit", s.by.audit}, {"seconds", took},
                                 {"uid", v.uid}, {"kind", v.kind}, {"namespace", v.space}, {"name", v.name}, {"user", v.user}, {"sentence", v.sentence}};
  if (!v.reason.empty()) line["reason"] = v.reason;
  std::cerr << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";  // in one piece: others write, too
}

/// Until when the API server waits: it asks with the seconds of the webhook's registration, /admit?timeout=5s. A fifth of them is for the way
/// there and back.
std::chrono::steady_clock::time_point end_of(const http_request& in, std::string_view query, double most) {
  constexpr std::string_view key = "timeout=";
  if (query.starts_with(key) && query.ends_with('s')) {
    const auto digits = query.substr(key.size(), query.size() - key.size() - 1);
    if (!digits.empty() && digits.size() <= 2 && digits.find_first_not_of("0123456789") == std::string_view::npos) most = std::min(most, 0.8 * std::stod(std::string{digits}));
  }
  return in.arrived + std::chrono::duration_cast<std::chrono::steady_clock::duration>(seconds{most});
}

http_answer answered(const http_request& in, const settings& s, counters& seen) try {
  const auto question = in.path.find('?');
  const auto path = in.path.substr(0, question), query = question == std::string_view::npos ? std::string_view{} : in.path.substr(question + 1);
  if (in.method == "GET" && (path == "/healthz" || path == "/readyz")) return {200, "ok\n"};
  if (in.method == "GET" && path == "/metrics") return {200, seen.text(), prometheus_type};
  if (path != "/admit" || in.method != "POST") return {404, "headroom: POST /admit and GET /healthz, /readyz and /metrics are answered\n"};
  auto a = review(in.body, s.by, end_of(in, query, s.answer));
  const auto took = std::chrono::steady_clock::now() - in.arrived;
  seen.decisions.add(a.said.decision);
  if (!a.said.reason.empty()) seen.refusals.add(a.said.reason);
  seen.took.add(took);
  log(a.said, s, seconds(took).count());
  return {a.status, std::move(a.body), a.status == 200 ? "application/json" : "text/plain"};
} catch (const std::exception&) {
  return {500, "headroom: out of memory\n"};
}

}  // namespace

int main(int count, char** arguments) try {
  settings s;
  advisor advice;
  s.by.advise = [&advice](const auto&... of) { return advice(of...); };
  s.by.read_command = [&s](const std::string& workload, const std::vector<std::string>& set) {
    return calls::import_from({.files = {{"workload.json", workload}}, .usual_gpu = s.gpu, .set = set, .model_base = headroom::io::no_files, .job_base = headroom::io::no_files}).job.dump();
  };
  counters seen;
  server_limits limits;
  limits.workers = std::max(1U, std::thread::hardware_concurrency());
  std::string address = "0.0.0.0:8443";
  CLI::App app{"Refuses pods whose training job does not fit: POST /admit, GET /healthz, /readyz and /metrics"};
  app.add_option("--certificate", s.certificate, "PEM")->required()->check(CLI::ExistingFile);
  app.add_option("--key", s.key, "PEM")->required()->check(CLI::ExistingFile);
  app.add_option("--listen", address, "HOST:PORT; port 0 takes a free one")->capture_default_str();
  app.add_option("--confidence", s.by.confidence, "fits with this confidence, unless an annotation says otherwise")->check(CLI::Range(0.5, 0.999));
  app.add_option("--seconds", s.answer, "for a decision; less where the API server asks for less. After them it answers 503, and failurePolicy decides")->capture_default_str()->check(CLI::Range(0.01, 30.0));
  app.add_flag("--audit", s.by.audit, "Allow what would be refused, with a warning");
  app.add_flag("--read-commands", s.by.reads_commands, "Judge workloads that ask for GPUs and have no annotation by their own command; what is not understood is allowed, with a warning");
  app.add_option("--gpu", s.gpu, "The GPU of a workload whose command is read and that chooses no GPU by a label of its nodes (headroom list gpus)")->check([](const std::string& name) {
    return headroom::io::find_gpu(name) != nullptr ? std::string{} : "is no GPU that is known: " + name;
  });
  app.add_flag_callback("--no-advice", [&s] { s.by.advise = nullptr; }, "A refusal does not say what would fit");
  app.add_option("--log", s.log, "Which decisions are logged on standard error, a line of JSON each")->capture_default_str()->check(CLI::IsMember({"all", "refused", "none"}));
  app.add_option("--connections", limits.connections, "at once")->capture_default_str()->check(CLI::Range(1, 4096));
  app.add_option("--workers", limits.workers, "decisions at once")->capture_default_str()->check(CLI::Range(1, 256));
  CLI11_PARSE(app, count, arguments);
  const auto colon = address.rfind(':');
  const std::string host = address.substr(0, colon), port = colon == std::string::npos ? "" : address.substr(colon + 1);
  if (host.empty() || port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != std::string::npos) {
    std::cerr << "headroom: --listen must be HOST:PORT, found \"" << address << "\"\n";
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  // Ready is who can decide: a first decision, before anybody is let in.
  constexpr std::string_view trial = R"({"model": "gpt2", "batch": {"micro": 1, "sequence": 128}})";
  if (const auto a = headroom::io::admit({.job = trial}); a.decision == headroom::io::decision::bad_input) throw std::runtime_error(a.sentence);
  server all(limits, s.certificate, s.key, [&](const http_request& in) { return answered(in, s, seen); });
  const auto bound = all.listen(host, std::stoi(port));
  std::cout << "listening on " << host << ':' << bound << std::endl;
  if (!all.run()) std::_Exit(0);  // a decision that nobody waits for any more
  return 0;
} catch (const std::exception& e) {
  std::cerr << "headroom: " << e.what() << '\n';
  return 2;
}
