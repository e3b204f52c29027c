// Distributed under the Boost Software License, Version 1.0.
// The page of a report: whole in itself, and nobody's markup but its own.
#include <headroom/headroom.hpp>
#include <headroom/io/report_html.hpp>

#include <doctest/doctest.h>

namespace test_report_html {

using namespace headroom;

namespace {

job llama() {
  return {.model = models::llama_3_1_8b, .hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}, .framework = frameworks::deepspeed,
          .sharding = zero(3), .batch = {.micro = 2, .sequence = 4096}, .recompute = recompute::full};
}

report estimated(const job& j) { return estimate(j); }

std::string page(const job& j) { return io::to_html(estimate(j), j, explore(j, estimated)); }

std::size_t count_of(std::string_view text, std::string_view of) {
  std::size_t n = 0;
  for (auto at = text.find(of); at != text.npos; at = text.find(of, at + of.size())) ++n;
  return n;
}

}  // namespace

TEST_CASE("a page needs no other file and no network") {
  auto text = page(llama());
  for (const auto* outside : {"src=", "href=", "url(", "@import", "<script", "<link", "<iframe"}) CHECK(text.find(outside) == std::string::npos);
  CHECK(count_of(text, "://") == 1);  // the name of SVG's namespace
  for (const auto* tag : {"table", "tr", "td", "div", "svg", "ul", "li", "h2", "h3", "p", "span", "body", "html"}) {
    CAPTURE(std::string{tag});
    const auto open = count_of(text, std::string{"<"} + tag + ">") + count_of(text, std::string{"<"} + tag + " ");
    CHECK(open == count_of(text, std::string{"</"} + tag + ">"));
    CHECK(open > 0);
  }
}

TEST_CASE("names are text, whatever they hold") {
  auto j = llama();
  j.model.label = "<b onload='x'>&\"";
  j.hardware.gpu.label = "</title><script>";
  const auto text = page(j);
  CHECK(text.find("<b onload") == std::string::npos);
  CHECK(text.find("<script>") == std::string::npos);
  CHECK(text.find("&lt;b onload='x'&gt;&amp;&quot;") != std::string::npos);
}

TEST_CASE("other settings are the job's with one key changed") {
  const auto j = llama();
  const auto found = explore(j, estimated);
  REQUIRE(found.size() == knobs::all.size());
  for (const auto& w : found) {
    CAPTURE(std::string{w.knob->key});
    int own = 0;
    for (const auto& s : w.settings) {
      auto other = j;
      w.knob->set(other, s.value);
      if (s.own) CHECK(other == j);
      own += s.own ? 1 : 0;
      if (s.report) CHECK(s.report->device() == estimate(other).device());
    }
    CHECK(own == 1);
  }
  // What a framework refuses is there, without a report.
  auto selective = found[2].settings;
  REQUIRE(selective.size() == 3);
  CHECK_FALSE(selective[2].report.has_value());
  auto megatron = j;
  megatron.framework = frameworks::megatron;
  megatron.sharding = {};
  CHECK(explore(megatron, estimated).size() == 3);  // no stage to choose
}

}  // namespace test_report_html
