// Distributed under the Boost Software License, Version 1.0.
// An HTTP server, with TLS or without, that strangers cannot keep busy: what a connection may take is bounded in time, memory and number, and who is slow holds a
// socket, never a thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace serving {

struct server_limits {
  std::size_t connections{512};              ///< at once; for one more, the one that has been without a whole request for the longest is closed
  std::size_t workers{2};                    ///< answers that are made at once
  std::size_t waiting{64};                   ///< requests that wait for a worker; others are answered 503
  std::size_t header{16 << 10};              ///< bytes of a request's header, …
  std::size_t body{4 << 20};                 ///< … of its body (the API server's own limit on a request is 3 MiB), …
  std::size_t bodies{64 << 20};              ///< … and of all bodies at once
  std::chrono::milliseconds request{5000};   ///< from a request's first byte to its last; of the first one, TLS's handshake included
  std::chrono::milliseconds answer{2000};    ///< to send an answer
  std::chrono::milliseconds idle{60'000};    ///< between requests
  std::chrono::milliseconds age{600'000};    ///< of a connection, which is closed after an answer then
  std::size_t requests{10'000};              ///< of a connection
  std::chrono::milliseconds ending{800};     ///< for what is under way when the server is stopped
  std::chrono::milliseconds renewal{2000};   ///< how often it is looked whether the certificate's files have changed
};

struct http_request {
  std::string_view method, path, body;
  std::chrono::steady_clock::time_point arrived;  ///< its last byte
};
struct http_answer {
  int status{};
  std::string body{};
  const char* type{"text/plain"};
};

class server {
 public:
  using handler = std::function<http_answer(const http_request&)>;  ///< called by several threads at once

  /// With TLS. Throws std::runtime_error where the PEM files do not make a TLS server.
  server(const server_limits& limits, const std::string& certificate, const std::string& key, handler handle);
  /// Without: behind a proxy that has it, or for this machine alone.
  server(const server_limits& limits, handler handle);
  ~server();
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  /// The port that it listens on; 0 asks for a free one. Throws std::runtime_error.
  int listen(const std::string& host, int port);
  /// Answers until SIGTERM or SIGINT. False: an answer was still being made, and its thread runs on.
  bool run();

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace serving
