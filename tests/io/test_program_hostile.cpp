// Distributed under the Boost Software License, Version 1.0.
// The program and files that it must not follow, wait for, or repeat as they are.
#ifdef HEADROOM_PROGRAM
#include "program.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

namespace test_program_hostile {

using namespace test_programs;

TEST_CASE("a confined job names files below its own folder") {
  const scratch at;
  for (const auto* folder : {"jobs", "outside"}) std::filesystem::create_directories(at.file(folder));
  std::filesystem::copy_file(HEADROOM_EXAMPLES "/models/llama-3.1-8b/config.json", at.file("outside/config.json"));
  const auto rest = std::string{R"(, "hardware": {"gpu": "h100-sxm-80gb"}, "batch": {"sequence": 64}})"};
  const auto outside = at.file("jobs/outside.json", R"({"model": "../outside")" + rest);
  CHECK(at.run("estimate " + outside).status != 2);
  const auto confined = at.run("estimate --confined " + outside);
  CHECK(confined.status == 2);
  CHECK(one_sentence(confined));
  CHECK(holds(confined.err, "leads out of the job's folder"));
  std::filesystem::rename(at.file("outside"), at.file("jobs/inside"));
  CHECK(at.run("estimate --confined " + at.file("jobs/inside.json", R"({"model": "inside")" + rest)).status != 2);
}

TEST_CASE("no command waits for a pipe") {
  const scratch at;
  const auto pipe = at.file("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const auto job = at.file("job.json", R"({"model": ")" + pipe + R"(", "hardware": {"gpu": "h100-sxm-80gb"}, "batch": {"sequence": 64}})");
  for (const auto& command : {"estimate " + pipe, "import " + pipe, "count " + pipe, "export --to deepspeed " + pipe, "plan " + pipe, "validate " + pipe, "estimate " + job, "diagnose - --message " + pipe}) {
    CAPTURE(command);
    const auto said = at.run(command, R"({"model": "gpt2", "hardware": {"gpu": "h100-sxm-80gb"}, "batch": {"sequence": 64}})");
    CHECK(said.status == 2);
    CHECK(one_sentence(said));
  }
}

TEST_CASE("what a shell hands over is read") {
  const scratch at;
  const std::string job = R"({"model": "gpt2", "hardware": {"gpu": "h100-sxm-80gb"}, "batch": {"sequence": 64}})";
  CHECK(at.run("estimate /dev/stdin", job).status == 0);
  const auto file = at.file("job.json", job);
  for (const std::string& piped : {"cat " + file + " | " + HEADROOM_PROGRAM + " estimate /dev/stdin", "cat " + file + " | " + HEADROOM_PROGRAM + " estimate /dev/fd/0"})
    CHECK(std::system((piped + " > " + at.file("out")).c_str()) == 0);
}

TEST_CASE("a terminal obeys nothing that the program says") {
  const scratch at;
  const auto script = at.file("a\x1b[2J.sh", "export A\x1b=1 CUDA_VISIBLE_DEVICES='0\xe2\x80\xae'\nif [ \"$U\x1b\" = x ]; then B=1; fi\ndeepspeed train.py --x\x1b[2J y\n");
  const auto plain = [](const outcome& o) { return o.err.find('\x1b') == std::string::npos && o.out.find('\x1b') == std::string::npos && o.err.find("\xe2\x80\xae") == std::string::npos; };
  for (const std::string& command : {"import '" + script + "' --model gpt2 --gpu h100-sxm-80gb", "import '" + script + "' --set 'a\x1b=1'", std::string{"estimate 'no\x1b[2J'"}, std::string{"list 'a\x1b'"}, std::string{"estimate '--x\x1b'"}, std::string{"'x\x1b'"}}) {
    CAPTURE(command);
    const auto said = at.run(command);
    CHECK(said.status == 2);
    CHECK(plain(said));
    CHECK(!said.err.empty());
  }
}

}  // namespace test_program_hostile
#endif
