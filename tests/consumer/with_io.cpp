// Distributed under the Boost Software License, Version 1.0.
// headroom::io brings nlohmann-json along.
#include <headroom/version.hpp>

#include <nlohmann/json.hpp>

int main() { return nlohmann::json::parse("{\"version\": 1}").at("version") == 1 && HEADROOM_VERSION > 0 ? 0 : 1; }
