// Distributed under the Boost Software License, Version 1.0.
// Scripts drawn at random, read here and run by bash, whose commands are the same word for word. What bash alone can decide (output of commands, patterns
// with brackets, counted loops) is not drawn: there the reader leaves words open.
#include "../estimate/dice.hpp"
#include "program.hpp"

#include <headroom/io/syntax/shell.hpp>

#include <doctest/doctest.h>

namespace test_shell_beside_bash {

using namespace headroom;

namespace {

/// One script. Its variables are all set, N and M to numbers; L and K are lists.
class drawn_script {
 public:
  explicit drawn_script(std::uint64_t seed) : dice_(seed) {}
  std::string text() {
    std::string s = "A=" + literal() + "\nB=" + literal() + "\nC=" + literal() + "\nE=\nN=" + number() + "\nM=" + number() + "\nL=(a)\nK=()\nset -- a\nset -- " + words(3) + "\nL=(" + words(3) + ")\nK=(" + words(2) + ")\n";
    for (auto n = 2 + dice_.index(5); n > 0; --n) s += statement(0) + "\n";
    return s;
  }
  /// Blocks in lists, of which each ends in an assignment or a test.
  std::string lists() {
    std::string s = "A=" + literal() + "\nB=" + literal() + "\nC=" + literal() + "\nE=\nN=" + number() + "\nM=" + number() + "\n";
    const auto set = [&] { return name() + "=" + literal(); };
    const auto group = [&] { return of({"", "! "}) + "{ " + set() + "; " + (dice_.flip() ? set() : "[ $N -gt " + number() + " ]") + "; }"; };
    for (auto n = 1 + dice_.index(3); n > 0; --n) {
      s += dice_.flip() ? "[ $M -gt " + number() + " ]" : group();
      for (auto more = 1 + dice_.index(3); more > 0; --more) s += of({" && ", " || "}) + (dice_.flip() ? group() : set());
      s += "\nrun \"$A\" \"$B\" \"$C\" \"$E\"\n";
    }
    return s;
  }

