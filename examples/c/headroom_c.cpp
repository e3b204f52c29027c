// Distributed under the Boost Software License, Version 1.0.
// The library behind headroom.h.
#include "headroom.h"

#include <headroom/io/admission.hpp>
#include <headroom/version.hpp>

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <cstring>

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

headroom_decision answered(const char* job, std::size_t size, const char* folder, double confidence, headroom::deadline until, char** answer) try {
  if (answer != nullptr) *answer = nullptr;
  const auto a = admit(job, size, folder, confidence, until);
  if (answer != nullptr) {
    const auto range = a.report && confidence != 0 ? headroom::confidence{confidence} : headroom::confidence{};
    *answer = copy_of(to_json(a, range).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  return decision_of(a);
} catch (const std::exception&) {
  return HEADROOM_NO_MEMORY;  // everything else is a decision
}

}  // namespace

extern "C" headroom_decision headroom_admit(const char* job, std::size_t size, const char* folder, double confidence, char** answer) {
  return answered(job, size, folder, confidence, {}, answer);
}

extern "C" headroom_decision headroom_admit_within(const char* job, std::size_t size, const char* folder, double confidence, double wait, char** answer) {
  return answered(job, size, folder, confidence, headroom::deadline::in(wait), answer);
}

extern "C" void headroom_free(char* answer) { std::free(answer); }

extern "C" const char* headroom_version(void) {
  static const auto text =
      std::to_string(HEADROOM_VERSION_MAJOR) + '.' + std::to_string(HEADROOM_VERSION_MINOR) + '.' + std::to_string(HEADROOM_VERSION_PATCH);
  return text.c_str();
}
