// Distributed under the Boost Software License, Version 1.0.
// A key with dots is a section in a section for each of them, and what lies too deep is refused where it stands: a value of 50,000 sections took the process's stack with it.
#include <doctest/doctest.h>

#include <headroom/io/syntax/notebook.hpp>

#include "imported.hpp"

namespace test_many_parts {

using namespace imported;

namespace {

/// A key of so many parts.
std::string of(int parts) {
  std::string key = "a";
  for (int i = 1; i < parts; ++i) key += ".a";
  return key;
}
std::string why(const std::string& script, std::vector<imported::text> files = {}) {
  files.insert(files.begin(), {"run.sh", script + "\n"});
  return refusal_of(files);
}

}  // namespace

TEST_CASE("keys of more parts than sections may be nested are refused in their line, and those of as many are read") {
  struct row {
    std::string before, after, shown{of(20) + "."};
  };
  const row rows[] = {
      {"\ntorchrun torchtitan/train.py --", " 1"},
      {"\ntune run full_finetune_single_device ", "=1"},
      {"\ntune run full_finetune_single_device ~", ""},
      {"\nlitgpt finetune_lora Qwen/Qwen2.5-7B --", " 1"},
      {"\nuv run examples/run_sft.py ", "=1"},
      {"\nuv run examples/run_sft.py ++", "=1"},
      {"\nuv run examples/run_sft.py ~", "", "~" + of(20)},
  };
  for (const auto& r : rows) {
    CAPTURE(r.before);
    CHECK(why(r.before + of(65) + r.after) == "headroom: run.sh:2: a key has more than 64 parts: \"" + r.shown + "…\"");
    CHECK(why(r.before + of(50'000) + r.after).find("a key has more than 64 parts") != std::string::npos);
    CHECK(why(r.before + of(64) + r.after).find("parts") == std::string::npos);
  }
  const auto set = [](int parts) { return refusal_of({{"run.sh", "deepspeed --num_gpus 8 train.py\n"}}, {of(parts) + "=1"}); };
  CHECK_THROWS_WITH(
      [] {
        io::draft d;
        io::say_key(d, of(50'000) + "=1");
      }(),
      ("headroom: --set: a key has more than 64 parts: \"" + of(20) + ".…\"").c_str());
  CHECK(set(64).find("parts") == std::string::npos);
}

TEST_CASE("words of NeMo-RL's commands have a key") {
  for (const std::string word : {"=1", "++=1", "policy", "-x"}) {
    CAPTURE(word);
    CHECK(why("uv run examples/run_sft.py " + word) == "headroom: run.sh:1: \"" + word + "\" is no KEY=VALUE of NeMo-RL's");
  }
}

// As bash 5.2 has them: a list or a range makes several words, and what has neither stays as it is written.
TEST_CASE("braces of several words stay open, and others are what stands there") {
  const auto left = [](const std::string& word) {
    const auto script = io::read_shell("torchrun a.py " + word + " end\n", "s.sh");
    const auto& words = script.commands.at(0).words;
    REQUIRE(words.size() >= 4);
    return words[2].known() ? words[2].text : "open: " + words[2].shown();
  };
  CHECK(left("{a}") == "{a}");
  CHECK(left("x{") == "x{");
  CHECK(left("{{x}}") == "{{x}}");
  CHECK(left("{x'},'y") == "{x},y");
  CHECK(left("{{{{}") == "{{{{}");
  CHECK(left("{}{a,b}").starts_with("open: "));
  CHECK(left("{a,b}").starts_with("open: "));
  CHECK(left("{1..8}").starts_with("open: "));
  CHECK(left("{a,{b},c}").starts_with("open: "));
  CHECK(left("x{ {a,b}") == "x{");
  CHECK(left(std::string(50'000, '{')) == std::string(50'000, '{'));
}

TEST_CASE("cells of a notebook that are none are passed over") {
  const auto cells = [](const std::string& all) { return io::python_of_notebook("{\"cells\": [" + all + "], \"nbformat\": 4}", "a.ipynb").text; };
  const std::string code = R"({"cell_type": "code", "source": "x = 1"})";
  CHECK(cells(code) == "x = 1\n");
  for (const auto* other : {"null", "1", "[]", R"({"cell_type": ["code"], "source": "y = 1"})", R"({"cell_type": 1, "source": "y = 1"})", R"({"cell_type": "code"})", R"({"cell_type": "code", "source": 1})",
                            R"({"cell_type": "code", "source": [["y"], {}]})", R"({"cell_type": "markdown", "source": "y = 1"})", R"({"source": "y = 1"})"}) {
    CAPTURE(other);
    CHECK(cells(std::string{other} + "," + code) == "x = 1\n");
  }
  CHECK_THROWS_WITH(io::python_of_notebook("{\"cells\": 3}", "a.ipynb"), "headroom: a.ipynb is no notebook: it has no list of cells, as nbformat 4 has");
}

}  // namespace test_many_parts
