// Distributed under the Boost Software License, Version 1.0.
// Encoders, and encoders with a decoder by name beside those of the zoo (published_models.hpp): a new one is a line.
#pragma once

#include <headroom/io/job/published_model.hpp>

#include <array>

namespace headroom::io {

// clang-format off
inline constexpr auto published_encoders = std::to_array<published_model>({
    {"bge-small-en|bge-small-en-v1.5",
     R"({"activation":"gelu","attention_bias":true,"bidirectional":true,"embedding_norm":true,"ffn":1536,"head":"none","heads":12,"hidden":384,"layers":12,"max_positions":512,"mlp":"plain","mlp_bias":true,"no_final_norm":true,"norm":"layernorm","norm_after":true,"norm_bias":true,"output_bias":true,"pooler":true,"position":"learned","tied":true,"token_types":2,"vocab":30522})"},
    {"distilbert-base-uncased",
     R"({"activation":"gelu","attention_bias":true,"bidirectional":true,"embedding_norm":true,"ffn":3072,"head":"none","heads":12,"hidden":768,"layers":6,"max_positions":512,"mlp":"plain","mlp_bias":true,"no_final_norm":true,"norm":"layernorm","norm_after":true,"norm_bias":true,"output_bias":true,"position":"learned","tied":true,"vocab":30522})"},
    {"bart-base",
     R"({"activation":"gelu","attention_bias":true,"embedding_norm":true,"encoder":{"cross_attention":true,"ffn":3072,"heads":12,"layers":6},"ffn":3072,"head":"none","heads":12,"hidden":768,"layers":6,"max_positions":1024,"mlp":"plain","mlp_bias":true,"no_final_norm":true,"norm":"layernorm","norm_after":true,"norm_bias":true,"output_bias":true,"position":"learned","position_offset":2,"tied":true,"vocab":50265})"},
    {"deberta-v3-base",
     R"({"activation":"gelu","attention_bias":true,"bidirectional":true,"embedding_norm":true,"ffn":3072,"head":"none","heads":12,"hidden":768,"layers":12,"max_positions":512,"mlp":"plain","mlp_bias":true,"no_final_norm":true,"norm":"layernorm","norm_after":true,"norm_bias":true,"output_bias":true,"position":"disentangled","relative_buckets":512,"tied":true,"vocab":128100})"},
    {"deberta-v3-small",
     R"({"activation":"gelu","attention_bias":true,"bidirectional":true,"embedding_norm":true,"ffn":3072,"head":"none","heads":12,"hidden":768,"layers":6,"max_positions":512,"mlp":"plain","mlp_bias":true,"no_final_norm":true,"norm":"layernorm","norm_after":true,"norm_bias":true,"output_bias":true,"position":"disentangled","relative_buckets":512,"tied":true,"vocab":128100})"},
    {"modernbert-large",
     R"({"activation":"gelu","bidirectional":true,"ffn":2624,"fused_gate_up":true,"fused_qkv":true,"global_every":3,"head":"masked-language","heads":16,"hidden":1024,"layers":28,"norm":"layernorm","sliding_window":128,"tied":true,"transformed_classes":true,"vocab":50368})"},
    {"bge-m3",
     R"({"activation":"gelu","attention_bias":true,"bidirectional":true,"embedding_norm":true,"ffn":4096,"head":"none","heads":16,"hidden":1024,"layers":24,"max_positions":8194,"mlp":"plain","mlp_bias":true,"no_final_norm":true,"norm":"layernorm","norm_after":true,"norm_bias":true,"output_bias":true,"pooler":true,"position":"learned","tied":true,"token_types":1,"vocab":250002})"},
    {"multilingual-e5-small",
     R"({"activation":"gelu","attention_bias":true,"bidirectional":true,"embedding_norm":true,"ffn":1536,"head":"none","heads":12,"hidden":384,"layers":12,"max_positions":512,"mlp":"plain","mlp_bias":true,"no_final_norm":true,"norm":"layernorm","norm_after":true,"norm_bias":true,"output_bias":true,"pooler":true,"position":"learned","tied":true,"token_types":2,"vocab":250037})"},
    {"nllb-200-distilled-600m",
     R"({"activation":"relu","attention_bias":true,"encoder":{"cross_attention":true,"ffn":4096,"heads":16,"layers":12},"ffn":4096,"heads":16,"hidden":1024,"layers":12,"mlp":"plain","mlp_bias":true,"norm":"layernorm","norm_bias":true,"output_bias":true,"position":"learned","tied":true,"vocab":256206})"},
    {"bart-large",
     R"({"activation":"gelu","attention_bias":true,"embedding_norm":true,"encoder":{"cross_attention":true,"ffn":4096,"heads":16,"layers":12},"ffn":4096,"head":"none","heads":16,"hidden":1024,"layers":12,"max_positions":1024,"mlp":"plain","mlp_bias":true,"no_final_norm":true,"norm":"layernorm","norm_after":true,"norm_bias":true,"output_bias":true,"position":"learned","position_offset":2,"tied":true,"vocab":50265})"},
});
// clang-format on

}  // namespace headroom::io
