// Distributed under the Boost Software License, Version 1.0.
// A bounded load for the webhook's test: REQUESTS reviews from the lines of a file, over four connections that are kept.
//   headroom_webhook_load PORT CERTIFICATE BODIES REQUESTS
#include <openssl/ssl.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

struct freed {
  void operator()(SSL_CTX* c) const { SSL_CTX_free(c); }
  void operator()(BIO* b) const { BIO_free_all(b); }
};
using context = std::unique_ptr<SSL_CTX, freed>;
using connection = std::unique_ptr<BIO, freed>;

connection connect(SSL_CTX* trust, const std::string& port) {
  connection made{BIO_new_ssl_connect(trust)};
  BIO_set_conn_hostname(made.get(), ("localhost:" + port).c_str());
  SSL* tls = nullptr;
  BIO_get_ssl(made.get(), &tls);
  SSL_set1_host(tls, "localhost");
  return BIO_do_handshake(made.get()) == 1 ? std::move(made) : nullptr;
}

/// The status of the answer, which is read to its end; 0: there is none.
int post(BIO* over, const std::string& body) {
  const auto request = "POST /admit?timeout=5s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  if (BIO_write(over, request.data(), static_cast<int>(request.size())) != static_cast<int>(request.size())) return 0;
  std::string said;
  char block[4096];
  for (std::size_t whole = std::string::npos; said.size() < whole;) {
    const int n = BIO_read(over, block, sizeof block);
    if (n <= 0) return 0;
    said.append(block, static_cast<std::size_t>(n));
    const auto end = said.find("\r\n\r\n"), length = said.find("Content-Length: ");
    if (end != std::string::npos && length < end) whole = end + 4 + std::stoul(said.substr(length + 16));
  }
  return std::stoi(said.substr(9, 3));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) return 2;
  const int requests = std::stoi(arguments[4]);
  std::vector<std::string> bodies;
  std::ifstream file(arguments[3]);
  for (std::string line; std::getline(file, line);) bodies.push_back(line);
  const context trust{SSL_CTX_new(TLS_client_method())};
  SSL_CTX_load_verify_locations(trust.get(), arguments[2], nullptr);
  SSL_CTX_set_verify(trust.get(), SSL_VERIFY_PEER, nullptr);
  std::atomic<int> next{0}, failed{0};
  const auto work = [&] {
    auto over = connect(trust.get(), arguments[1]);
    for (int i = next++; i < requests; i = next++) {
      if (over && post(over.get(), bodies[static_cast<std::size_t>(i) % bodies.size()]) == 200) continue;
      ++failed;
      over = connect(trust.get(), arguments[1]);
    }
  };
  const auto start = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> connections;
    for (int i = 0; i < 4; ++i) connections.emplace_back(work);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::cout << requests << " decisions, " << static_cast<int>(requests / seconds) << " a second, " << failed << " failed\n";
  return failed == 0 ? 0 : 1;
}
