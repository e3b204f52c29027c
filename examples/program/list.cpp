// Distributed under the Boost Software License, Version 1.0.
// headroom list WHAT [PART]: the names that a job file may use, with what tells them apart.
#include <headroom/hardware/gpu_names.hpp>
#include <headroom/io/counted.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/io/report/text_table.hpp>
#include <headroom/model/inventory.hpp>

#include <algorithm>
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

constexpr std::string_view model_kinds[] = {"dense", "experts", "recurrent", "sees", "hears", "encoder", "encoder-decoder"};

/// What kinds of model it is; a decoder of plain layers is dense.
std::vector<std::string_view> kinds_of_model(const shape& m) {
  std::vector<std::string_view> is;
  if (m.sparse()) is.push_back("experts");
  if (m.recurs()) is.push_back("recurrent");
  if (m.vision.kind != vision_kind::none) is.push_back("sees");
  if (m.encoder.audio_channels > 0) is.push_back("hears");
  if (m.encoder.layers > 0) is.push_back("encoder-decoder");
  if (m.bidirectional) is.push_back("encoder");
  if (is.empty()) is.push_back("dense");
  return is;
}

/// A model by name, where it is of the kind that was asked for.
void add_model(lines& l, const std::string& kind, std::string_view name, const shape& m, const std::vector<std::string_view>& also, std::string_view of = {}) {
  const auto is = kinds_of_model(m);
  if (!kind.empty() && std::find(is.begin(), is.end(), kind) == is.end()) return;
  auto facts = right(count_text(count(m).total.count()), 9) + " parameters";
  for (const auto one : is)
    if (one != "dense") facts += "  " + std::string{one};
  if (m.vision.held > 0) facts += "  walked over text alone";
  if (!of.empty()) facts += "  as " + std::string{of};
  l.add(std::string{name}, facts, also);
}

void models_of(lines& l, const std::string& kind) {
  if (!kind.empty() && std::find(std::begin(model_kinds), std::end(model_kinds), kind) == std::end(model_kinds)) unknown_name("--kind", kind, model_kinds);
  for (const auto& e : models::table) add_model(l, kind, e.names[0], *e.model, {std::begin(e.names) + 1, std::end(e.names)});
  for (const auto& m : published_models) {
    std::vector<std::string_view> names;
    each_name(m, [&](std::string_view one) { names.push_back(one); });
    add_model(l, kind, name_of(m), shape_named(name_of(m)).value(), names);
  }
  for (const auto& d : models::descendants) add_model(l, kind, d.name, shape_named(d.of).value(), {}, d.of);
  for (const auto& d : published_descendants) add_model(l, kind, d.name, shape_named(d.of).value(), {}, d.of);
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
  for (const auto& [type, classes] : counted) l.add(std::string{type}, walked.contains(type) ? "counted alone, of these classes" : io::detail::find_held(type) != nullptr ? "walked over text alone" : "counted alone", classes);
}

}  // namespace

int run(const list_request& asked, const streams& io) {
  if (!asked.kind.empty() && asked.what != "models") fail("headroom: --kind chooses among models, found " + in_quotes(asked.what));
  constexpr std::string_view kinds[] = {"models", "types", "gpus", "frameworks", "optimizers", "precisions"};
  lines l{io.out, asked.part};
  if (asked.what == "models") {
    models_of(l, asked.kind);
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
  if (l.written == 0) fail("headroom: none of the " + asked.what + (asked.kind.empty() ? "" : " of that kind") + " has " + in_quotes(asked.part) + " in its name");
  return 0;
}

}  // namespace program
