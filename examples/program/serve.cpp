// Distributed under the Boost Software License, Version 1.0.
// headroom serve: the calls over HTTP, POST /v1/replay and others.
#if HEADROOM_HAS_SERVER

#include "../calls/openapi.hpp"
#include "../server/metrics.hpp"
#include "../server/server.hpp"

#include <headroom/io/syntax/json_value.hpp>
#include <headroom/version.hpp>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "program.hpp"

namespace program {
namespace {

constexpr std::string_view prefix = "/v1/";

const char* status_word(calls::outcome o) {
  constexpr const char* words[] = {"fits", "does_not_fit", "bad_input", "no_memory", "not_decided", "done"};
  return words[static_cast<int>(o)];
}
int http_status(calls::outcome o) { return o == calls::outcome::bad_input ? 400 : o == calls::outcome::not_decided || o == calls::outcome::no_memory ? 503 : 200; }

struct served {
  serving::counter answers{"headroom_answers_total", "Calls by how they ended.", "outcome"};
  serving::counter asked{"headroom_calls_total", "Calls by their names.", "call"};
  serving::latency took{"headroom_call_seconds", "From a call's last byte to its answer."};
};

serving::http_answer respond_to(const serving::http_request& in, const serve_request& how, served& seen, const std::string& document) try {
  const auto path = in.path.substr(0, in.path.find('?'));
  if (in.method == "GET") {
    if (path == "/healthz" || path == "/readyz") return {200, "ok\n"};
    if (path == "/metrics") return {200, seen.asked.text() + seen.answers.text() + seen.took.text(), serving::prometheus_type};
    if (path == "/openapi.json") return {200, document, "application/json"};
  }
  const auto name = path.starts_with(prefix) ? path.substr(prefix.size()) : std::string_view{};
  const bool known = std::find(calls::names.begin(), calls::names.end(), name) != calls::names.end();
  if (!known) return {404, "headroom: POST /v1/NAME, GET /openapi.json, /metrics, /healthz and /readyz are answered\n"};
  if (in.method != "POST") return {405, "headroom: calls are asked by POST\n"};
  const auto until = in.arrived + std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(how.seconds));
  auto said = calls::call(name, in.body, {.until = headroom::deadline(until), .threads = 1});  // workers are what is shared
  seen.asked.add(name);
  seen.answers.add(status_word(said.outcome));
  seen.took.add(std::chrono::steady_clock::now() - in.arrived);
  return {http_status(said.outcome), std::move(said.text), "application/json"};
} catch (const std::exception&) {
  return {500, "headroom: out of memory\n"};
}

}  // namespace

int run(const serve_request& asked, const streams&) {
  const auto colon = asked.listen.rfind(':');
  const auto host = asked.listen.substr(0, colon), port = colon == std::string::npos ? std::string{} : asked.listen.substr(colon + 1);
  if (host.empty() || port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != std::string::npos) headroom::io::fail("headroom: --listen must be HOST:PORT, found " + headroom::io::in_quotes(asked.listen));
  if (asked.certificate.empty() != asked.key.empty()) headroom::io::fail("headroom: --certificate and --key go together");
  serving::server_limits limits;
  limits.connections = asked.connections;
  limits.workers = asked.workers > 0 ? asked.workers : std::max(1U, std::thread::hardware_concurrency());
  limits.body = asked.body_kib << 10;
  const auto version = std::to_string(HEADROOM_VERSION_MAJOR) + "." + std::to_string(HEADROOM_VERSION_MINOR) + "." + std::to_string(HEADROOM_VERSION_PATCH);
  const auto document = calls::openapi(version, std::string{prefix}).dump(2) + "\n";
  served seen;
  std::signal(SIGPIPE, SIG_IGN);
  const auto handle = [&](const serving::http_request& in) { return respond_to(in, asked, seen, document); };
  const auto all = asked.certificate.empty() ? std::make_unique<serving::server>(limits, handle) : std::make_unique<serving::server>(limits, asked.certificate, asked.key, handle);
  const auto bound = all->listen(host, std::stoi(port));
  std::cout << "listening on " << host << ':' << bound << std::endl;
  if (!all->run()) std::_Exit(0);  // an answer that nobody waits for any more
  return 0;
}

}  // namespace program

#endif
