// Distributed under the Boost Software License, Version 1.0.
// A Python text's words, statements and calls.
#include <headroom/io/syntax/python_text.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_python_words {

using namespace headroom;

TEST_CASE("words of a text, as CPython's tokenizer cuts them") {
  const auto words = [](const std::string& text) {
    std::string all;
    for (const auto& s : io::python_statements(text, "t.py")) {
      for (const auto& t : s.tokens) all += t.text + " ";
      all += "| ";
    }
    return all;
  };
  CHECK(words("a == b != c <= d >= e") == "a == b != c <= d >= e | ");
  CHECK(words("a ** b // c << d >> e") == "a ** b // c << d >> e | ");
  CHECK(words("def f(x) -> int: pass") == "def f ( x ) -> int : pass | ");
  CHECK(words("a := b - c") == "a := b - c | ");
  CHECK(words("a @ b\na @= b") == "a @ b | a @= b | ");
  CHECK(words("a; b\nc;") == "a | b | c | ");
  CHECK(words("f(a; b)") == "f ( a ; b ) | ");
  CHECK(words(")] }x\ny") == ") ] } x | y | ");
  CHECK(words("x.5 + 1.5.e") == "x .5 + 1.5.e | ");
  CHECK(words("größe = 1") == "größe = 1 | ");
  // Lines that a file has fewer of than the text: the last.
  const int lines[] = {7, 9};
  const auto at = io::python_statements("a\nb\nc\n", "t.py", lines);
  REQUIRE(at.size() == 3);
  CHECK(at[0].line == 7);
  CHECK(at[1].line == 9);
  CHECK(at[2].line == 9);
}

TEST_CASE("calls and their arguments, and how a sentence shows them") {
  const auto all = io::python_statements("m.f(1, x=2, *a, **b).g(h(3),)\n(f)(4)\ndef f(a): pass\nclass g(a): pass\nf(", "t.py");
  const auto calls = io::python_calls(all);
  REQUIRE(calls.size() == 4);
  CHECK(calls[0].callee == "m.f");
  REQUIRE(calls[0].arguments.size() == 4);
  CHECK(calls[0].arguments[0].name.empty());
  CHECK(calls[0].arguments[1].name == "x");
  CHECK(io::python_shown(calls[0].arguments[1].value) == "2");
  CHECK(calls[0].arguments[2].name == "**");
  CHECK(calls[0].arguments[3].name == "**");
  CHECK(calls[1].callee == "g");
  REQUIRE(calls[1].arguments.size() == 1);
  CHECK(io::python_shown(calls[1].arguments[0].value) == "h(3)");
  CHECK(calls[2].callee == "h");
  CHECK(calls[3].callee == "f");
  CHECK(calls[3].arguments.empty());
  const auto shown = [](const std::string& text) { return io::python_shown(io::python_statements(text, "t.py").at(0).tokens); };
  CHECK(shown("a if b else C, d") == "a if b else C, d");
  CHECK(shown("C d") == "Cd");
  CHECK(shown("x = f'{a}' + 'b'") == "x=\"{a}\"+\"b\"");
  CHECK(shown("f(" + std::string(80, 'a') + ")") == "f(" + std::string(55, 'a') + "...");
}

}  // namespace test_python_words
