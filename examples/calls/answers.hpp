// Distributed under the Boost Software License, Version 1.0.
// What the program's commands and the calls work out alike: values in, values and JSON out. All throw headroom::error for bad input, and
// headroom::out_of_time.
#pragma once

#include <headroom/cost/cost.hpp>
#include <headroom/decide.hpp>
#include <headroom/diagnose/advise.hpp>
#include <headroom/io/plan_reader.hpp>
#include <headroom/io/syntax/file_base.hpp>
#include <headroom/plan/options.hpp>

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace calls {

using headroom::io::json_value;
using ordered_json = nlohmann::ordered_json;

// A job (report.cpp).

/// read_measured_job(), which says of an "auto" in place of a value who looks for it.
headroom::job read_settled_job(const json_value& value, const headroom::io::file_base& base, const headroom::deadline& until = {});

/// The time of a step, or the sentence why it is not predicted, without "headroom: ".
struct timed {
  std::optional<headroom::step_cost> cost{};
  std::string refused{};
};
timed time_of(const headroom::job& j);

/// The smallest changes that make it fit, replayed, or with a confidence. Nothing where there is no time for them.
std::optional<std::vector<headroom::advice>> advice_for(const headroom::job& j, std::optional<headroom::confidence> sure, const headroom::deadline& until);
ordered_json advice_json(const std::optional<std::vector<headroom::advice>>& all);

/// A report and a step's time in one object; bytes are integers.
ordered_json report_json(const headroom::full_report& r, const timed& time, headroom::confidence sure);

/// The page of a job (report_html.hpp).
std::string page_of(const headroom::job& j, const headroom::full_report& r, const timed& time, const headroom::deadline& until);

/// A diagnosis of what a run's log says, or nothing where the log holds no out-of-memory message that is known.
std::optional<ordered_json> diagnosis_json(const headroom::job& j, std::string_view log, const headroom::full_report& r, const headroom::deadline& until);

// One number of a job (solve.cpp).

struct solution {
  bool found{};
  json_value value{};     ///< in the key's unit; null where none fits
  headroom::job of{};     ///< with the value
  std::string sentence{}; ///< and what the next one would need
};
/// `place` is what errors call the key. `key` "model": the largest of the models known by name.
solution solve_for(const headroom::job& given, const std::string& key, const std::string& place, const headroom::decided& fits);

// Many jobs (plan.cpp).

/// The fastest that also fit on a closer look, in a part of a search as in the whole, so that parts need only be joined.
headroom::plan_result searched(const headroom::search& s, const headroom::plan_options& o, std::optional<double> sure);

/// What a search is called where it is written, and how sure its plans are.
struct heading {
  std::size_t top{};
  std::optional<double> sure{};
  std::int64_t part{0}, parts{1};
  headroom::deadline until{};
};
/// What `headroom plan --json` writes.
ordered_json plans_json(const std::vector<headroom::io::search_result>& all, double seconds, const heading& h);

// A fine-tuning (fit.cpp).

/// A key of the job that is filled in, and what it means to who fine-tunes.
struct taken_for_granted {
  std::string key{};
  json_value value{};
  std::string means{};
};
struct fit_request {
  std::string model{};        ///< a name, or the path of a config.json
  std::string model_place{};  ///< what errors call it
  std::string method{};       ///< "qlora", "lora" or "full"
  std::string gpu{};
  std::int64_t gpus{1}, micro{1};
  std::int64_t sequence{};  ///< 0: 2048, or as many as the model has positions for
  std::int64_t rank{};        ///< 0: the usual one
  double taken{};             ///< GiB of each GPU that others hold
  std::vector<std::string> set{};
  double confidence{0.95};
  std::string mark{"--"};     ///< before the names of options, in errors
};
struct fit_answer {
  json_value written{};                    ///< the job file
  headroom::job job{};
  std::vector<std::string> notes{};
  std::vector<taken_for_granted> granted{};
  struct found {
    std::int64_t predicted{}, sure{};      ///< 0: none
  };
  found longest{}, largest{};              ///< sequence; micro-batch
  std::int64_t more{};                     ///< the sequence that the advice is for; 0: the model has no position beyond the longest
  std::vector<headroom::advice> help{};
  headroom::bytes needs{};                 ///< where none fits, what the sequence that was asked for takes of a GPU, as predicted
  struct other {
    std::string option{};                  ///< another way to train: "--qlora", "--gpus 8"
    found longest{};
  };
  std::vector<other> instead{};            ///< where none fits, other ways that do
};
fit_answer fitted(const fit_request& asked, const headroom::io::file_base& base, const headroom::deadline& until);
ordered_json fit_json(const fit_answer& a, headroom::confidence sure);

// Files of other programs (import.cpp).

struct import_request {
  std::vector<std::pair<std::string, std::string>> files{};  ///< names and texts
  std::string as{}, model{}, gpu{}, automatic{"trainer"}, program{};
  std::string usual_gpu{};                                   ///< where neither the files nor `gpu` name one
  std::vector<std::string> set{};
  std::vector<std::pair<std::string, std::string>> environment{};
  std::vector<std::string> ignore{};
  int line{};
  std::string mark{"--"};                                    ///< before the names of options, in errors
  headroom::io::file_base model_base{};                      ///< where a model's path leads
  std::optional<headroom::io::file_base> job_base{};         ///< where those in a job file do; none said: from that file anywhere
};
struct imported {
  json_value job{};
  std::vector<std::string> notes{};
};
imported import_from(const import_request& asked);

/// The job in the file of another program; `place` is what errors call the target.
std::string export_to(const headroom::job& j, const std::string& target, const std::string& place);

}  // namespace calls
