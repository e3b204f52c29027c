// Distributed under the Boost Software License, Version 1.0.
// A validating admission webhook for Kubernetes: refuses pods and workloads whose training job will not fit.
//   headroom_webhook --certificate tls.crt --key tls.key --listen 0.0.0.0:8443
// examples/kubernetes/webhook.yaml registers it. The files of the certificate are read again when they change. SIGTERM ends it within a second,
// and lets requests that are under way end before.
#include "review.hpp"
#include "server.hpp"

#include <CLI/CLI.hpp>

#include <csignal>
#include <iostream>
#include <thread>

namespace {

using namespace kubernetes;
using seconds = std::chrono::duration<double>;

struct settings {
  std::string certificate{}, key{};
  std::optional<double> confidence{};
  double answer{4.0};  ///< seconds
};

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

http_answer answered(const http_request& in, const settings& s) try {
  const auto question = in.path.find('?');
  const auto path = in.path.substr(0, question), query = question == std::string_view::npos ? std::string_view{} : in.path.substr(question + 1);
  if (path == "/healthz" && in.method == "GET") return {200, "ok\n"};
  if (path != "/admit" || in.method != "POST") return {404, "headroom: POST /admit and GET /healthz are answered\n"};
  auto a = review(in.body, s.confidence, end_of(in, query, s.answer));
  if (a.status == 503) std::cerr << a.body + "\n";
  return {a.status, std::move(a.body), a.status == 200 ? "application/json" : "text/plain"};
} catch (const std::exception&) {
  return {500, "headroom: out of memory\n"};
}

}  // namespace

int main(int count, char** arguments) try {
  settings s;
  server_limits limits;
  limits.workers = std::max(1U, std::thread::hardware_concurrency());
  std::string address = "0.0.0.0:8443";
  CLI::App app{"Refuses pods whose training job does not fit: POST /admit, GET /healthz"};
  app.add_option("--certificate", s.certificate, "PEM")->required()->check(CLI::ExistingFile);
  app.add_option("--key", s.key, "PEM")->required()->check(CLI::ExistingFile);
  app.add_option("--listen", address, "HOST:PORT; port 0 takes a free one")->capture_default_str();
  app.add_option("--confidence", s.confidence, "fits with this confidence, unless an annotation says otherwise")->check(CLI::Range(0.5, 0.999));
  app.add_option("--seconds", s.answer, "for a decision; less where the API server asks for less. After them it answers 503, and failurePolicy decides")->capture_default_str()->check(CLI::Range(0.01, 30.0));
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
  server all(limits, s.certificate, s.key, [&s](const http_request& in) { return answered(in, s); });
  const auto bound = all.listen(host, std::stoi(port));
  std::cout << "listening on " << host << ':' << bound << std::endl;
  if (!all.run()) std::_Exit(0);  // a decision that nobody waits for any more
  return 0;
} catch (const std::exception& e) {
  std::cerr << "headroom: " << e.what() << '\n';
  return 2;
}
