// Distributed under the Boost Software License, Version 1.0.
// What an estimate took for granted, in sentences: what was assumed, and where it comes from.
#pragma once

#include <headroom/report/assumption.hpp>

namespace headroom::io {

/// One sentence.
constexpr std::string_view assumption_text(assumption a) { return entry_of(a).sentence; }

}  // namespace headroom::io
