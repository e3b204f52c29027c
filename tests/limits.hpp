// Distributed under the Boost Software License, Version 1.0.
// Limits of a job, from both sides: changes of a job that is accepted, each with the words of its refusal, or with none where it is accepted still.
#pragma once

#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace limits {

struct limit {
  const char* says;  ///< "": the job is accepted
  void (*make)(headroom::job&);
};

inline void check_all(const headroom::job& from, const std::vector<limit>& all) {
  for (std::size_t number = 0; number < all.size(); ++number) {
    const auto& l = all[number];
    auto j = from;
    l.make(j);
    const auto why = headroom::objection_to(j);
    const std::string sentence = why.sentence == nullptr ? "" : why.sentence;
    CAPTURE(number);
    CAPTURE(std::string(l.says));
    CAPTURE(sentence);
    if (l.says[0] == '\0') CHECK(sentence.empty());
    else CHECK(sentence.find(l.says) != std::string::npos);
  }
}

}  // namespace limits
