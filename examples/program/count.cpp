// Distributed under the Boost Software License, Version 1.0.
// headroom count MODEL…: exact parameters, by component.
#include <headroom/io/counted.hpp>
#include <headroom/io/report/text_table.hpp>
#include <headroom/model/inventory.hpp>
#include <iostream>

#include "program.hpp"

namespace program {
namespace {

nlohmann::ordered_json to_json(const std::string& model, const headroom::parameter_count& n) {
  nlohmann::ordered_json components = nlohmann::ordered_json::object();
  for (int i = 0; i < headroom::component_count; ++i) {
    const auto c = static_cast<headroom::component>(i);
    if (n.of(c).count() > 0) components[std::string{headroom::name_of(c)}] = n.of(c).count();
  }
  return {{"model", model},
          {"total", n.total.count()},
          {"trainable", n.trainable().count()},
          {"active", n.active.count()},
          {"components", std::move(components)}};
}

void print(std::ostream& out, const std::string& model, const headroom::parameter_count& n,
           const headroom::io::palette& ink) {
  using namespace headroom::io;
  const auto row = [&](std::string_view label, std::int64_t value) {
    const double share = n.total.count() > 0 ? static_cast<double>(value) / static_cast<double>(n.total.count()) : 0.0;
    out << "  " << left(label, 16) << right(grouped(value), 22) << right(fixed(share * 100.0, 1) + " %", 9) << "  "
        << ink.hue(bar(share, 30)) << '\n';
  };
  out << ink.bold(model) << ", " << count_text(n.total.count()) << " parameters\n";
  for (int i = 0; i < headroom::component_count; ++i) {
    const auto c = static_cast<headroom::component>(i);
    if (n.of(c).count() > 0) row(headroom::name_of(c), n.of(c).count());
  }
  out << ink.bold("  " + left("total", 16) + right(grouped(n.total.count()), 22)) << '\n';
  if (n.trainable() != n.total) row("trainable", n.trainable().count());
  if (n.active != n.total) row("active", n.active.count());
}

}  // namespace

int run(const count_request& asked, const streams& io) {
  auto models = nlohmann::ordered_json::array();
  for (const auto& model : asked.models) {
    const auto n = headroom::io::count_model_named(model, "MODEL", headroom::io::file_base::anywhere_from("."));
    if (asked.json)
      models.push_back(to_json(model, n));
    else
      print(io.out, model, n, {io.colour});
  }
  if (asked.json) io.out << nlohmann::ordered_json{{"models", std::move(models)}}.dump(2) << '\n';
  return 0;
}

}  // namespace program
