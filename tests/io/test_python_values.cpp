// Distributed under the Boost Software License, Version 1.0.
// What a Python text says in so many words. The values of the first table are CPython 3.11's own, as its json module writes them; of names, too, where a text can be run.
#include <headroom/io/syntax/python_values.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace test_python_values {

using namespace headroom;
using io::json_value;
using handed = std::vector<std::pair<std::string, std::string>>;

namespace {

struct expression {
  const char *text, *json;
};
const expression expressions[] = {
    {"1", "1"},
    {"1_000", "1000"},
    {"1024 * 2", "2048"},
    {"2 * 3 + 4", "10"},
    {"2 + 3 * 4", "14"},
    {"(2 + 3) * 4", "20"},
    {"5 - 2 - 1", "2"},
    {"8 / 2 * 4", "16.0"},
    {"7 // 2", "3"},
    {"-7 // 2", "-4"},
    {"7 // -2", "-4"},
    {"1 / 4", "0.25"},
    {"6 // 4 * 2", "2"},
    {"2 ** 10", "1024"},
    {"2 ** 3 ** 2", "512"},
    {"-2 ** 2", "-4"},
    {"(-2) ** 2", "4"},
    {"2 ** -1", "0.5"},
    {"2 ** 0.5 ** 2", "1.189207115002721"},
    {"- - 3", "3"},
    {"+3", "3"},
    {"-+-4", "4"},
    {"- 2 * 3", "-6"},
    {"4 - -3", "7"},
    {"1e3", "1000.0"},
    {"1E-2", "0.01"},
    {"1.5e+2", "150.0"},
    {".5", "0.5"},
    {"5.", "5.0"},
    {"2e-5 * 10", "0.0002"},
    {"True", "true"},
    {"False", "false"},
    {"None", "null"},
    {"not True", "false"},
    {"not not True", "true"},
    {"\"a\"", "\"a\""},
    {"'a' \"b\"", "\"ab\""},
    {"'''c'''", "\"c\""},
    {"\"\"\"d\ne\"\"\"", "\"d\\ne\""},
    {"r'\\n'", "\"\\\\n\""},
    {"'\\\\'", "\"\\\\\""},
    {"'it\\'s'", "\"it's\""},
    {"'a\\tb'", "\"a\\tb\""},
    {"'\\d'", "\"\\\\d\""},
    {"'a\\\nb'", "\"ab\""},
    {"r'a\\'b'", "\"a\\\\'b\""},
    {"R'\\d'", "\"\\\\d\""},
    {"u'x'", "\"x\""},
    {"f'x'", "\"x\""},
    {"rf'x'", "\"x\""},
    {"[1, 2, 3]", "[1, 2, 3]"},
    {"[1, 2, 3,]", "[1, 2, 3]"},
    {"[]", "[]"},
    {"()", "[]"},
    {"(1,)", "[1]"},
    {"(1)", "1"},
    {"((1, 2), 3)", "[[1, 2], 3]"},
    {"['q_proj', \"v_proj\",]", "[\"q_proj\", \"v_proj\"]"},
    {"[[1], [2, [3]]]", "[[1], [2, [3]]]"},
    {"{}", "{}"},
    {"{'a': 1}", "{\"a\": 1}"},
    {"{'a': [1, {'b': None}],}", "{\"a\": [1, {\"b\": null}]}"},
    {"1 if True else 2", "1"},
    {"1 if False else 2", "2"},
    {"1 if False else 2 if False else 3", "3"},
    {"1 if not False else 2", "1"},
    {"(1 if True else 2) + 3", "4"},
    {"10 ** 15", "1000000000000000"},
    {"[1 + 1, 2 * 2]", "[2, 4]"},
    {"3 - 1 if True else 0", "2"}};

const char* const computed[] = {"0x10", "1 + 'a'", "'a' + 'b'", "'a' * 2", "1 / 0", "1 // 0", "1 % 2", "1 < 2", "'x' if 1 == 1 else 'y'", "1 if [] else 2", "1 if 2 else 3", "1 if 'a' else 2", "a", "a.b", "f()", "f(1)", "a[0]", "f'{a}'", "rf'{a}'", "'\\x41'", "'\\u00e9'", "'\\N{DASH}'", "'\\0'", "-'a'", "-True", "not 1", "not a", "[a]", "(a, 1)", "{'a': a}", "{1: 2}", "{'a'}", "{**a}", "{'a': 1}['a']", "[1, 2][0]", "1 if a else 2", "1 if True", "lambda: 1", "10 ** 16", "9007199254740993 * 1", "*a", "1 +", "1 *", "-", "2 **", "1 2", "True + 1", "'a' 1", "getattr(torch, a)", "getattr(a, 'x')", "getattr(torch, 'x', 1)", "is_bf16_supported(1)", "torch"};

struct program {
  const char *text, *name, *json;  ///< null: it is computed
};
const program programs[] = {
    {"x = 1\nx = 2", "x", "2"},
    {"x = y = 3", "x", "3"},
    {"x = y = 3", "y", "3"},
    {"x = y = z = 3", "y", "3"},
    {"x, y = 1, 2", "y", "2"},
    {"x, y = 1, 2", "x", "1"},
    {"x, y = z = 1, 2", "y", "2"},
    {"(x, y) = 1, 2", "x", nullptr},
    {"x, (y, z) = 1, (2, 3)", "x", nullptr},
    {"x, y = f()", "x", nullptr},
    {"x, y.z = 1, 2", "x", nullptr},
    {"x: int = 5", "x", "5"},
    {"x: int", "x", nullptr},
    {"x: dict = {'a': 1}", "x", "{\"a\": 1}"},
    {"x = 1\nx += 1", "x", nullptr},
    {"x = 1\nx -= 1", "x", nullptr},
    {"x = 1\nx *= 2", "x", nullptr},
    {"x = 4\nx /= 2", "x", nullptr},
    {"x = 4\nx //= 2", "x", nullptr},
    {"x = 4\nx **= 2", "x", nullptr},
    {"x = 4\nx %= 3", "x", nullptr},
    {"x = 4\nx |= 3", "x", nullptr},
    {"x = 4\nx &= 3", "x", nullptr},
    {"x = 4\nx ^= 3", "x", nullptr},
    {"x = 4\nx @= 3", "x", nullptr},
    {"x = 4\nx <<= 1", "x", nullptr},
    {"x = 1\nif a:\n    x = 2", "x", nullptr},
    {"if a:\n    x = 1\nelse:\n    x = 2", "x", nullptr},
    {"x = 1\nif a:\n    pass\nelif b:\n    x = 2", "x", nullptr},
    {"for x in y:\n    pass", "x", nullptr},
    {"x = 1\nfor i in y:\n    x = 2", "x", nullptr},
    {"x = 1\nwhile a:\n    x = 2", "x", nullptr},
    {"try:\n    x = 1\nexcept E:\n    y = 2", "x", nullptr},
    {"try:\n    y = 1\nexcept E:\n    x = 2", "x", nullptr},
    {"try:\n    y = 1\nfinally:\n    x = 2", "x", nullptr},
    {"match a:\n    case 1:\n        x = 1", "x", nullptr},
    {"with open(f) as x:\n    pass", "x", nullptr},
    {"with a:\n    x = 2", "x", "2"},
    {"if __name__ == '__main__':\n    x = 2", "x", "2"},
    {"if a:\n    x = 1\n    y = x", "y", nullptr},
    {"x = 1\nif a:\n    pass\nx = 2", "x", "2"},
    {"x = 1\ndef f():\n    global x\n    x = 2", "x", "1"},
    {"x = 1\nglobal x", "x", nullptr},
    {"x = 1\nnonlocal x", "x", nullptr},
    {"import x", "x", nullptr},
    {"from a import x", "x", nullptr},
    {"x = 1\nimport a.x", "x", "1"},
    {"x = 1\nfrom a.x import b", "x", "1"},
    {"def f(x=1):\n    return x\nx = 2", "x", "2"},
    {"x = 3\nclass A:\n    x = 1", "x", "3"},
    {"x = 4\ndef f():\n    x = 5\ny = x", "y", "4"},
    {"x = 4\nasync def f():\n    x = 5\ny = x", "y", "4"},
    {"async = 1\nx = async", "x", "1"},
    {"x = 1\na.x = 5", "x", "1"},
    {"x = [1]\nx[0] = 5", "x", nullptr},
    {"x = 1; x = 2", "x", "2"},
    {"if a: x = 1; x = 2", "x", nullptr},
    {"x = y\ny = 1", "x", nullptr},
    {"x = 1\ny = x\nx = 2", "y", "1"},
    {"f(x=2)\nx = 1", "x", "1"},
    {"x = f(y=2)", "y", nullptr},
    {"x = {'a': 1,\n  'b': 2}", "x", "{\"a\": 1, \"b\": 2}"},
    {"x = 1 + \\\n  2", "x", "3"},
    {"x = 1 + \\\r\n  2", "x", "3"},
    {"x = (1 +\n  2)  # three", "x", "3"},
    {"\tx = 1\n\ty = 2", "y", "2"},
    {"if a:\n\tx = 1\n        y = 2", "y", nullptr},
    {"x\t=\f1\r\ny = x", "y", "1"},
    {"%matplotlib inline\n!pip install x\n?x\n# x = 3\nx = 1", "x", "1"},
    {"\r\n\r\nx = 1", "x", "1"},
    {"x = 'a\ny = 2", "y", "2"},
    {"x = '''a\nb'''; y = 2", "y", "2"},
    {"x = '''a''b'''", "x", "\"a''b\""},
    {"x = \"\"\"a\"b\"\"\"", "x", "\"a\\\"b\""},
    {"x = 1E+2\ny = 0xE-1", "x", "100.0"},
    {"y = 0xE-1", "y", nullptr},
    {"x = br'a'", "x", "\"a\""},
    {"x = RB'a'", "x", "\"a\""},
    {"abc'x'\nx = 1", "x", "1"},
    {"def f() -> int:\n    pass\nx = a != b\ny = 2", "x", nullptr},
    {"x = 3 # \\\ny = 4", "y", "4"}};

/// What an expression behind a text is, as JSON; empty: it is computed.
std::string value_of(const std::string& text, const std::string& expression, const handed& given = {}) {
  const auto all = io::python_statements(text + "\nresult_ = " + expression + "\n", "t.py");
  const io::python_values values(all, given);
  REQUIRE(!all.empty());
  const auto& last = all.back().tokens;
  REQUIRE(last.size() >= 2);
  const auto v = values.value(std::span{last}.subspan(2), all.size() - 1);
  return v ? v->dump() : std::string{};
}

}  // namespace

