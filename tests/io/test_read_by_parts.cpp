// Distributed under the Boost Software License, Version 1.0.
// Parts of readers by themselves: a row is what stands in a file, and what is made of it or said about it.
#include <headroom/io/import.hpp>
#include <headroom/io/job/older_words.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/io/launchers/cluster/hosted_launch.hpp>
#include <headroom/io/launchers/judged_keys.hpp>
#include <headroom/io/launchers/settle/liger.hpp>
#include <headroom/io/launchers/settle/releases.hpp>
#include <headroom/io/launchers/trl/reentry.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace test_read_by_parts {

using namespace headroom;
using io::json_value;

namespace {

json_value json(const std::string& text) { return io::parse_json(text, "expected"); }
template <class Read>
std::string said_of(const Read& read) {
  try {
    return std::string{read()};
  } catch (const error& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("a shell's string is the script, wherever the shell lies") {
  const auto script = [](std::vector<std::string> words) {
    std::vector<io::shell_word> all;
    for (auto& w : words) all.push_back({std::move(w), 1});
    return io::detail::script_of(all);
  };
  for (const auto* shell : {"sh", "/bin/sh", "bash", "/usr/bin/bash", "dash", "zsh", "./ash"}) CHECK(script({shell, "-lc", "torchrun a.py"}) == "torchrun a.py\n");
  CHECK(script({"/bin/bash", "-e", "-c", "a b"}) == "a b\n");
  CHECK(script({"/opt/bash/python", "-c", "a b"}) == "\"/opt/bash/python\" \"-c\" \"a b\" \n");
  CHECK(script({"bash", "run.sh"}) == "\"bash\" \"run.sh\" \n");
  CHECK(script({"bash", "--rcfile", "-c"}) == "\"bash\" \"--rcfile\" \"-c\" \n");
  CHECK(script({"a\"b", "${N}", "c\\d`"}) == "\"a\\\"b\" \"${N}\" \"c\\\\d\\`\" \n");
  CHECK(script({}) == "\n");
}

TEST_CASE("whether a job's layers are Megatron-LM's") {
  const auto runs = [](const char* text) { return io::detail::runs_megatron(json(text)); };
  CHECK(runs(R"({"framework": "megatron"})"));
  CHECK(runs(R"({"framework": {"name": "megatron", "version": "2025-06"}})"));
  CHECK_FALSE(runs(R"({"framework": "megatron-deepspeed"})"));
  CHECK_FALSE(runs(R"({"framework": {"options": {}}})"));
  CHECK_FALSE(runs(R"({"model": "gpt2"})"));
}

TEST_CASE("a misspelt key's likely name is one of its own section") {
  static constexpr std::string_view read[]{"model.hidden", "model.heads", "models.colour", "model_colour.x", "batch.colour", "colours"};
  const io::detail::key_lists lists{read, {}};
  CHECK(lists.meant("model", "hiden") == "hidden");
  CHECK(lists.meant("model", "head") == "heads");
  CHECK(lists.meant("model", "color").empty());
  CHECK(lists.meant("batch", "color") == "colour");
  CHECK(lists.meant("", "colour") == "colours");
  CHECK(lists.meant("", "modell") == "model");
}

TEST_CASE("adapters under ZeRO's third stage, with what a draft says of checkpoints") {
  const auto under = [](const char* recompute, int stage, const char* framework, bool adapts, const char* place = "a.yaml:1") {
    io::draft d;
    if (*recompute != '\0') d.say({"recompute"}, json(recompute), place);
    d.say({"framework", "name"}, framework, "a.yaml:2");
    d.say({"sharding", "stage"}, stage, "a.yaml:3");
    if (adapts) d.say({"adapter", "rank"}, 8, "a.yaml:4");
    return io::detail::adapters_under_zero3(d);
  };
  CHECK(under(R"("full")", 3, "deepspeed", true));
  CHECK(under(R"({"mode": "full"})", 3, "deepspeed", true));
  CHECK(under(R"({"mode": "full", "reentrant": false})", 3, "deepspeed", true));
  CHECK_FALSE(under(R"({"mode": "full", "reentrant": true})", 3, "deepspeed", true));
  CHECK_FALSE(under(R"("none")", 3, "deepspeed", true));
  CHECK_FALSE(under("", 3, "deepspeed", true));
  CHECK_FALSE(under(R"("full")", 2, "deepspeed", true));
  CHECK_FALSE(under(R"("full")", 3, "hf-trainer", true));
  CHECK_FALSE(under(R"("full")", 3, "deepspeed", false));
  CHECK_FALSE(under(R"("full")", 3, "deepspeed", true, "--set recompute"));
}

TEST_CASE("a release is two numbers of one or two figures") {
  const auto number = [](const char* text) { return said_of([&] { return std::to_string(io::detail::release_of(json(text), "environment.trl")); }); };
  CHECK(number(R"("1.9")") == "109");
  CHECK(number(R"("0.26.1")") == "26");
  CHECK(number(R"("12.34")") == "1234");
  for (const auto* wrong : {R"("1")", R"("1.")", R"(".5")", R"("1.a")", R"("a.1")", R"("1.234")", R"("123.4")", R"("1.2x.3")", R"("")", "1.9", "null"}) {
    CAPTURE(wrong);
    CHECK(number(wrong).find("headroom: environment.trl") == 0);
    CHECK(number(wrong).find("a version, e.g. \"1.9\"") != std::string::npos);
  }
}

// A model without a name of the list, whose name is its file's: the owner's name is no part of it.
TEST_CASE("Liger's kernels by the name behind the owner's") {
  const auto of = [](const char* named, bool factory = false) {
    io::draft d;
    d.trained_name = named;
    const shape m{.layers = 2, .hidden = 64, .heads = 4, .ffn = 128, .vocab = 100};
    return io::detail::liger_of(d, m, factory);
  };
  using io::detail::liger_has;
  for (const auto* none : {"InternLM2-7B", "internlm/InternLM2-7B", "a/b/baichuan2-13b"}) CHECK(of(none) == liger_has::nothing);
  for (const auto* all : {"Llama-3", "internlm/llama-3", "me/my-internlm"}) CHECK(of(all) == liger_has::layers);
  CHECK(of("x/SmolLM3-3B", true) == liger_has::nothing);
  CHECK(of("x/SmolLM3-3B", false) == liger_has::layers);
  CHECK(of("ibm/granite-3-8b") == liger_has::others);
}

}  // namespace test_read_by_parts
