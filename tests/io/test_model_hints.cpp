// Distributed under the Boost Software License, Version 1.0.
// A folder that holds an adapter and no model says whose it is.
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace test_model_hints {

using namespace headroom;

TEST_CASE("the folder of an adapter names its base") {
  const auto folder = std::filesystem::temp_directory_path() / ("headroom-adapter-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder / "mine");
  const auto write = [&](const char* name, const char* text) { std::ofstream{folder / "mine" / name} << text; };
  const auto sentence = [&] {
    try {
      return std::to_string(io::read_model_named("./mine", "model", folder).layers);
    } catch (const job_error& e) {
      return std::string{e.what()};
    }
  };
  CHECK(sentence().find("neither a name of the model zoo nor a file") != std::string::npos);
  write("adapter_config.json", R"({"peft_type": "LORA", "base_model_name_or_path": "meta-llama/Llama-3.1-8B"})");
  CHECK(sentence() == "headroom: model \"./mine\" is the folder of an adapter, without its model: give \"meta-llama/Llama-3.1-8B\", which its adapter_config.json names, as the model, and what trains as the key adapter");
  write("adapter_config.json", "{}");
  CHECK(sentence().find("give its base as the model") != std::string::npos);
  // Where a config.json lies beside it, that is the model.
  write("config.json", R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 128, "vocab_size": 100})");
  CHECK(sentence() == "3");
  std::filesystem::remove_all(folder);
}

}  // namespace test_model_hints
