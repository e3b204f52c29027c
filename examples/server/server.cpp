// Distributed under the Boost Software License, Version 1.0.
// Connections are accepted, the certificate is renewed, and SIGTERM ends it all.
#include "session.hpp"

#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <sys/resource.h>

#include <filesystem>
#include <iostream>

namespace serving {

namespace {

std::shared_ptr<ssl::context> tls_of(const std::string& certificate, const std::string& key) {
  auto tls = std::make_shared<ssl::context>(ssl::context::tls_server);
  tls->set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 | ssl::context::no_sslv3 | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
  SSL_CTX_set_options(tls->native_handle(), SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(tls->native_handle(), SSL_MODE_RELEASE_BUFFERS);
  tls->use_certificate_chain_file(certificate);
  tls->use_private_key_file(key, ssl::context::pem);
  return tls;
}

/// As many files as the system lets this process have open; some are not sockets.
std::size_t files_at_once() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return 256;
  files.rlim_cur = files.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &files);
  (void)getrlimit(RLIMIT_NOFILE, &files);
  return static_cast<std::size_t>(std::max<rlim_t>(files.rlim_cur, 64)) - 32;
}

}  // namespace

struct server::parts {
  parts(const server_limits& limits, std::string certificate_file, std::string key_file, handler handle)
      : with{limits, std::move(handle), asio::thread_pool(limits.workers)}, certificate(std::move(certificate_file)), key(std::move(key_file)), tls(certificate.empty() ? nullptr : tls_of(certificate, key)) {
    with.limits.connections = std::min(with.limits.connections, files_at_once());
  }

  void accept() {
    acceptor.async_accept([this](error_code failed, asio::ip::tcp::socket socket) {
      if (with.ending) return;
      if (failed) {  // no more files, say: later
        pause.expires_after(std::chrono::milliseconds{50});
        return pause.async_wait([this](error_code stopped) {
          if (!stopped) accept();
        });
      }
      if (with.unanswered.size() + with.answering >= with.limits.connections && !with.unanswered.empty()) with.unanswered.front()->close();
      if (with.unanswered.size() + with.answering < with.limits.connections) {
        error_code ignored;
        socket.set_option(asio::ip::tcp::no_delay{true}, ignored);  // an answer is one small packet: it waits for no acknowledgement
        std::make_shared<session>(std::move(socket), tls.get(), with)->start();
      }
      accept();
    });
  }
  [[nodiscard]] std::pair<std::filesystem::file_time_type, std::filesystem::file_time_type> written() const {
    std::error_code ignored;
    return {std::filesystem::last_write_time(certificate, ignored), std::filesystem::last_write_time(key, ignored)};
  }
  /// A certificate is renewed while the server runs: connections that follow get the new one. Files that do not belong together, of which one is
  /// still to be written, change nothing.
  void renew() {
    if (tls == nullptr) return;
    renewal.expires_after(with.limits.renewal);
    renewal.async_wait([this](error_code stopped) {
      if (stopped) return;
      if (const auto now = written(); now != std::exchange(seen, now)) try {
          tls = tls_of(certificate, key);
        } catch (const std::exception& e) {
          std::cerr << std::string{"headroom: the certificate that was there before is kept: "} + e.what() + "\n";
        }
      renew();
    });
  }
  void end() {
    with.ending = true;
    error_code ignored;
    acceptor.close(ignored);
    pause.cancel();
    renewal.cancel();
    const auto open = with.unanswered;
    for (auto* s : open)
      if (s->idle()) s->close();
    last.expires_after(with.limits.ending);
    last.async_wait([this](error_code) { io.stop(); });
    watch();
  }
  /// Nothing is under way: there is nothing to wait for.
  void watch() {
    if (with.unanswered.empty() && with.answering == 0) return io.stop();
    pause.expires_after(std::chrono::milliseconds{5});
    pause.async_wait([this](error_code) { watch(); });
  }

  shared with;
  std::string certificate, key;
  std::pair<std::filesystem::file_time_type, std::filesystem::file_time_type> seen{written()};
  std::shared_ptr<ssl::context> tls;
  asio::io_context io{1};
  asio::ip::tcp::acceptor acceptor{io};
  asio::steady_timer pause{io}, renewal{io}, last{io};
  asio::signal_set signals{io, SIGTERM, SIGINT};
};

server::server(const server_limits& limits, const std::string& certificate, const std::string& key, handler handle)
    : parts_(std::make_unique<parts>(limits, certificate, key, std::move(handle))) {}
server::server(const server_limits& limits, handler handle) : parts_(std::make_unique<parts>(limits, "", "", std::move(handle))) {}
server::~server() = default;

int server::listen(const std::string& host, int port) {
  auto& a = parts_->acceptor;
  const asio::ip::tcp::endpoint at = asio::ip::tcp::resolver{parts_->io}.resolve(host, std::to_string(port), asio::ip::tcp::resolver::passive | asio::ip::tcp::resolver::numeric_service)->endpoint();
  a.open(at.protocol());
  a.set_option(asio::socket_base::reuse_address(true));
  a.bind(at);
  a.listen(1024);
  return a.local_endpoint().port();
}

bool server::run() {
  auto& p = *parts_;
  p.signals.async_wait([&p](error_code, int) { p.end(); });
  p.accept();
  p.renew();
  p.io.run();
  return p.with.answering == 0;
}

}  // namespace serving
