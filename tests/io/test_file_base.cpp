// Distributed under the Boost Software License, Version 1.0.
// Which files a job may name, and what is no file.
#include <doctest/doctest.h>
#include <headroom/io/job_reader.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace test_file_base {

using namespace headroom;
namespace fs = std::filesystem;

constexpr const char* config = R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 128, "vocab_size": 100})";

/// folder/job/ has a model, links that lead out, a pipe; folder/outside/ another model and a secret.
struct folders {
  fs::path all = fs::temp_directory_path() / ("headroom-test-files-" + std::to_string(getpid())), job = all / "job";
  folders() {
    for (const auto* name : {"job/inside", "job/sneaky", "outside", "jobs"}) fs::create_directories(all / name);
    write(job / "inside/config.json", config);
    write(all / "outside/config.json", config);
    write(all / "jobs/config.json", config);
    write(all / "outside/secret.txt", "root:x:0:0");
    fs::create_symlink(all / "outside/config.json", job / "link.json");
    fs::create_symlink(all / "outside/config.json", job / "sneaky/config.json");
    fs::create_directory_symlink(all / "outside", job / "folder-link");
    fs::create_symlink("inside/config.json", job / "inner-link.json");
    fs::create_symlink("loop", job / "loop");
    REQUIRE(mkfifo((job / "pipe").c_str(), 0600) == 0);
  }
  ~folders() { fs::remove_all(all); }
  static void write(const fs::path& file, std::string_view text) { std::ofstream{file} << text; }
};

/// How many layers the model has, or why it is not read.
std::string reading(const std::string& model, const io::file_base& base) {
  try {
    return std::to_string(io::read_model_named(model, "model", base).layers);
  } catch (const job_error& e) {
    return e.what();
  }
}
bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_CASE("a job of others names files below its folder") {
  const folders f;
  const io::file_base below{f.job};
  for (const auto* inside : {"inside", "inside/config.json", "./inside", "inside/../inside/", "inner-link.json", "../job/inside"}) CHECK(reading(inside, below) == "3");
  CHECK(reading((f.job / "inside").string(), below) == "3");
  CHECK(reading("inside", io::file_base{f.job.string() + "/"}) == "3");
  for (const std::string& outside : {std::string{"../outside"}, std::string{"../outside/config.json"}, std::string{"../jobs"}, std::string{"link.json"}, std::string{"folder-link"}, std::string{"folder-link/secret.txt"},
                                    std::string{"/etc/passwd"}, std::string{"../../../../../../../etc/passwd"}, std::string{"inside/../../outside/secret.txt"}, (f.all / "outside/secret.txt").string(), std::string{"../not-there"}}) {
    CAPTURE(outside);
    const auto said = reading(outside, below);
    CHECK(holds(said, "leads out of the job's folder: only files below it are read here"));
    CHECK(!holds(said, "root"));
  }
  for (const auto* none : {"sneaky", "pipe", "loop", "nothing"}) CHECK(!holds(reading(none, below), "3"));
  CHECK(holds(reading("inside", io::no_files), "files are not read here"));
}

TEST_CASE("a job of one's own names any file") {
  const folders f;
  const auto mine = io::file_base::anywhere_from(f.job);
  for (const std::string& any : {std::string{"inside"}, std::string{"../outside"}, std::string{"link.json"}, std::string{"sneaky"}, std::string{"folder-link"}, (f.all / "outside").string()}) CHECK(reading(any, mine) == "3");
  for (const auto* none : {"pipe", "loop", "/dev/null", "/dev/zero", "nothing"}) CHECK(holds(reading(none, mine), "is neither a name of the model zoo nor a file"));
  folders::write(f.job / "job.json", R"({"model": "../outside", "batch": {"sequence": 8}})");
  CHECK(io::read_job_file(f.job / "job.json").model.layers == 3);
  CHECK_THROWS_AS((void)io::read_job(io::parse_json_file(f.job / "job.json"), f.job), job_error);
}

TEST_CASE("what is no file is not opened") {
  const folders f;
  const auto refusal = [](const fs::path& file) {
    try {
      return io::read_file(file);
    } catch (const job_error& e) {
      return std::string{e.what()};
    }
  };
  for (const fs::path& none : {f.job / "pipe", fs::path{"/dev/zero"}}) CHECK(refusal(none) == "headroom: " + none.string() + " is a pipe or a device, not a file; what another program writes is read as -");
  CHECK(refusal(f.job) == "headroom: " + f.job.string() + " is a folder, not a file");
  folders::write(f.job / "large", "{}");
  fs::resize_file(f.job / "large", (std::uintmax_t{64} << 30));  // sparse: were it read, the test would not end
  CHECK(refusal(f.job / "large") == "headroom: " + (f.job / "large").string() + " is larger than 16 MiB");
  CHECK(refusal(f.job / "inner-link.json") == config);
}

}  // namespace test_file_base
