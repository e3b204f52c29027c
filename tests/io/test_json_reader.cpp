// Distributed under the Boost Software License, Version 1.0.
// The strict layer: what is no JSON, what nlohmann would let through, and numbers.
#include <doctest/doctest.h>

#include <headroom/io/syntax/document.hpp>
#include <headroom/io/syntax/json_reader.hpp>

namespace test_json_reader {

using namespace headroom;

namespace {

std::string sentence_of(auto call) {
  try {
    call();
  } catch (const job_error& e) {
    return e.what();
  }
  return "no error";
}
std::string parsing(const std::string& text) {
  return sentence_of([&] { io::parse_json(text, "job.json"); });
}
bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a syntax error is placed by line and column") {
  CHECK(parsing("{\n  \"a\": 1,\n  }") ==
        "headroom: job.json is not valid JSON: line 3, column 3: unexpected '}'; expected string literal; there is no comma before a closing bracket");
  CHECK(holds(parsing("{\"a\": nan}"), "line 1, column 8"));
  CHECK(holds(parsing("{\"a\": 1} x"), "line 1, column 10"));
  CHECK(holds(parsing("{\"a\": 1"), "unexpected end of input"));
  CHECK(holds(parsing("{\"a\": \"\xff\"}"), "ill-formed UTF-8"));
  CHECK(parsing("   \n") == "headroom: job.json is empty");
  CHECK(holds(parsing("{\"b\": 1,\n\"a\": 1e999}"), "line 2: number overflow"));
}

TEST_CASE("what people write that is not JSON gets a hint") {
  struct mistake {
    std::string text;
    std::string_view hint;
  };
  const auto wide = [](std::string_view text) {
    std::string both = "\xff\xfe";
    for (const char c : text) both += c, both += '\0';
    return both;
  };
  for (const auto& m : {mistake{"{\"a\": 1, // two\n\"b\": 2}", "JSON has no comments"}, mistake{"{\"a\": 1, /* two */ \"b\": 2}", "no comments"}, mistake{"# a job\n{}", "no comments"},
                        mistake{"{\"a\": [1, 2,]}", "no comma before a closing bracket"}, mistake{"{'a': 1}", "double quotes"}, mistake{"{\"a\": True}", "true, false and null"},
                        mistake{"{\"a\": None}", "true, false and null"}, mistake{"{\"a\": NaN}", "neither NaN nor infinity"}, mistake{"{\"a\": 1 \"b\": 2}", "is a comma missing?"},
                        mistake{"{\"a\": \"x\"\n \"b\": 2}", "is a comma missing?"}, mistake{"model: llama\n", "JSON begins with {"}, mistake{"{\xe2\x80\x9c" "a\xe2\x80\x9d: 1}", "typographic quote"},
                        mistake{"{\"a\": 8,192}", "a number has no comma in it"}, mistake{"{\"a\": 08192}", "a number does not begin with 0"},
                        mistake{"{\"a\": \"f\xfcll\"}", "save the file as UTF-8"}, mistake{wide("{\"a\": 1}"), "UTF-16"}}) {
    CAPTURE(m.text);
    CAPTURE(parsing(m.text));
    CHECK(holds(parsing(m.text), m.hint));
    CHECK(holds(parsing(m.text), "is not valid JSON: line "));
  }
}

TEST_CASE("Python's infinity in a model's configuration is a word, and nothing else is") {
  CHECK(io::parse_config(R"({"time_step_limit": [0.0, Infinity], "least": -Infinity})", "config.json").dump() == R"({"least":"-Infinity","time_step_limit":[0.0,"Infinity"]})");
  CHECK(io::parse_config(R"({"a\"Infinity": "x Infinity"})", "config.json").dump() == R"({"a\"Infinity":"x Infinity"})");
  CHECK(holds(sentence_of([&] { io::parse_config(R"({"a": NaN, "b": Infinity})", "config.json"); }), "JSON has neither NaN nor infinity"));
  CHECK(holds(parsing(R"({"a": Infinity})"), "JSON has neither NaN nor infinity"));
  // What import reads knows a model's configuration by its file's name; DeepSpeed's is another.
  CHECK(io::parse_json_document(R"({"time_step_limit": [0.0, Infinity]})", "model/config.json").root.dump() == R"({"time_step_limit":[0.0,"Infinity"]})");
  CHECK(holds(sentence_of([&] { io::parse_json_document(R"({"a": Infinity})", "ds_config.json"); }), "JSON has neither NaN nor infinity"));
}

TEST_CASE("a key given twice is an error, wherever it is") {
  CHECK(parsing(R"({"a": 1, "a": 2})") == "headroom: job.json: key \"a\" is given twice");
  CHECK(parsing(R"({"x": {"y": [{"a": 1}, {"a": 1, "b": 2, "a": 3}]}})") ==
        "headroom: job.json: in x.y, key \"a\" is given twice");
  CHECK(parsing(R"({"a": {"a": 1}, "b": [{"a": 1}, {"a": 1}]})") == "no error");
}

TEST_CASE("depth and size are limited") {
  const auto nested = [](int levels) {
    return std::string(static_cast<std::size_t>(levels), '[') + std::string(static_cast<std::size_t>(levels), ']');
  };
  CHECK(parsing(nested(64)) == "no error");
  CHECK(parsing(nested(65)) == "headroom: job.json is nested deeper than 64 levels");
  CHECK(holds(parsing(std::string(1'000'000, '[')), "nested deeper"));
  CHECK(parsing(std::string(io::largest_file + 1, ' ')) == "headroom: job.json is larger than 16 MiB");
}

TEST_CASE("whole numbers") {
  const auto reading = [](const std::string& text, std::int64_t low = 0,
                          std::int64_t high = std::numeric_limits<std::int64_t>::max()) {
    const auto value = io::parse_json(text, "n");
    return sentence_of([&] { io::whole_at(value, "batch.micro", low, high); });
  };
  CHECK(io::whole_at(io::parse_json("5e8", "n"), "n", 0, 1'000'000'000) == 500'000'000);
  CHECK(io::whole_at(io::parse_json("9223372036854775807", "n"), "n", 0, std::numeric_limits<std::int64_t>::max()) ==
        std::numeric_limits<std::int64_t>::max());
  CHECK(io::whole_at(io::parse_json("-1", "n"), "n", -1, 5) == -1);
  CHECK(reading("-3", 1, 64) == "headroom: batch.micro must be a whole number from 1 to 64, found -3");
  CHECK(reading("\"two\"", 1, 64) == "headroom: batch.micro must be a whole number from 1 to 64, found \"two\"");
  // What nlohmann's value() turns into INT64_MIN and -1.
  CHECK(reading("123456789012345678901234567890") != "no error");
  CHECK(reading("18446744073709551615") != "no error");
  for (const auto* bad : {"0.5", "1e29", "1e300", "-1e29", "true", "null", "[]", "{}", "\"7\""})
    CHECK(reading(bad) != "no error");
}

TEST_CASE("a sentence never exceeds what an error holds, nor cuts a character in two") {
  const std::string text = sentence_of([] { io::fail(std::string(395, 'x') + "ééééé"); });
  CHECK(text.size() <= 399);
  CHECK(text.ends_with("…"));
  CHECK(static_cast<unsigned char>(text[text.size() - 4]) < 0x80);
}

TEST_CASE("misspellings find the name that was meant") {
  const std::vector<std::string_view> names{"optimizer", "overlap_comm", "stage3_param_persistence_threshold", "tensor"};
  CHECK(io::closest("optimiser", names) == "optimizer");
  CHECK(io::closest("comm_overlap", names) == "overlap_comm");
  CHECK(io::closest("stage3_param_persitance_threshold", names) == "stage3_param_persistence_threshold");
  CHECK(io::closest("tesnor", names) == "tensor");
  CHECK(io::closest("banana", names).empty());
  CHECK(io::closest("", names).empty());
  CHECK(io::edits("abc", "acb") == 1);
  CHECK(io::edits("", "abc") == 3);
}

}  // namespace test_json_reader
