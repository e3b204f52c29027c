// Distributed under the Boost Software License, Version 1.0.
// The commands of the program. Each returns its exit status and throws headroom::error for bad input.
#pragma once

#include <headroom/deadline.hpp>

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace program {

struct streams {
  std::istream& in;
  std::ostream& out;
  bool colour{};
  headroom::deadline until{};  ///< past it a command throws headroom::out_of_time, or says what it has
};

struct estimate_request {
  std::vector<std::string> jobs;
  bool json{};
  bool brief{};
  std::string svg;
  std::string trace;
  std::string html;
  std::optional<double> confidence{};  ///< of the verdict, too, where it is given
  bool confined{};                     ///< the job names files below its own folder alone
  std::string measured;  ///< what a run took: jobs.hpp
};
/// 0: all fit, 1: one does not.
int run(const estimate_request& asked, const streams& io);

struct compare_request {
  std::string first, second;
  bool json{};
};
/// 0: both fit, 1: one does not.
int run(const compare_request& asked, const streams& io);

struct count_request {
  std::vector<std::string> models;
  bool json{};
};
int run(const count_request& asked, const streams& io);

struct list_request {
  std::string what;
  std::string part;
  std::string kind;  ///< of models
};
/// 0: names were listed.
int run(const list_request& asked, const streams& io);

struct schema_request {
  bool markdown{};
};
/// 0: it was written.
int run(const schema_request& asked, const streams& io);

struct validate_request {
  std::string records;
  std::string plot;
  bool json{};
  std::string by;
  double confidence{0.95};
};
int run(const validate_request& asked, const streams& io);

struct solve_request {
  std::string job;
  std::string key;
  bool json{};
  std::optional<double> confidence{};  ///< of the verdict
  std::string measured;  ///< what a run took: jobs.hpp
};
/// 0: a value fits, 1: none does.
int run(const solve_request& asked, const streams& io);

struct fit_request {
  std::string model;                 ///< a name or a path; or …
  std::string config;                ///< … the path of a config.json
  std::vector<std::string> methods;  ///< one of "qlora", "lora" and "full"
  std::string gpu;
  std::int64_t gpus{1};
  std::int64_t sequence{};  // 0: 2048, or as many as the model has positions for
  std::int64_t micro{1};
  std::int64_t rank{};               ///< 0: the usual one
  double taken{};                    ///< GiB of each GPU that others hold
  std::vector<std::string> set;
  std::string write;
  bool json{};
  double confidence{0.95};
};
/// 0: some sequence fits, 1: none does.
int run(const fit_request& asked, const streams& io);

struct merge_request {
  std::vector<std::string> parts;
  bool json{};
};
/// The same, of a search that was divided.
int run(const merge_request& asked, const streams& io);

struct diagnose_request {
  std::string job;
  std::string message;
  bool json{};
};
/// 0: by the estimate the job fits, 1: it does not.
int run(const diagnose_request& asked, const streams& io);

struct plan_request {
  std::string job;
  std::size_t top{10};
  unsigned threads{};
  std::string shard;
  std::string write;
  bool json{};
  std::optional<double> confidence{};
  std::vector<std::string> sweep;   ///< KEY=VALUE,VALUE…
  std::vector<std::string> prices;  ///< GPU=PRICE
  std::string tokens;               ///< of the training
  double days{}, budget{};          ///< 0: any
  std::string measured;  ///< what a run took: jobs.hpp
};
/// 0: a plan fits, 1: none does.
int run(const plan_request& asked, const streams& io);

struct import_request {
  std::vector<std::string> files;
  std::string as;
  std::string model;
  std::string gpu;
  std::string automatic{"trainer"};
  std::vector<std::string> set;
  std::vector<std::string> env;
  std::vector<std::string> ignore;
  std::string program;
  int line{};
};
/// 0: a job was written.
int run(const import_request& asked, const streams& io);

struct serve_request {
  std::string listen{"127.0.0.1:8080"};
  std::string certificate, key;  ///< PEM; without them it is plain HTTP
  double seconds{10.0};          ///< for an answer
  std::size_t connections{256};
  unsigned workers{};            ///< 0: all cores
  std::size_t body_kib{4096};
};
/// Answers until SIGTERM. 0: it ended.
int run(const serve_request& asked, const streams& io);

struct export_request {
  std::string job;
  std::string to;
};
/// 0: a file was written.
int run(const export_request& asked, const streams& io);

}  // namespace program
