// Distributed under the Boost Software License, Version 1.0.
#include "jobs.hpp"

#include <headroom/diagnose/measured_lines.hpp>
#include <headroom/io/job_reader.hpp>

#include "../calls/answers.hpp"

namespace program {

namespace {

using namespace headroom;
using namespace headroom::io;

constexpr std::string_view measured_words[] = {"allocated", "active", "reserved", "device", "step", "rank"};

void say_figure(json_value& measured, std::string_view word) {
  const auto sign = word.find('=');
  const auto key = word.substr(0, sign);
  if (sign == std::string_view::npos || std::find(std::begin(measured_words), std::end(measured_words), key) == std::end(measured_words))
    unknown_name("--measured", key, measured_words);
  const std::string value{word.substr(sign + 1)};
  if (key != "step") {
    measured[std::string{key}] = value;
    return;
  }
  char* end = nullptr;
  const double seconds = std::strtod(value.c_str(), &end);
  if (end == value.c_str() || (*end != '\0' && std::string_view{end} != "s")) fail("headroom: --measured step must be seconds, such as 2.31, found " + in_quotes(printable(value)));
  measured["step"] = seconds;
}

/// The figures of a run's log.
void say_log(json_value& measured, const std::string& name, std::istream& in) {
  const auto found = read_measured_lines(name == "-" ? read_text(in, "standard input") : read_file(name));
  if (found.died) fail("headroom: --measured: the run of " + in_quotes(printable(name)) + " went out of memory, so its log does not say how high it would have been; headroom diagnose reads such a log");
  if (!found.any())
    fail("headroom: --measured: " + in_quotes(printable(name)) + " has none of the lines that are known: Megatron-LM's \"memory (MB) | allocated\", DeepSpeed's \"MA … Max_MA\", torch.cuda.memory_summary(), torchtitan's "
         "\"memory: …GiB(\", the Trainer's \"before_init_mem_gpu\" with its three deltas; give the figures themselves: --measured allocated=…,reserved=…,step=…");
  for (std::size_t m = 0; m < reading_count; ++m)
    if (found.run.measured[m] >= bytes{0}) measured[std::string{text(static_cast<reading>(m))}] = found.run.measured[m].count();
  if (found.run.step > 0) measured["step"] = static_cast<double>(found.run.step) / 1e9;
}

/// A model in place of a job: what is trained is known then, and nothing of how.
void refuse_model_name(const std::string& file) {
  if (std::error_code none; std::filesystem::exists(file, none) || !shape_named(file)) return;
  fail("headroom: " + printable(file) + " is a model, not a job file: headroom fit " + printable(file) + " --qlora --gpu NAME says what fits, --write FILE writes its job");
}

}  // namespace

std::filesystem::path folder_of(const std::string& file) { return file == "-" ? std::filesystem::path{"."} : std::filesystem::path{file}.parent_path(); }

void say_measured(nlohmann::json& job, const std::string& said, std::istream& in) {
  if (said.empty() || !job.is_object()) return;
  auto& measured = job["measured"];
  if (measured.is_null()) measured = json_value::object();
  if (!measured.is_object()) wrong_value("measured", "an object", measured);
  measured.erase("predicted");
  if (said.find('=') == std::string::npos) return say_log(measured, said, in);
  for (std::size_t from = 0; from <= said.size();) {
    const auto end = std::min(said.find(',', from), said.size());
    say_figure(measured, std::string_view{said}.substr(from, end - from));
    from = end + 1;
  }
}

named_job job_and_words(const std::string& file, std::istream& in, bool confined, const std::string& measured, const headroom::deadline& until) {
  if (file != "-") refuse_model_name(file);
  auto value = file == "-" ? parse_json(read_text(in, "standard input"), "standard input") : parse_json_file(file);
  say_measured(value, measured, in);
  return {calls::read_settled_job(value, confined ? file_base{folder_of(file)} : file_base::anywhere_from(folder_of(file)), until), imported_words_of(value)};
}

headroom::job job_named(const std::string& file, std::istream& in, bool confined, const std::string& measured, const headroom::deadline& until) {
  return job_and_words(file, in, confined, measured, until).job;
}

}  // namespace program
