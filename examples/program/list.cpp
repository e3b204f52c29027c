// Distributed under the Boost Software License, Version 1.0.
// headroom list WHAT [PART]: the names that a job file may use, with what tells them apart.
#include <headroom/hardware/gpu_names.hpp>
#include <headroom/io/counted.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/io/report/text_table.hpp>
#include <headroom/model/inventory.hpp>

#include <map>
#include <ostream>

#include "program.hpp"

namespace program {
namespace {

using namespace headroom;
using namespace headroom::io;

/// One line for each name, where it or another name of the same thing contains `part`.
struct lines {
  std::ostream& out;
  std::string part;
  std::int64_t written{};

  void add(const std::string& name, const std::string& facts, const std::vector<std::string_view>& also = {}) {
    std::string others;
    bool wanted = name.find(part) != std::string::npos;
    for (const auto other : also) {
      if (other.empty() || other == name) continue;
      wanted = wanted || other.find(part) != std::string_view::npos;
      others += (others.empty() ? "  also " : ", ") + std::string{other};
    }
    if (!wanted) return;
    out << left(name, facts.empty() && others.empty() ? name.size() : name.size() < 28 ? 28 : name.size() + 1) << facts << others << '\n';
    ++written;
  }
};

void models_of(lines& l) {
  for (const auto& e : models::table)
    l.add(std::string{e.names[0]}, right(count_text(count(*e.model).total.count()), 9) + " parameters", {e.names[1], e.names[2]});
  for (const auto& m : published_models) {
    std::vector<std::string_view> names;
    each_name(m, [&](std::string_view one) { names.push_back(one); });
    l.add(std::string{name_of(m)}, right(count_text(count(*shape_named(name_of(m))).total.count()), 9) + " parameters", names);
  }
}

void gpus_of(lines& l) {
  for (const auto& g : gpus::all) {
    std::vector<std::string_view> also;
    for (const auto& a : gpus::aliases)
      if (a.to == g.label) also.push_back(a.from.view());
    std::string facts = g.memory > bytes{0} ? right(gib_text(g.memory), 12) : right("memory unstated", 12);
    if (g.bf16_tflops_x10 > 0) facts += right(fixed(static_cast<double>(g.bf16_tflops_x10) / 10, 0), 7) + " TFLOP/s in bf16";
    l.add(std::string{g.label.view()}, facts, also);
  }
}

/// model_type of Hugging Face's configurations: those whose layers are walked, and those of which the parameters are counted alone.
void types_of(lines& l) {
  std::map<std::string_view, std::vector<std::string_view>> walked, counted;
  for (const auto& f : io::detail::family_names) walked[f.type].push_back(f.prefix);
  for (const auto& list : io::detail::counted_classes)
    for (const auto& one : list) counted[one.type].push_back(one.name);
  for (const auto& [type, prefixes] : walked) {
    bool alone = false;
    for (const auto held : io::detail::walked_over_text) alone = alone || held == type;
    l.add(std::string{type}, alone ? "walked over text alone" : "walked", prefixes);
  }
  for (const auto& [type, classes] : counted) l.add(std::string{type}, walked.contains(type) ? "counted alone, of these classes" : "counted alone", classes);
}

}  // namespace

int run(const list_request& asked, const streams& io) {
  constexpr std::string_view kinds[] = {"models", "types", "gpus", "frameworks", "optimizers", "precisions"};
  lines l{io.out, asked.part};
  if (asked.what == "models") {
    models_of(l);
  } else if (asked.what == "types") {
    types_of(l);
  } else if (asked.what == "gpus") {
    gpus_of(l);
  } else if (asked.what == "frameworks") {
    for (const auto name : framework_names) l.add(std::string{name}, "");
  } else if (asked.what == "optimizers") {
    for (const auto& o : optimizers::all) l.add(std::string{o.label.view()}, "");
  } else if (asked.what == "precisions") {
    for (const auto& p : precisions::all) l.add(std::string{p.label.view()}, "");
  } else {
    unknown_name("WHAT", asked.what, kinds);
  }
  if (l.written == 0) fail("headroom: none of the " + asked.what + " has " + in_quotes(asked.part) + " in its name");
  return 0;
}

}  // namespace program