 private:
  using choices = std::initializer_list<const char*>;
  std::string of(choices c) { return *(c.begin() + dice_.index(c.size())); }
  std::string name() { return of({"A", "B", "C", "E"}); }
  std::string list() { return of({"L", "K"}); }
  std::string number() { return of({"0", "1", "2", "3", "9", "10", "12"}); }
  std::string literal() { return of({"a", "b", "'ab'", "x-y", "\"p/q.r\"", "--flag", "k=v", "'Q w'", "\"\"", "\"R s\"", "true"}); }
  std::string pattern() { return of({"a", "*b", "a*", "?", "x-?", "*/*", "--*", "''", "true|b"}); }
  std::string sum() { return of({"$((N + 1))", "$(( $N * M ))", "$(((N - M) * 2))", "$((N > M))", "$((N == 2 ? M : 7))"}); }
  std::string expansion() {
    switch (dice_.index(15)) {
      case 0: return "${" + name() + ":-" + of({"d", "$B", "\"q r\"", "${C}x"}) + "}";
      case 1: return "${" + name() + ":+" + of({"y", "--x $A"}) + "}";
      case 2: return "${" + name() + "-d}";
      case 3: return "${#" + name() + "}";
      case 4: return "${" + list() + "[@]}";
      case 5: return "${#" + list() + "[@]}";
      case 6: return of({"$@", "$*", "$#", "$1", "${2:-two}"});
      case 7: return sum();
      case 8: return "$" + of({"N", "M"});
      case 9: return "${" + name() + of({":-", ":+", "-", "+"}) + of({"\"a b\"", "\"$A b\"", "'q r'", "'$A'", "x'y'", "\"\"", "''", "x\"y\"z", "$B'y'"}) + "}";
      default: return of({"$", "${"}) == "$" ? "$" + name() : "${" + name() + "}";
    }
  }
  std::string word() {
    switch (dice_.index(11)) {
      case 0: return expansion();
      case 1: return "\"" + expansion() + "\"";
      case 2: return "\"" + expansion() + of({"-t", " u", "/"}) + "\"";
      case 3: return literal() + expansion();
      case 4: return "pre'$A'\"" + expansion() + "\"";
      case 5: return "\"${" + list() + "[@]}\"";
      case 6: return of({"$'a\\tb'", "\\$A", "a\\ b", "\"\\$A\\\"\"", "'it'\"'\"'s'"});
      case 7: return "${" + name() + of({":+", ":-"}) + "\"${" + list() + "[@]}\"}";
      default: return literal();
    }
  }
  std::string words(std::size_t most) {
    std::string s;
    for (auto n = dice_.index(most + 1); n > 0; --n) s += (s.empty() ? "" : " ") + word();
    return s;
  }
  std::string test() {
    const auto value = "\"$" + name() + "\"";
    switch (dice_.index(8)) {
      case 0: return "[ " + value + " = " + literal() + " ]";
      case 1: return "[ " + value + " != \"$B\" ]";
      case 2: return "[[ $" + name() + " == " + of({"a*", "*b", "?", "--*", "true"}) + " ]]";
      case 3: return "[ -" + of({"n", "z"}) + " " + value + " ]";
      case 4: return "[ $N -" + of({"eq", "ne", "lt", "le", "gt", "ge"}) + " " + number() + " ]";
      case 5: return "(( N > " + number() + " ))";
      case 6: return "! [[ -n $" + name() + " ]]";
      default: return test() + of({" && ", " || "}) + "[ $M -gt 1 ]";
    }
  }
  std::string block(int depth) { return dice_.flip() ? statement(depth) : statement(depth) + "\n" + statement(depth); }
  std::string assignment() {
    switch (dice_.index(6)) {
      case 0: return of({"export ", "declare ", ""}) + name() + "=" + expansion();
      case 1: return name() + "+=" + word();
      case 2: return list() + of({"=(", "+=("}) + words(3) + ")";
      case 3: return of({"N=", "M="}) + sum();
      case 4: return of({"shift", "unset A", "unset L", "set -- b \"$A\""}) + " 2>/dev/null";
      default: return name() + "=" + word();
    }
  }
  std::string statement(int depth) {
    const auto which = dice_.index(depth > 2 ? 7 : 13);
    if (which < 4) return "run " + words(4);
    if (which < 7) return assignment();
    const auto d = depth + 1;
    switch (which) {
      case 7: return "if " + test() + "; then\n" + block(d) + "\nelif " + test() + "; then\n" + block(d) + "\nelse\n" + block(d) + "\nfi";
      case 8: return test() + of({" && ", " || "}) + (dice_.flip() ? assignment() : "{ " + statement(d) + "; }");
      case 9: return "case " + expansion() + " in\n" + pattern() + ") " + statement(d) + " ;;\n*)\n" + block(d) + "\n;;\nesac";
      case 10: return "for i in " + words(3) + "; do\n" + block(d) + "\nrun $i\ndone";
      case 11: return "( " + statement(d) + " )";
      default: {
        const auto f = "f" + std::to_string(depth);
        return f + "() {\n" + of({"local A B=$1\n", "local n=$1 L=(x y)\n", "declare C=$2\n", ""}) + of({"shift\n", ""}) + block(d) + "\nrun \"$@\" $#\n}\n" + f + " z " + words(2);
      }
    }
  }
  draw::dice dice_;
};

/// The commands named "run": a line each, a word behind a bar each.
std::string read_here(const std::string& script) {
  std::string r;
  for (const auto& c : io::read_shell(script, "s.sh").commands) {
    if (c.words[0].text != "run") continue;
    for (const auto& w : std::span{c.words}.subspan(1)) r += "|" + (w.known() ? w.text : "OPEN " + w.shown());
    r += "\n";
  }
  return r;
}

/// The scripts of a file, between lines of %%.
std::vector<std::string> scripts_of(const std::string& name) {
  const auto text = io::read_file(std::string{HEADROOM_TEST_DATA} + "/" + name);
  std::vector<std::string> r;
  for (std::size_t from = 0; from < text.size();) {
    const auto end = std::min(text.find("\n%%\n", from), text.size() - 1);
    r.push_back(text.substr(from, end + 1 - from));
    from = end + 4;
  }
  return r;
}

}  // namespace

TEST_CASE("each of the shell's ways to say a command is read as bash runs it") {
  const test_programs::scratch at;
  const auto scripts = scripts_of("shell_as_bash.txt");
  REQUIRE(scripts.size() > 200);
  std::string all = "cd " + at.file("") + "\nprintf '#!/bin/sh\nfor x; do printf \"|%%s\" \"$x\"; done; printf \"\\\\n\"\n' > run; chmod +x run; PATH=$PWD:$PATH\n";
  for (std::size_t i = 0; i < scripts.size(); ++i) all += "bash " + at.file(std::to_string(i) + ".sh", scripts[i]) + "; printf '\\003'\n";
  REQUIRE(std::system(("bash " + at.file("all.sh", all) + " > " + at.file("said") + " 2> " + at.file("errors") + " < /dev/null").c_str()) == 0);
  const auto said = io::read_file(at.file("said"));
  std::size_t from = 0;
  for (const auto& script : scripts) {
    CAPTURE(script);
    const auto end = said.find('\003', from);
    REQUIRE(end != std::string::npos);
    CHECK(read_here(script) == said.substr(from, end - from));
    from = end + 1;
  }
}

TEST_CASE("what bash alone can say is left open, and guessed nowhere") {
  const auto rows = scripts_of("shell_left_open.txt");
  CHECK(rows.size() > 20);
  for (const auto& row : rows) {
    CAPTURE(row);
    const auto bar = row.find("\n%=\n");
    REQUIRE(bar != std::string::npos);
    std::string seen = row.substr(bar + 4);
    CHECK(read_here(row.substr(0, bar + 1)) == seen);
    CHECK(seen.find("OPEN") != std::string::npos);
  }
  // What goes on in the next choice of case would be lost.
  const std::string choice = "case a in\n  a) run 1 ;;\n  b) run 2 ;;\nesac\n";
  CHECK(read_here(choice) == "|1\n");
  for (const char* on : {";&", ";;&"}) {
    auto other = choice;
    CHECK_THROWS_WITH_AS(read_here(other.replace(other.find(";;"), 2, on)), "headroom: s.sh:2: what a choice of case goes on with behind ;& or ;;& is not read; end it with ;; and write its commands out", job_error);
  }
  // A script that says how it should be started is read as if it were: bash runs nothing of these.
  CHECK(read_here("if [ -z \"$A\" ]; then echo usage; exit 1; fi\nrun b\n") == "|b\n");
  CHECK(read_here("if [ $# -lt 2 ]; then echo usage; exit; fi\nrun b\n") == "|b\n");
  CHECK(read_here("for i in a b; do if [ -z \"$A\" ]; then continue; fi; run $i; done\n") == "|a\n|b\n");
  CHECK(read_here("[ -z \"$A\" ] && exit\nrun b\n") == "|b\n");
  CHECK(read_here("usage() { echo; exit 2; }\n[ -z \"$A\" ] && usage\nrun b\n") == "|b\n");
  CHECK(read_here("case b in\n  a) run 1 ;&\n  b) run 2 ;;\nesac\n") == "|2\n");  // it does not run
}

TEST_CASE("scripts say what bash says of them") {
  constexpr int scripts = 400;
  const test_programs::scratch at;
  for (const bool lists : {false, true}) {
    const auto drawn = [&](int i) { return lists ? drawn_script{static_cast<std::uint64_t>(i)}.lists() : drawn_script{static_cast<std::uint64_t>(i)}.text(); };
    std::string all = "set -f\nrun() { local x; for x in \"$@\"; do printf '|%s' \"$x\"; done; printf '\\n'; }\n";
    for (int i = 0; i < scripts; ++i) all += "(\n" + drawn(i) + ")\nprintf '\\003'\n";
    REQUIRE(std::system(("bash " + at.file("all.sh", all) + " > " + at.file("said") + " 2> " + at.file("errors")).c_str()) == 0);
    CHECK(io::read_file(at.file("errors")).empty());
    const auto said = io::read_file(at.file("said"));
    std::size_t from = 0, commands = 0;
    for (int i = 0; i < scripts; ++i) {
      const auto end = said.find('\003', from);
      REQUIRE(end != std::string::npos);
      const auto script = drawn(i);
      CAPTURE(script);
      const auto by_bash = said.substr(from, end - from);
      commands += static_cast<std::size_t>(std::count(by_bash.begin(), by_bash.end(), '\n'));
      CHECK(read_here(script) == by_bash);
      from = end + 1;
    }
    CHECK(commands > (lists ? 500 : 1000));
  }
}

}  // namespace test_shell_beside_bash
