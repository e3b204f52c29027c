// Distributed under the Boost Software License, Version 1.0.
// GPUs by the names that drivers, shops and people give them, and what torch says that they hold.
#include <doctest/doctest.h>

#include <headroom/io/job/hardware.hpp>

#include <array>
#include <cmath>
#include <set>
#include <string>

namespace test_gpus {

using namespace headroom;

namespace {

// "GPU 0 has a total capacity of … GiB", said in public issues; drivers differ by about 0.2 GiB.
struct said {
  const char* name;
  double gib;
  const char* where;
};
constexpr auto messages = std::to_array<said>({
    {"Quadro RTX 8000", 47.27, "nv-tlabs/cosmos-transfer1-diffusion-renderer issue 11"},
    {"rtx-8000", 47.46, "Victarry/stable-dreambooth issue 8"},
    {"NVIDIA RTX A4000", 15.61, "DengKaiCQ/VGGT-Long issue 6"},
    {"rtx-a4000", 15.73, "Zeqiang-Lai/Mini-DALLE3 issue 9"},
    {"NVIDIA A100-SXM4-80GB", 79.25, "HiDream-ai/VAREdit issue 6"},
    {"a100-40gb", 39.50, "TianheWu/CoSeR issue 10"},
    {"a800-80gb", 79.33, "hahnyuan/PB-LLM issue 3"},
    {"NVIDIA GeForce RTX 4090", 23.61, "pinokiofactory/flux-webui issue 11"},
    {"NVIDIA GeForce RTX 5090", 31.37, "Wan-Video/Wan2.1 issue 465"},
    {"NVIDIA A30", 23.53, "google/RB-Modulation issue 5"},
    {"3080", 9.78, "zai-org/CogVideo issue 34"},
});

TEST_CASE("a GPU holds what torch says of it, by the name that its driver gives it") {
  for (const auto& one : messages) {
    CAPTURE(one.name);
    CAPTURE(one.where);
    const gpu* found = io::find_gpu(one.name);
    REQUIRE(found != nullptr);
    CHECK(std::abs(static_cast<double>(found->memory / mib) / 1024 - one.gib) < 0.21);
  }
}

TEST_CASE("no two GPUs share a name, every other name leads to one, and a list leaves none out") {
  std::set<std::string> names;
  for (const auto& g : gpus::all) CHECK(names.emplace(g.label.view()).second);
  const auto check = [&](const auto& others) {
    for (const auto& other : others) {
      const std::string from{other.from.view()};
      CAPTURE(from);
      CHECK(!names.contains(from));
      CHECK(names.contains(std::string{other.to.view()}));
    }
  };
  check(gpus::aliases);
  check(gpus::driver_names);
  for (const auto* one : {"titan-rtx", "a10", "rtx-4060", "rtx-4090-d", "rtx-4090d", "rtx-5060-ti-16gb", "rtx-a5000", "a800-sxm-40gb", "h200-nvl-141gb"})
    CHECK(io::find_gpu(one) != nullptr);
}

}  // namespace

}  // namespace test_gpus
