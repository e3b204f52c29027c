// Distributed under the Boost Software License, Version 1.0.
// A job's text in, a decision out: what schedulers, admission hooks and other languages ask.
#pragma once

#include <headroom/io/admission/answer.hpp>
#ifndef HEADROOM_COMPILED
#include <headroom/io/admission/admit.hpp>
#endif

#include <nlohmann/json_fwd.hpp>

namespace headroom::io {

/// JSON whose keys keep their order.
using ordered_json = nlohmann::ordered_json;

/// Reads a job and says whether it fits. Bad input of any kind is a decision, not an exception, and so is a deadline that comes first;
/// std::bad_alloc is what can be thrown.
/// Nothing is shared between calls.
admission admit(const admission_request& asked);

/// {"decision", "sentence"} and, where the job fits or does not, the report's own keys.
ordered_json to_json(const admission& a, confidence sure = {});

#ifndef HEADROOM_COMPILED
inline admission admit(const admission_request& asked) { return detail::admitted(asked); }
inline ordered_json to_json(const admission& a, confidence sure) { return detail::json_of(a, sure); }
#endif

}  // namespace headroom::io
