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

std::string page(const job& j) { 
  const auto others = explore(j, estimated);
  return io::to_html(estimate(j), j, {.others = others});
}

std::size_t count_of(std::string_view text, std::string_view of) {
  std::size_t n = 0;
  for (auto at = text.find(of); at != text.npos; at = text.find(of, at + of.size())) ++n;
  return n;
}

}  // namespace

TEST_CASE("a page needs no other file and no network") {
  auto text = page(llama());
  for (const auto* outside : {"src=", "href=", "url(", "@import", "<script", "<link", "<iframe"}) CHECK(text.find(outside) == std::string::npos);
  CHECK(count_of(text, "://") == 2);  // the name of SVG's namespace, of the wide and the narrow picture
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
  CHECK(selective[2].refused.starts_with("headroom: for this framework selective recompute needs recompute.policy"));
  CHECK(page(j).find("not possible here: for this framework selective recompute needs") != std::string::npos);
  auto megatron = j;
  megatron.framework = frameworks::megatron;
  megatron.sharding = {};
  CHECK(explore(megatron, estimated).size() == 3);  // no stage to choose
}

TEST_CASE("a page says range and advice as the terminal does") {
  auto j = llama();
  CHECK(page(j).find("95 % sure: device memory between ") != std::string::npos);
  CHECK(page(j).find("What would") == std::string::npos);
  j.recompute = {};
  j.batch = {.micro = 4, .sequence = 16384};
  const auto help = advise(j);
  const auto r = estimate(j);
  REQUIRE_FALSE(r.fits());
  REQUIRE_FALSE(help.empty());
  const auto text = io::to_html(r, j, {.help = &help});
  CHECK(text.find("What would make it fit") != std::string::npos);
  for (const auto& a : help) CHECK(text.find(io::detail::escaped(io::changes_text(a))) != std::string::npos);
  CHECK(io::to_html(r, j, {.help = nullptr}).find("What would") == std::string::npos);
}

TEST_CASE("pictures have a name and a description, and words of the page's colours") {
  const auto j = llama();
  const auto r = estimate(j);
  const auto text = io::to_svg(r, j, {.width = 343, .heading = false});
  CHECK(text.find("role=\"img\"") != std::string::npos);
  CHECK(text.find("<title>One training step of llama-3.1-8b, 8.03 B parameters, deepspeed</title>") != std::string::npos);
  CHECK(text.find("<desc>FITS with ") != std::string::npos);
  CHECK(text.find("viewBox=\"0 0 343 ") != std::string::npos);
  CHECK(count_of(text, "<text") == count_of(text, "<text class="));
  CHECK(count_of(text, "FITS") == 1);  // no heading: the description alone
}

}  // namespace test_report_html
