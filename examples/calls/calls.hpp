// Distributed under the Boost Software License, Version 1.0.
// What other languages, servers and pages ask of headroom: a JSON text in, a JSON text out. Nothing of the machine is read: files come as
// names and texts. README.md beside this file says what each call is asked and answers.
#pragma once

#include <headroom/deadline.hpp>

#include <array>
#include <string>
#include <string_view>

namespace calls {

/// Of requests and answers: it grows where a key of an answer changes its meaning or goes.
inline constexpr int interface_version = 1;

/// How a call ended; `done`: one that judges no job.
enum class outcome { fits, does_not_fit, bad_input, no_memory, not_decided, done };

struct answer {
  calls::outcome outcome{calls::outcome::bad_input};
  std::string text{};  ///< an object of JSON: {"interface", "version", "decision", "sentence", …}
};

/// What can be asked, by name.
inline constexpr std::array<std::string_view, 13> names{"estimate", "replay", "cost", "plan", "solve", "fit", "diagnose", "import", "export", "text", "svg", "html", "list"};

/// What a call may take: of a server, which answers strangers.
struct limits {
  headroom::deadline until{};
  unsigned threads{};  ///< of a search at most; 0: as many as are asked for
};

/// Bad input, and a deadline that comes first, are answers; std::bad_alloc is what can be thrown. Nothing is shared between calls, which may
/// come from any thread. It takes some hundred KB of stack: with_room() (roomy.hpp) is for threads that may have less.
answer call(std::string_view name, std::string_view request, const limits& within = {});

/// {"interface", "version", "decision": "bad input", "sentence"}, as call() answers what it cannot read.
answer refusal(std::string_view sentence);

}  // namespace calls
