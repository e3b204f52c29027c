// Distributed under the Boost Software License, Version 1.0.
// A bounded load for the webhook's test: REQUESTS reviews from the lines of a file, over four connections that are kept.
//   headroom_webhook_load PORT CERTIFICATE BODIES REQUESTS
#include <httplib.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

int main(int count, char** arguments) {
  if (count != 5) return 2;
  const int port = std::stoi(arguments[1]), requests = std::stoi(arguments[4]);
  std::vector<std::string> bodies;
  std::ifstream file(arguments[3]);
  for (std::string line; std::getline(file, line);) bodies.push_back(line);
  std::atomic<int> next{0}, failed{0};
  const auto work = [&] {
    httplib::SSLClient client("localhost", port);
    client.set_ca_cert_path(arguments[2]);
    client.set_keep_alive(true);
    client.set_tcp_nodelay(true);
    for (int i = next++; i < requests; i = next++) {
      const auto answer = client.Post("/admit", bodies[static_cast<std::size_t>(i) % bodies.size()], "application/json");
      if (!answer || answer->status != 200) ++failed;
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
