// Distributed under the Boost Software License, Version 1.0.
// The library behind headroom.h.
#include "headroom.h"

#include "../calls/calls.hpp"
#include "../calls/roomy.hpp"

#include <headroom/io/admission.hpp>
#include <headroom/version.hpp>

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <cstring>
#include <utility>

namespace {

using headroom::io::admission;
using headroom::io::decision;

char* copy_of(const std::string& text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc{};
  return static_cast<char*>(std::memcpy(copy, text.c_str(), text.size() + 1));
}

admission admit(const char* job, std::size_t size, const char* folder, double confidence, headroom::deadline until) {
  const admission nothing{decision::bad_input, "headroom: there is no job: its text is NULL", {}, {}};
  if (job == nullptr) return nothing;
  const auto base = folder != nullptr ? headroom::io::file_base{folder} : headroom::io::no_files;
  std::optional<headroom::confidence> sure;
  if (confidence != 0) try {
      sure.emplace(confidence);
    } catch (const headroom::error& e) {
      return {decision::bad_input, e.what(), {}, {}};
    }
  return headroom::io::admit({.job = {job, size}, .base = base, .sure = sure, .until = until});
}

headroom_decision decision_of(const admission& a) {
  switch (a.decision) {
    case decision::fits: return HEADROOM_FITS;
    case decision::does_not_fit: return HEADROOM_DOES_NOT_FIT;
    case decision::not_decided: return HEADROOM_NOT_DECIDED;
    case decision::bad_input: break;
  }
  return HEADROOM_BAD_INPUT;
}

headroom_decision decision_of(calls::outcome o) {
  switch (o) {
    case calls::outcome::fits:
    case calls::outcome::done: return HEADROOM_FITS;
    case calls::outcome::does_not_fit: return HEADROOM_DOES_NOT_FIT;
    case calls::outcome::not_decided: return HEADROOM_NOT_DECIDED;
    case calls::outcome::no_memory: return HEADROOM_NO_MEMORY;
    case calls::outcome::bad_input: break;
  }
  return HEADROOM_BAD_INPUT;
}

/// What `ask()` says, {decision, text}, on a thread that has room for it; where nobody takes the text it is not copied.
template <class Ask>
headroom_decision answered(char** answer, const Ask& ask) try {
  if (answer != nullptr) *answer = nullptr;
  headroom_decision said{};
  const auto work = [&] {
    const auto [decision, text] = ask();
    if (answer != nullptr) *answer = copy_of(text);
    said = decision;
  };
  calls::with_room(work);
  return said;
} catch (const std::exception&) {
  return HEADROOM_NO_MEMORY;  // everything else is a decision
}

headroom_decision admitted(const char* job, std::size_t size, const char* folder, double confidence, headroom::deadline until, char** answer) {
  return answered(answer, [&] {
    const auto a = admit(job, size, folder, confidence, until);
    const auto range = a.report && confidence != 0 ? headroom::confidence{confidence} : headroom::confidence{};
    return std::pair{decision_of(a), answer != nullptr ? to_json(a, range).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) : std::string{}};
  });
}

headroom_decision called(std::string_view name, const char* request, std::size_t size, double wait, char** answer) {
  const auto until = wait < 0 ? headroom::deadline{} : headroom::deadline::in(wait);
  return answered(answer, [&] {
    auto said = request == nullptr ? calls::refusal("headroom: there is no request: its text is NULL") : calls::call(name, {request, size}, {.until = until});
    return std::pair{decision_of(said.outcome), std::move(said.text)};
  });
}

}  // namespace

extern "C" headroom_decision headroom_admit(const char* job, std::size_t size, const char* folder, double confidence, char** answer) {
  return admitted(job, size, folder, confidence, {}, answer);
}

extern "C" headroom_decision headroom_admit_within(const char* job, std::size_t size, const char* folder, double confidence, double wait, char** answer) {
  return admitted(job, size, folder, confidence, headroom::deadline::in(wait), answer);
}

extern "C" headroom_decision headroom_call(const char* name, const char* request, std::size_t size, double wait, char** answer) {
  return called(name != nullptr ? name : "", request, size, wait, answer);
}
extern "C" headroom_decision headroom_estimate(const char* request, std::size_t size, double wait, char** answer) { return called("estimate", request, size, wait, answer); }
extern "C" headroom_decision headroom_replay(const char* request, std::size_t size, double wait, char** answer) { return called("replay", request, size, wait, answer); }
extern "C" headroom_decision headroom_cost(const char* request, std::size_t size, double wait, char** answer) { return called("cost", request, size, wait, answer); }
extern "C" headroom_decision headroom_plan(const char* request, std::size_t size, double wait, char** answer) { return called("plan", request, size, wait, answer); }
extern "C" headroom_decision headroom_solve(const char* request, std::size_t size, double wait, char** answer) { return called("solve", request, size, wait, answer); }
extern "C" headroom_decision headroom_fit(const char* request, std::size_t size, double wait, char** answer) { return called("fit", request, size, wait, answer); }
extern "C" headroom_decision headroom_diagnose(const char* request, std::size_t size, double wait, char** answer) { return called("diagnose", request, size, wait, answer); }
extern "C" headroom_decision headroom_import(const char* request, std::size_t size, double wait, char** answer) { return called("import", request, size, wait, answer); }
extern "C" headroom_decision headroom_export(const char* request, std::size_t size, double wait, char** answer) { return called("export", request, size, wait, answer); }

extern "C" void headroom_free(char* answer) { std::free(answer); }

extern "C" const char* headroom_version(void) {
  static const auto text =
      std::to_string(HEADROOM_VERSION_MAJOR) + '.' + std::to_string(HEADROOM_VERSION_MINOR) + '.' + std::to_string(HEADROOM_VERSION_PATCH);
  return text.c_str();
}

extern "C" int headroom_interface(void) { return calls::interface_version; }
