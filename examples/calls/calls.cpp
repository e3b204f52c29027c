// Distributed under the Boost Software License, Version 1.0.
// A request's text in, an answer's text out: each call reads its keys, asks, and writes.
#include "calls.hpp"

#include "answers.hpp"
#include "request.hpp"

#include <headroom/hardware/gpu_names.hpp>
#include <headroom/io/cost_text.hpp>
#include <headroom/io/diagnosis_text.hpp>
#include <headroom/io/measured_job.hpp>
#include <headroom/io/report/verdict.hpp>
#include <headroom/io/report_svg.hpp>
#include <headroom/io/report_text.hpp>
#include <headroom/io/sweep_reader.hpp>
#include <headroom/version.hpp>

#include <chrono>

namespace calls {
namespace {

using namespace headroom;

struct said {
  calls::outcome outcome{};
  std::string sentence{};
  ordered_json document = ordered_json::object();
};

calls::outcome outcome_of(bool fits) { return fits ? outcome::fits : outcome::does_not_fit; }

/// A report's decision and sentence, with its document.
said judged_as(const full_report& r, std::optional<confidence> sure, ordered_json document) {
  const bool fitting = sure ? fits(r, *sure) : r.fits();
  return {outcome_of(fitting), (r.fits() && !fitting ? "DOES NOT FIT FOR SURE: " : "") + io::verdict_text(r), std::move(document)};
}

said estimated(request& in) {
  const auto j = in.job();
  in.keys.finish();
  const auto r = estimate_all(j);
  return judged_as(r, in.sure, report_json(r, time_of(j), in.sure.value_or(confidence{})));
}

said replayed(request& in) {
  const auto j = in.job();
  in.keys.finish();
  const auto r = replay(j, in.until);
  auto s = judged_as(r, in.sure, report_json(r, time_of(j), in.sure.value_or(confidence{})));
  if (s.outcome == outcome::does_not_fit) s.document["advice"] = advice_json(advice_for(j, in.sure, in.until));
  return s;
}

said costed(request& in) {
  const auto j = in.job();
  in.keys.finish();
  const auto c = cost(j);
  return {outcome::done, "a step takes " + io::fixed(c.step.value, 3) + " s as predicted", io::to_json(c, in.sure.value_or(confidence{}))};
}

said planned(request& in) {
  const auto value = in.job_value();
  heading h{.top = static_cast<std::size_t>(in.whole("top", 10, 1, 1000)), .sure = in.sure ? std::optional{in.sure->share()} : std::nullopt, .until = in.until};
  plan_options o{.top = h.top, .threads = static_cast<unsigned>(in.whole("threads", 0, 0, 1024)), .until = in.until};
  if (in.most_threads > 0) o.threads = o.threads > 0 ? std::min(o.threads, in.most_threads) : in.most_threads;
  o.part = h.part = in.whole("part", 0, 0, 1 << 20);
  o.parts = h.parts = in.whole("parts", 1, 1, 1 << 20);
  in.keys.finish();
  const auto start = std::chrono::steady_clock::now();
  std::vector<io::search_result> all;
  for (const auto& s : io::read_sweep(io::with_measured(value, {.base = in.base()}, in.until), in.base())) all.push_back({s.values, searched(s.search, o, h.sure)});
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto empty = std::count_if(all.begin(), all.end(), [](const auto& s) { return s.found.best.empty(); });
  const bool open = std::any_of(all.begin(), all.end(), [](const auto& s) { return s.found.best.empty() && !s.found.complete; });
  const auto sentence = empty == 0 ? std::string{"a plan fits"} + (all.size() > 1 ? " in every search" : "") : open ? out_of_time{}.what() : "no plan fits" + (all.size() > 1 ? " in " + std::to_string(empty) + " of " + std::to_string(all.size()) + " searches" : std::string{});
  return {empty == 0 ? outcome::fits : open ? outcome::not_decided : outcome::does_not_fit, sentence, plans_json(all, seconds, h)};
}

said solved_for(request& in) {
  const auto j = in.job();
  const auto key = io::string_at(in.keys.need("for", "what is looked for, such as batch.micro"), in.keys.at("for"));
  in.keys.finish();
  const auto a = solve_for(j, key, "for", decided{in.sure, in.until});
  return {outcome_of(a.found), a.sentence, {{"key", key}, {"value", a.value}, {"report", io::to_json(replay(a.of, in.until), in.sure.value_or(confidence{}))}}};
}

said fit_for(request& in) {
  fit_request asked{.model = io::string_at(in.keys.need("model", "a model's name, or the name of a config.json among the files"), in.keys.at("model")), .model_place = "model", .method = in.text("method"), .gpu = in.text("gpu"), .mark = ""};
  if (asked.method != "qlora" && asked.method != "lora" && asked.method != "full") io::fail("headroom: method must be qlora, lora or full, found " + io::in_quotes(asked.method));
  if (asked.gpu.empty()) io::fail("headroom: gpu is required: the name of one");
  asked.gpus = in.whole("gpus", asked.gpus, 1, 1024);
  asked.sequence = in.whole("sequence", asked.sequence, 1, 1 << 28);
  asked.micro = in.whole("micro", asked.micro, 1, 1 << 20);
  asked.rank = in.whole("rank", asked.rank, 0, 1 << 20);
  if (const auto* v = in.keys.take("taken_gib")) asked.taken = io::number_at(*v, "taken_gib", 0.0, 4096.0);
  asked.set = in.settings("set");
  asked.confidence = in.sure.value_or(confidence{}).share();
  in.keys.finish();
  const auto a = fitted(asked, in.base(), in.until);
  const auto most = a.longest.predicted;
  return {outcome_of(most > 0), most > 0 ? "sequences of up to " + io::grouped(most) + " tokens fit as predicted" : "no sequence fits", fit_json(a, confidence{asked.confidence})};
}

said diagnosed(request& in) {
  const auto j = in.job();
  const auto& log = io::string_at(in.keys.need("message", "the run's log, or the message out of it"), in.keys.at("message"));
  in.keys.finish();
  const auto r = replay(j, in.until);
  auto document = diagnosis_json(j, log, r, in.until);
  if (!document) io::fail("headroom: message holds no out-of-memory message that headroom knows: PyTorch's \"Tried to allocate …\", one of NCCL, cuBLAS or host memory, or a kill by signal 9");
  document->erase("fits");
  return judged_as(r, {}, std::move(*document));
}

said imported_from(request& in) {
  import_request asked{.as = in.text("as"), .model = in.text("model"), .gpu = in.text("gpu"), .automatic = in.text("auto", "trainer"), .program = in.text("program"), .set = in.settings("set"), .ignore = in.words("ignore"), .mark = "", .model_base = in.base(), .job_base = in.base()};
  asked.line = static_cast<int>(in.whole("line", 0, 0, 1 << 30));
  for (const auto& one : in.settings("env")) asked.environment.emplace_back(one.substr(0, one.find('=')), one.substr(one.find('=') + 1));
  in.keys.finish();
  if (in.order.empty()) io::fail("headroom: files is required: an object of names and texts");
  for (const auto& name : in.order) asked.files.emplace_back(name, in.files.find(name)->second);
  auto made = import_from(asked);
  return {outcome::done, "read", {{"job", std::move(made.job)}, {"notes", std::move(made.notes)}}};
}

said exported_to(request& in) {
  const auto j = in.job();
  const auto target = io::string_at(in.keys.need("to", "what the file is for, such as deepspeed"), in.keys.at("to"));
  in.keys.finish();
  return {outcome::done, "written", {{"text", export_to(j, target, "to")}}};
}

/// The report as a person reads it, as a picture, as a page.
template <std::string (*Shown)(const job&, const full_report&, request&)>
said shown(request& in) {
  const auto j = in.job();
  in.keys.finish();
  const auto r = replay(j, in.until);
  return judged_as(r, in.sure, {{"text", Shown(j, r, in)}});
}
std::string as_text(const job& j, const full_report& r, request& in) {
  const auto sure = in.sure.value_or(confidence{});
  const auto time = time_of(j);
  return io::to_text(r, j, false, sure) + "\n" + (time.cost ? io::to_text(*time.cost, false, sure) : "No step time: " + time.refused + "\n");
}
std::string as_svg(const job& j, const full_report& r, request&) { return io::to_svg(r, j); }
std::string as_html(const job& j, const full_report& r, request& in) { return page_of(j, r, time_of(j), in.until); }

/// Names that a job may use.
said listed(request& in) {
  const auto what = io::string_at(in.keys.need("what", "models, gpus, frameworks, optimizers or precisions"), in.keys.at("what"));
  in.keys.finish();
  constexpr std::string_view kinds[] = {"models", "gpus", "frameworks", "optimizers", "precisions"};
  auto all = ordered_json::array();
  const auto add = [&](const auto& values) {
    for (const auto& v : values) all.push_back(std::string{v.label.view()});
  };
  if (what == "models")
    for (const auto& e : models::table) all.push_back(std::string{e.names[0]});
  else if (what == "gpus")
    add(gpus::all);
  else if (what == "frameworks")
    for (const auto name : io::framework_names) all.push_back(std::string{name});
  else if (what == "optimizers")
    add(optimizers::all);
  else if (what == "precisions")
    add(precisions::all);
  else
    io::unknown_name("what", what, kinds);
  return {outcome::done, "listed", {{"names", std::move(all)}}};
}

constexpr std::array<said (*)(request&), names.size()> each{estimated, replayed, costed, planned, solved_for, fit_for, diagnosed, imported_from, exported_to, shown<as_text>, shown<as_svg>, shown<as_html>, listed};

answer written(const said& s) {
  const char* const words[] = {"fits", "does not fit", "bad input", "no memory", "not decided", "done"};
  const auto version = std::to_string(HEADROOM_VERSION_MAJOR) + "." + std::to_string(HEADROOM_VERSION_MINOR) + "." + std::to_string(HEADROOM_VERSION_PATCH);
  ordered_json all = {{"interface", interface_version}, {"version", version}, {"decision", words[static_cast<int>(s.outcome)]}, {"sentence", s.sentence}};
  all.update(s.document);
  return {s.outcome, all.dump(-1, ' ', false, ordered_json::error_handler_t::replace)};
}

}  // namespace

answer refusal(std::string_view sentence) { return written({outcome::bad_input, std::string{sentence}, ordered_json::object()}); }

answer call(std::string_view name, std::string_view text, const limits& within) try {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) io::unknown_name("the call", std::string{name}, names);
  const auto value = io::parse_json(text, "the request");
  request in{value, within};
  return written(each[static_cast<std::size_t>(at - names.begin())](in));
} catch (const out_of_time& e) {
  return written({outcome::not_decided, e.what(), ordered_json::object()});
} catch (const error& e) {
  return refusal(e.what());
} catch (const std::filesystem::filesystem_error& e) {
  return refusal("headroom: " + io::printable(e.what()));
} catch (const json_value::exception& e) {
  return refusal("headroom: " + io::printable(e.what()));
}

}  // namespace calls
