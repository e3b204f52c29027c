// Distributed under the Boost Software License, Version 1.0.
// The program, run from outside: its exit status and what it writes to which stream.
#pragma once

#include <headroom/io/syntax/json_reader.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace test_programs {

struct outcome {
  int status{};
  std::string out, err;
};

class scratch {
 public:
  scratch() : folder_(std::filesystem::temp_directory_path() / ("headroom-test-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~scratch() { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::string file(const std::string& name, const std::string& text) const {
    std::ofstream{file(name)} << text;
    return file(name);
  }
  [[nodiscard]] outcome run(const std::string& arguments, const std::string& input = "") const {
    const auto in = file("in", input);
    const auto status = std::system(
        (std::string{HEADROOM_PROGRAM} + " " + arguments + " < " + in + " > " + file("out") + " 2> " + file("err")).c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, headroom::io::read_file(file("out")), headroom::io::read_file(file("err"))};
  }

 private:
  std::filesystem::path folder_;
};

inline bool one_sentence(const outcome& o) {
  return o.out.empty() && o.err.starts_with("headroom: ") && std::count(o.err.begin(), o.err.end(), '\n') == 1;
}
inline bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }


}  // namespace test_programs
