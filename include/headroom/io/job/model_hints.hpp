// Distributed under the Boost Software License, Version 1.0.
// Why a name or a folder is no model's shape: it holds quantised weights, or an adapter.
#pragma once

#include <headroom/io/job/named_shape.hpp>
#include <headroom/io/syntax/file_base.hpp>
#include <headroom/io/syntax/json_reader.hpp>
#include <headroom/io/syntax/names.hpp>

#include <array>
#include <string>

namespace headroom::io {

/// How checkpoints of quantised weights end their names, in lower case.
inline constexpr auto quantised_endings = std::to_array<std::string_view>(
    {"-awq", "-gptq", "-gptq-int4", "-gptq-int8", "-gptq-4bit", "-gptq-8bit", "-awq-int4", "-int4", "-int8", "-bnb-4bit", "-unsloth-bnb-4bit", "-bnb-8bit", "-bnb-nf4", "-bnb-nf4-bf16", "-4bit", "-8bit", "-fp8", "-nvfp4",
     "-gguf", "-hqq", "-aqlm", "-exl2", "-aqlm-2bit-1x16"});

/// The name without such an ending; the whole name where it has none.
inline std::string_view without_quantisation(std::string_view name) {
  auto shortest = name;
  for (const auto end : quantised_endings)
    if (name.size() > end.size() && headroom::detail::equal_ignoring_case(name.substr(name.size() - end.size()), end) && name.size() - end.size() < shortest.size())
      shortest = name.substr(0, name.size() - end.size());
  return shortest;
}

/// What to write in place of a name of quantised weights; empty for other names. Their shape never answers for them: their weights are
/// smaller than the shape says.
inline std::string quantised_hint(std::string_view name) {
  const auto base = without_quantisation(name);
  if (base.size() == name.size()) return {};
  const auto known = shape_named(base);
  const std::string sentence = " names a checkpoint of quantised weights: give ";
  return sentence + (known ? in_quotes(std::string{known->label.view()}) + " as the model" : "the model that was quantised, a name of the zoo or its config.json,") +
         " and the format of its weights as adapter.base (nf4, nf4-double, int8, gptq-int4, gptq-int8)";
}

/// What to write in place of a folder that holds an adapter and no model; empty for other folders.
inline std::string adapter_hint(const std::string& path, const file_base& base) {
  const auto file = base.file(std::filesystem::path{path} / "adapter_config.json");
  if (!file) return {};
  const auto config = parse_json_file(*file, base);
  const auto of = config.find("base_model_name_or_path");
  std::string sentence = " is the folder of an adapter, without its model: give ";
  sentence += of != config.end() && of->is_string() ? in_quotes(of->get<std::string>()) + ", which its adapter_config.json names," : std::string{"its base"};
  return sentence + " as the model, and what trains as the key adapter";
}

}  // namespace headroom::io
