// Distributed under the Boost Software License, Version 1.0.
// A Slurm plugin (SPANK) that refuses a training job that will not fit, when it is submitted:
//   sbatch --headroom-job=job.json train.sh
// In plugstack.conf, "required" is what makes a refusal count (with "optional" Slurm prints it and runs the job all the same):
//   required /usr/lib/headroom_spank.so confidence=0.95 seconds=5
// audit=yes refuses nothing: what would be refused is said, and submitted. It runs in sbatch, salloc and srun, as the user who calls them, and reads the job file and the model configuration that it names, which lies
// below the job file's folder. It has ten seconds, or those that are said, and then no opinion: the submission goes on.
// Submissions without the option are not looked at. Whatever goes wrong in here, a mistake in plugstack.conf too, refuses at most the one
// job that asked.
#include <headroom/io/admission.hpp>
#include <headroom/io/syntax/json_reader.hpp>

#include <cstdlib>

extern "C" {
#include <slurm/spank.h>

// SPANK_PLUGIN defines constants, which C++ would keep inside this file.
extern const char plugin_name[], plugin_type[];
extern const unsigned int plugin_version, spank_plugin_version;
#pragma GCC visibility push(default)
SPANK_PLUGIN(headroom, 1)
spank_f slurm_spank_init, slurm_spank_init_post_opt;
#pragma GCC visibility pop
}

namespace {

/// What this submission asked for: Slurm hands options to a function without a context, and a process submits one job.
struct request {
  std::string job{};
  std::string confidence{};
};
request asked;

template <std::string request::*Member>
int keep(int, const char* text, int remote) try {
  if (remote == 0 && text != nullptr) asked.*Member = text;
  return 0;
} catch (...) {
  return -1;
}

void register_option(spank_t spank, const char* name, const char* argument, const char* usage, spank_opt_cb_f keep_it) {
  // Slurm copies what it is given, and does not write to it.
  spank_option option{const_cast<char*>(name), const_cast<char*>(argument), const_cast<char*>(usage), 1, 0, keep_it};
  (void)spank_option_register(spank, &option);  // contexts without options say so, and need none
}

/// KEY=… of plugstack.conf; empty where it is not said.
std::string said_for(std::string_view key, int count, char** arguments) {
  for (int i = 0; i < count; ++i)
    if (const std::string_view word{arguments[i]}; word.starts_with(key) && word.substr(key.size()).starts_with('=')) return std::string{word.substr(key.size() + 1)};
  return {};
}

std::optional<headroom::confidence> read_confidence(const std::string& text) {
  if (text.empty()) return std::nullopt;
  char* end = nullptr;
  const double share = std::strtod(text.c_str(), &end);
  if (*end != '\0') headroom::io::fail("headroom: a confidence must be a share from 0.5 to 0.999, found \"" + text + "\"");
  return headroom::confidence{share};
}

headroom::deadline read_seconds(const std::string& text) {
  if (text.empty()) return headroom::deadline::in(10);
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !(seconds >= 0 && seconds <= 3600)) headroom::io::fail("headroom: seconds must be from 0 to 3600, found " + headroom::io::in_quotes(text));
  return headroom::deadline::in(seconds);
}

/// The job file's decision. A pipe or a device would let a submission wait for ever.
headroom::io::admission judge(const std::filesystem::path& file, const std::string& confidence, headroom::deadline until) {
  std::error_code problem;
  if (std::filesystem::exists(file, problem) && !std::filesystem::is_regular_file(file, problem))
    headroom::io::fail("headroom: " + file.string() + " is not a file");
  const auto text = headroom::io::read_file(file);
  return headroom::io::admit({.job = text, .base = file.parent_path(), .sure = read_confidence(confidence), .full = false, .until = until});
}

bool read_audit(const std::string& text) {
  if (!text.empty() && text != "yes" && text != "no") headroom::io::fail("headroom: audit must be yes or no, found " + headroom::io::in_quotes(text));
  return text == "yes";
}

/// 0, or -1 with the reason in Slurm's own words.
int check(int count, char** arguments) try {
  const bool audit = read_audit(said_for("audit", count, arguments));
  const auto confidence = asked.confidence.empty() ? said_for("confidence", count, arguments) : asked.confidence;
  const auto a = judge(asked.job, confidence, read_seconds(said_for("seconds", count, arguments)));
  const auto about = headroom::io::printable(asked.job) + ": " + a.sentence;
  if (a.decision == headroom::io::decision::not_decided) {
    slurm_info("headroom: no opinion of %s", about.c_str());
    return 0;
  }
  if (a.decision == headroom::io::decision::fits) {
    slurm_info("headroom: %s", about.c_str());
    return 0;
  }
  if (audit) {
    slurm_info("headroom: NOT REFUSED, as this cluster audits: %s", about.c_str());
    return 0;
  }
  slurm_error("headroom: REFUSED %s; nothing was submitted", about.c_str());
  return -1;
} catch (const std::exception& e) {
  slurm_error("headroom: REFUSED %s: %s; nothing was submitted", asked.job.c_str(), e.what());
  return -1;
} catch (...) {
  slurm_error("headroom: REFUSED: the job could not be judged; nothing was submitted");
  return -1;
}

}  // namespace

extern "C" int slurm_spank_init(spank_t spank, int, char**) {
  register_option(spank, "headroom-job", "FILE", "refuse the job unless this training job fits its GPUs (headroom job file)", keep<&request::job>);
  register_option(spank, "headroom-confidence", "SHARE", "… and fits with this confidence, from 0.5 to 0.999", keep<&request::confidence>);
  return 0;
}

extern "C" int slurm_spank_init_post_opt(spank_t, int count, char** arguments) {
  const auto where = spank_context();
  if (where != S_CTX_LOCAL && where != S_CTX_ALLOCATOR) return 0;
  if (asked.job.empty() || std::getenv("SLURM_JOB_ID") != nullptr) return 0;  // steps of a job that was admitted carry its options
  return check(count, arguments);
}
