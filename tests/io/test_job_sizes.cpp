// Distributed under the Boost Software License, Version 1.0.
// Every size of every known model left out, zero or one: a job is counted or refused in a sentence, and nothing is divided by zero.
#include <headroom/io/job_reader.hpp>
#include <headroom/estimate.hpp>

#include <doctest/doctest.h>

namespace test_job_sizes {

using namespace headroom;
using io::json_value;

void sizes(const json_value& v, const std::string& path, std::vector<std::string>& to) {
  if (v.is_object())
    for (const auto& [key, inner] : v.items()) sizes(inner, path + "/" + key, to);
  else if (v.is_number_integer())
    to.push_back(path);
}
/// "counted", or why the job is refused.
std::string answer(const json_value& value) {
  try {
    return estimate(io::read_job(value, "/nonexistent/folder")).device() > bytes{} ? "counted" : "counted as nothing";
  } catch (const headroom::error& e) {
    return e.what();
  }
}

TEST_CASE("no size of a model that is left out, zero or one stops more than the job") {
  int tried = 0, counted = 0;
  for (const auto& known : models::all()) {
    auto m = known;
    m.label = name{std::string_view{"one"}};
    const auto whole = io::model_to_json(m);
    REQUIRE(whole.is_object());
    std::vector<std::string> paths;
    sizes(whole, "", paths);
    for (const auto& path : paths)
      for (const int size : {-1, 0, 1})
        for (const auto* framework : {"hf-trainer", "torchtitan", "megatron"}) {
          auto changed = whole;
          const json_value::json_pointer at{path};
          if (size < 0)
            changed[at.parent_pointer()].erase(at.back());
          else
            changed[at] = size;
          CAPTURE(known.label.view());
          CAPTURE(path);
          CAPTURE(size);
          CAPTURE(framework);
          const auto said = answer({{"model", changed}, {"framework", framework}, {"batch", {{"sequence", 128}}}});
          const bool good = said == "counted" || said.starts_with("headroom: ");
          if (!good) {
            CAPTURE(known.label.view());
            CAPTURE(path);
            CAPTURE(said);
            CHECK(good);
          }
          ++tried;
          counted += said == "counted";
        }
  }
  CHECK(tried > 10'000);
  CHECK(counted > tried / 10);
}

TEST_CASE("a tower without a kind, or without a size that its blocks need, is refused by that key") {
  const auto with = [](const json_value& vision) {
    return answer({{"model", {{"layers", 2}, {"hidden", 64}, {"heads", 1}, {"ffn", 64}, {"vocab", 100}, {"vision", vision}}}, {"batch", {{"sequence", 128}}}});
  };
  CHECK(with({{"layers", 2}}) == "headroom: model.vision has sizes, and model.vision.kind must say how the tower is built");
  CHECK(with({{"kind", "clip"}, {"layers", 2}, {"hidden", 64}, {"heads", 4}, {"patch", 14}, {"image", 224}}) == "headroom: model.vision.ffn must be at least 1 (found 0)");
  CHECK(with({{"kind", "clip"}, {"layers", 2}, {"hidden", 64}, {"ffn", 64}, {"patch", 14}, {"image", 224}}) == "headroom: model.vision.heads must be at least 1 (found 0)");
  CHECK(with({{"kind", "clip"}, {"layers", 2}, {"hidden", 64}, {"heads", 4}, {"ffn", 64}, {"image", 224}}) == "headroom: model.vision.patch must be at least 1 (found 0)");
}

}  // namespace test_job_sizes
