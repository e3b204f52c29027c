// Distributed under the Boost Software License, Version 1.0.
// Keys that mean the same in every configuration of transformers, and the kind of value that they have (configuration_utils.py, PreTrainedConfig, whose fields are
// checked since 5: huggingface_hub's strict dataclasses): where a class does not read one of them for its weights, it still is not made from another kind of value.
#pragma once

#include <headroom/io/huggingface/config.hpp>

#include <algorithm>
#include <cmath>

namespace headroom::io::detail {

inline constexpr std::string_view whole_keys[] = {"hidden_size", "intermediate_size", "vocab_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "num_heads", "n_head", "head_dim"};
inline constexpr std::string_view number_keys[] = {"max_position_embeddings", "pad_token_id"};
inline constexpr std::string_view flag_keys[] = {"tie_word_embeddings", "attention_bias", "mlp_bias", "is_decoder", "is_encoder_decoder", "add_cross_attention"};
inline constexpr std::string_view list_keys[] = {"architectures", "layer_types"};

inline bool one_of_keys(const auto& list, std::string_view key) { return std::find(std::begin(list), std::end(list), key) != std::end(list); }

/// Whether every number in a list of lists is whole and not negative.
inline bool whole_numbers(const json& value) {
  if (value.is_array()) return std::all_of(value.begin(), value.end(), [](const json& v) { return whole_numbers(v); });
  if (value.is_number_float()) return value.get<double>() >= 0.0 && value.get<double>() == std::floor(value.get<double>()) && value.get<double>() <= static_cast<double>(config::widest);
  return value.is_number_integer() && value >= 0 && value <= config::widest;
}

/// Refuses words where numbers belong, and the like, in a configuration and those within it. `null` is left to the readers.
inline void check_kinds(const json& object, const std::string& path) {
  for (const auto& [key, value] : object.items()) {
    const auto place = path.empty() ? key : path + "." + key;
    if (value.is_object() && key.ends_with("_config") && key.find("quant") == std::string::npos) check_kinds(value, place);
    if (value.is_null()) continue;
    const auto must_be = [&place, found = &value](const char* what) { complain(place + " must be " + what + ", found " + shown(*found)); };
    if (key == "num_hidden_layers" && value.is_object() && object.contains("model_type") && object["model_type"] == "lxmert") continue;  // made of l_layers, x_layers and r_layers, whatever it says
    if (one_of_keys(whole_keys, key) && ((value.is_array() && value.empty()) || !whole_numbers(value))) must_be("a whole number");
    const bool counts = value.is_number() || value.is_boolean();  // Python takes one for the other
    if (one_of_keys(number_keys, key) && (!counts || (value.is_number_float() && value.get<double>() != std::floor(value.get<double>())))) must_be("a whole number");
    if (one_of_keys(flag_keys, key) && !counts) must_be("true or false");
    if (one_of_keys(list_keys, key) && !value.is_array()) must_be("a list");
    if (key == "id2label" && !value.is_object()) must_be("an object, the labels by their numbers");
    if (key == "model_type" && !value.is_string()) must_be("a string");
  }
}

}  // namespace headroom::io::detail
