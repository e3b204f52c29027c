// Distributed under the Boost Software License, Version 1.0.
// A validating admission webhook for Kubernetes: refuses pods and workloads whose training job will not fit.
//   headroom_webhook --certificate tls.crt --key tls.key --listen 0.0.0.0:8443
// examples/kubernetes/webhook.yaml registers it. SIGTERM ends it after the requests that are under way.
#include "review.hpp"

#include <CLI/CLI.hpp>
#include <httplib.h>

#include <csignal>
#include <iostream>
#include <thread>

namespace {

constexpr std::size_t largest_body = 4 << 20;  // the API server's own limit on a request is 3 MiB

struct settings {
  std::string host{"0.0.0.0"};
  int port{8443};
  std::string certificate{}, key{};
  std::optional<double> confidence{};
  std::size_t connections{64};
};

void serve(httplib::SSLServer& server, const settings& s) {
  server.new_task_queue = [n = s.connections] { return new httplib::ThreadPool(n); };  // httplib deletes it; a connection holds a thread
  server.set_payload_max_length(largest_body);
  // That limit is on the length that a request states, so that one must be stated, and of what is unpacked already.
  server.set_pre_routing_handler([](const httplib::Request& in, httplib::Response& out) {
    const bool packed = in.has_header("Content-Encoding"), endless = in.has_header("Transfer-Encoding");
    if (!packed && !endless) return httplib::Server::HandlerResponse::Unhandled;
    out.status = packed ? 415 : 411;
    out.set_header("Connection", "close");
    out.set_content(packed ? "headroom: the body must not be compressed\n" : "headroom: the request must state its Content-Length\n", "text/plain");
    return httplib::Server::HandlerResponse::Handled;
  });
  server.set_keep_alive_max_count(100'000);
  server.set_read_timeout(2);  // who connects and says nothing holds a thread for no longer
  server.set_tcp_nodelay(true);  // an answer is one small packet: it must not wait for the one before to be acknowledged
  server.Get("/healthz", [](const httplib::Request&, httplib::Response& out) { out.set_content("ok\n", "text/plain"); });
  server.Post("/admit", [&s](const httplib::Request& in, httplib::Response& out) {
    const auto a = kubernetes::review(in.body, s.confidence);
    out.status = a.status;
    out.set_content(a.body, a.status == 200 ? "application/json" : "text/plain");
  });
  server.set_exception_handler([](const httplib::Request&, httplib::Response& out, std::exception_ptr) {
    out.status = 500;
    out.set_content("headroom: out of memory\n", "text/plain");
  });
}

}  // namespace

int main(int count, char** arguments) {
  settings s;
  std::string address = "0.0.0.0:8443";
  CLI::App app{"Refuses pods whose training job does not fit: POST /admit, GET /healthz"};
  app.add_option("--certificate", s.certificate, "PEM")->required()->check(CLI::ExistingFile);
  app.add_option("--key", s.key, "PEM")->required()->check(CLI::ExistingFile);
  app.add_option("--listen", address, "HOST:PORT; port 0 takes a free one")->capture_default_str();
  app.add_option("--confidence", s.confidence, "fits with this confidence, unless an annotation says otherwise")->check(CLI::Range(0.5, 0.999));
  app.add_option("--connections", s.connections, "at once")->capture_default_str()->check(CLI::Range(1, 4096));
  CLI11_PARSE(app, count, arguments);
  const auto colon = address.rfind(':');
  const std::string host = address.substr(0, colon), port = colon == std::string::npos ? "" : address.substr(colon + 1);
  if (host.empty() || port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != std::string::npos) {
    std::cerr << "headroom: --listen must be HOST:PORT, found \"" << address << "\"\n";
    return 2;
  }
  // Blocked in every thread: one of them waits for the signal, and stops the server.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  httplib::SSLServer server(s.certificate.c_str(), s.key.c_str());
  if (!server.is_valid()) {
    std::cerr << "headroom: the certificate and the key do not make a TLS server\n";
    return 2;
  }
  serve(server, s);
  const int given = std::stoi(port);
  const int bound = given == 0 ? server.bind_to_any_port(host) : server.bind_to_port(host, given) ? given : -1;
  if (bound < 0) {
    std::cerr << "headroom: cannot listen on " << address << '\n';
    return 2;
  }
  std::cout << "listening on " << host << ':' << bound << std::endl;
  std::thread stopper([&] {
    int signal = 0;
    sigwait(&ends, &signal);
    server.stop();
  });
  const bool served = server.listen_after_bind();
  if (!served) pthread_kill(stopper.native_handle(), SIGTERM);
  stopper.join();
  return served ? 0 : 1;
}