TEST_CASE("literals and what they add up to are what Python makes of them") {
  for (const auto& e : expressions) {
    INFO(std::string{e.text});
    const auto v = value_of("", e.text);
    REQUIRE(!v.empty());
    CHECK(json_value::parse(v) == json_value::parse(e.json));
  }
  CHECK(value_of("", "7 // 2") == "3");
  CHECK(value_of("", "2 ** 10") == "1024");
  CHECK(value_of("", "8 / 2") == "4.0");
  CHECK(value_of("", "2 * 1.5") == "3.0");
}

TEST_CASE("what is computed, or written otherwise than it is, has no value") {
  for (const auto* text : computed) {
    INFO(std::string{text});
    CHECK(value_of("", text).empty());
  }
}

TEST_CASE("a name has the value that one statement gives it") {
  for (const auto& p : programs) {
    INFO(std::string{p.text}, ": ", std::string{p.name});
    const auto v = value_of(p.text, p.name);
    if (p.json == nullptr) {
      CHECK(v.empty());
      continue;
    }
    REQUIRE(!v.empty());
    CHECK(json_value::parse(v) == json_value::parse(p.json));
  }
}

TEST_CASE("formats of torch, questions to a GPU that has bf16, and values that are handed in") {
  CHECK(value_of("", "torch.bfloat16") == "\"bfloat16\"");
  CHECK(value_of("", "getattr(torch, 'float16')") == "\"float16\"");
  CHECK(value_of("", "torch.cuda.is_bf16_supported()") == "true");
  CHECK(value_of("", "not is_bfloat16_supported()") == "false");
  const handed said{{"n", "7"}, {"f", "3"}, {"a.b", "x"}, {"t", "True"}, {"u", "true"}, {"v", "False"}, {"w", "false"}, {"y", "None"}, {"z", "none"}, {"o", "{\"a\": 1}"}, {"l", "[1]"}, {"s", "a b"}};
  for (const auto& row : handed{{"n * 2", "14"}, {"f(1, 2)", "3"}, {"a.b", "\"x\""}, {"t", "true"}, {"u", "true"}, {"v", "false"}, {"w", "false"}, {"y", "null"}, {"z", "null"}, {"o", "\"{\\\"a\\\": 1}\""}, {"l", "[1]"}, {"s", "\"a b\""},
                                         {"1 if t else n", "1"}, {"1 if v else n", "7"}}) {
    CAPTURE(row.first);
    CHECK(value_of("", row.first, said) == row.second);
  }
  CHECK(value_of("n = find()", "n", said) == "7");           // for what the text computes
  CHECK(value_of("n = 2", "n", said) == "2");                // not for what it says
  CHECK(value_of("if big:\n    n = 2", "n", said) == "7");   // nor where a branch decides
  CHECK(value_of("n = 1\nn += 1", "n", said) == "7");
}

TEST_CASE("names of names come to an end") {
  const auto chain = [](int n) {
    std::string text = "a" + std::to_string(n) + " = 1\n";
    for (int i = n - 1; i >= 0; --i) text += "a" + std::to_string(i) + " = a" + std::to_string(i + 1) + "\n";
    return value_of(text, "a0");
  };
  CHECK(chain(60) == "1");
  CHECK(chain(70).empty());
  const auto nots = [](int n) {
    std::string text;
    for (int i = 0; i < n; ++i) text += "not ";
    return value_of("", text + "True");
  };
  CHECK(nots(10) == "true");
  CHECK(nots(11) == "false");
  CHECK(nots(100).empty());
  CHECK(value_of("", std::string(200, '-') + "1").empty());
  CHECK(value_of("", std::string(20, '-') + "1") == "1");
}

}  // namespace test_python_values
