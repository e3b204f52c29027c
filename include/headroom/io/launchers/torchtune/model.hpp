// Distributed under the Boost Software License, Version 1.0.
// The model of a torchtune recipe: by its builder's name, or by the shape that is handed to a builder (pytorch/torchtune bd2a0fc7 of 2026-04-23).
#pragma once

#include <headroom/io/launchers/called_model.hpp>
#include <headroom/io/launchers/nested_values.hpp>

#include <algorithm>
#include <array>

namespace headroom::io::detail {

/// torchtune/models/*/_model_builders.py: the beginnings of their functions, and of the names that the models have here.
struct torchtune_model {
  std::string_view builder, name;
};
inline constexpr auto torchtune_models = std::to_array<torchtune_model>({
    {"code_llama2_", "codellama-"}, {"llama2_", "llama-2-"}, {"llama3_1_", "llama-3.1-"}, {"llama3_2_", "llama-3.2-"}, {"llama3_3_", "llama-3.3-"}, {"llama3_", "llama-3-"}, {"mistral_", "mistral-"},
    {"gemma2_", "gemma-2-"}, {"gemma_", "gemma-"}, {"phi3_mini", "phi-3-mini"}, {"phi4_14b", "phi-4"}, {"qwen2_5_", "qwen2.5-"}, {"qwen2_", "qwen2-"}, {"qwen3_", "qwen3-"},
});

/// "llama3_1_8b", "qwen2_5_0_5b_instruct": the name that the model has here; as it is where none is known.
inline std::string torchtune_model_name(std::string builder) {
  for (const std::string_view end : {"_instruct", "_base"})
    if (builder.ends_with(end)) builder.resize(builder.size() - end.size());
  for (const auto& m : torchtune_models) {
    if (!builder.starts_with(m.builder)) continue;
    auto size = builder.substr(m.builder.size());
    std::replace(size.begin(), size.end(), '_', '.');
    return std::string{m.name} + size;
  }
  return builder;
}

/// models/llama2/_component_builders.py llama2, lora_llama2: the layers' sizes stand in the configuration. False: no such builder. The MLP's width is
/// (2/3) 4 d, rounded up to 256, where none is given (models/llama2/_model_utils.py scale_hidden_dim_for_mlp); tables of rotations are as long as max_seq_len.
inline bool torchtune_own_shape(draft& d, const nested_values& k, const std::string& builder) {
  constexpr auto sizes = std::to_array<std::string_view>({"vocab_size", "num_layers", "num_heads", "num_kv_heads", "embed_dim", "max_seq_len"});
  const auto at = [](std::string_view key) { return "model." + std::string{key}; };
  const auto place = k.place("model._component_");
  if (builder != "llama2") {
    for (const std::string_view key : {"vocab_size", "num_layers", "num_heads", "num_kv_heads", "embed_dim", "intermediate_dim", "max_seq_len", "rope_base"})
      if (k.find(at(key)) != nullptr) fail("headroom: " + k.place(at(key)) + ": " + at(key) + " is no argument of " + in_quotes(builder) + ", whose model has its own");
    return false;
  }
  for (const auto key : sizes)
    if (k.find(at(key)) == nullptr) fail("headroom: " + place + ": " + at(key) + " is missing, which torchtune's llama2 asks for");
  const auto number = [&](std::string_view key) { return k.number(at(key), 1); };
  const auto hidden = number("embed_dim"), heads = number("num_heads"), whole = checked::mul(4, checked::mul(2, hidden) / 3);
  if (hidden % heads != 0 || heads % number("num_kv_heads") != 0) fail("headroom: " + k.place(at("num_heads")) + ": model.num_heads must divide model.embed_dim, and be a multiple of model.num_kv_heads");
  d.replace("model",
            {{"layers", number("num_layers")}, {"hidden", hidden}, {"heads", heads}, {"kv_heads", number("num_kv_heads")}, {"ffn", k.number(at("intermediate_dim"), (whole + 255) / 256 * 256)},
             {"max_positions", number("max_seq_len")}, {"vocab", number("vocab_size")}},
            place);
  return true;
}

}  // namespace headroom::io::detail
