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
    {"mt5-large|mt0-large",
     R"({"activation":"gelu_new","encoder":{"cross_attention":true,"layers":24},"ffn":2816,"head_dim":64,"heads":16,"hidden":1024,"layers":24,"position":"relative","relative_buckets":32,"vocab":250112})"},
    {"mt5-base|mt0-base",
     R"({"activation":"gelu_new","encoder":{"cross_attention":true,"layers":12},"ffn":2048,"head_dim":64,"heads":12,"hidden":768,"layers":12,"position":"relative","relative_buckets":32,"vocab":250112})"},
    {"mt5-xl|mt0-xl",
     R"({"activation":"gelu_new","encoder":{"cross_attention":true,"layers":24},"ffn":5120,"head_dim":64,"heads":32,"hidden":2048,"layers":24,"position":"relative","relative_buckets":32,"vocab":250112})"},
    {"byt5-small",
     R"({"activation":"gelu_new","encoder":{"cross_attention":true,"layers":12},"ffn":3584,"head_dim":64,"heads":6,"hidden":1472,"layers":4,"position":"relative","relative_buckets":32,"vocab":384})"},
    {"mbart-large-50|mbart-large-50-many-to-many-mmt",
     R"({"activation":"gelu","attention_bias":true,"embedding_norm":true,"encoder":{"cross_attention":true,"ffn":4096,"heads":16,"layers":12},"ffn":4096,"heads":16,"hidden":1024,"layers":12,"max_positions":1024,"mlp":"plain","mlp_bias":true,"norm":"layernorm","norm_bias":true,"output_bias":true,"position":"learned","position_offset":2,"tied":true,"vocab":250054})"},
    {"camembert-base",
     R"({"activation":"gelu","attention_bias":true,"bidirectional":true,"embedding_norm":true,"ffn":3072,"head":"none","heads":12,"hidden":768,"layers":12,"max_positions":514,"mlp":"plain","mlp_bias":true,"no_final_norm":true,"norm":"layernorm","norm_after":true,"norm_bias":true,"output_bias":true,"pooler":true,"position":"learned","tied":true,"token_types":1,"vocab":32005})"},
    {"embeddinggemma-300m",
     R"({"activation":"gelu_pytorch_tanh","ffn":1152,"full_layers":4,"head":"none","head_dim":256,"heads":3,"hidden":768,"kv_heads":1,"layers":24,"norm_offset":true,"post_norms":true,"qk_norm":true,"sliding_window":512,"tied":true,"vocab":262144})"},
    {"m2m100_418m",
     R"({"activation":"relu","attention_bias":true,"encoder":{"cross_attention":true,"ffn":4096,"heads":16,"layers":12},"ffn":4096,"heads":16,"hidden":1024,"layers":12,"mlp":"plain","mlp_bias":true,"norm":"layernorm","norm_bias":true,"output_bias":true,"position":"learned","tied":true,"vocab":128112})"},
    {"mpnet-base",
     R"({"activation":"gelu","attention_bias":true,"bidirectional":true,"embedding_norm":true,"ffn":3072,"head":"masked-language","heads":12,"hidden":768,"layers":12,"max_positions":512,"mlp":"plain","mlp_bias":true,"no_final_norm":true,"norm":"layernorm","norm_after":true,"norm_bias":true,"output_bias":true,"position":"learned","relative_buckets":32,"tied":true,"vocab":30527})"},
    {"all-mpnet-base-v2|multi-qa-mpnet-base-dot-v1|paraphrase-mpnet-base-v2",
     R"({"activation":"gelu","attention_bias":true,"bidirectional":true,"embedding_norm":true,"ffn":3072,"head":"none","heads":12,"hidden":768,"layers":12,"max_positions":512,"mlp":"plain","mlp_bias":true,"no_final_norm":true,"norm":"layernorm","norm_after":true,"norm_bias":true,"output_bias":true,"pooler":true,"position":"learned","relative_buckets":32,"tied":true,"vocab":30527})"},
    {"nomic-embed-text-v1.5|nomic-embed-text-v1",
     R"({"bidirectional":true,"embedding_norm":true,"ffn":3072,"head":"none","head_dim":64,"heads":12,"hidden":768,"layers":12,"no_final_norm":true,"norm":"layernorm","norm_after":true,"norm_bias":true,"softmax":"compute","tied":true,"token_types":2,"vocab":30528})"},
    {"xlm-roberta-xl",
     R"({"activation":"gelu","attention_bias":true,"bidirectional":true,"ffn":10240,"head":"masked-language","heads":32,"hidden":2560,"layers":36,"max_positions":514,"mlp":"plain","mlp_bias":true,"norm":"layernorm","norm_bias":true,"output_bias":true,"position":"learned","tied":true,"token_types":1,"vocab":250880})"},
    {"gte-modernbert-base",
     R"({"activation":"gelu","bidirectional":true,"ffn":1152,"fused_gate_up":true,"fused_qkv":true,"global_every":3,"head":"none","heads":12,"hidden":768,"layers":22,"norm":"layernorm","sliding_window":128,"tied":true,"transformed_classes":true,"vocab":50368})"},
    {"gte-reranker-modernbert-base",
     R"({"activation":"gelu","bidirectional":true,"classes":1,"ffn":1152,"fused_gate_up":true,"fused_qkv":true,"global_every":3,"head":"none","head_bias":true,"heads":12,"hidden":768,"layers":22,"norm":"layernorm","pooler":true,"sliding_window":128,"tied":true,"transformed_classes":true,"vocab":50368})"},
    {"bge-reranker-base",
     R"({"activation":"gelu","attention_bias":true,"bidirectional":true,"classes":1,"embedding_norm":true,"ffn":3072,"head":"none","head_bias":true,"heads":12,"hidden":768,"layers":12,"max_positions":514,"mlp":"plain","mlp_bias":true,"no_final_norm":true,"norm":"layernorm","norm_after":true,"norm_bias":true,"output_bias":true,"pooler":true,"position":"learned","tied":true,"token_types":1,"vocab":250002})"},
    {"bge-reranker-large",
     R"({"activation":"gelu","attention_bias":true,"bidirectional":true,"classes":1,"embedding_norm":true,"ffn":4096,"head":"none","head_bias":true,"heads":16,"hidden":1024,"layers":24,"max_positions":514,"mlp":"plain","mlp_bias":true,"no_final_norm":true,"norm":"layernorm","norm_after":true,"norm_bias":true,"output_bias":true,"pooler":true,"position":"learned","tied":true,"token_types":1,"vocab":250002})"},
    {"bge-reranker-v2-m3",
     R"({"activation":"gelu","attention_bias":true,"bidirectional":true,"classes":1,"embedding_norm":true,"ffn":4096,"head":"none","head_bias":true,"heads":16,"hidden":1024,"layers":24,"max_positions":8194,"mlp":"plain","mlp_bias":true,"no_final_norm":true,"norm":"layernorm","norm_after":true,"norm_bias":true,"output_bias":true,"pooler":true,"position":"learned","tied":true,"token_types":1,"vocab":250002})"},
    {"ms-marco-minilm-l-6-v2|ms-marco-minilm-l6-v2",
     R"({"activation":"gelu","attention_bias":true,"bidirectional":true,"classes":1,"embedding_norm":true,"ffn":1536,"head":"none","head_bias":true,"heads":12,"hidden":384,"layers":6,"max_positions":512,"mlp":"plain","mlp_bias":true,"no_final_norm":true,"norm":"layernorm","norm_after":true,"norm_bias":true,"output_bias":true,"pooler":true,"position":"learned","tied":true,"token_types":2,"vocab":30522})"},
    {"ms-marco-minilm-l-12-v2|ms-marco-minilm-l12-v2",
     R"({"activation":"gelu","attention_bias":true,"bidirectional":true,"classes":1,"embedding_norm":true,"ffn":1536,"head":"none","head_bias":true,"heads":12,"hidden":384,"layers":12,"max_positions":512,"mlp":"plain","mlp_bias":true,"no_final_norm":true,"norm":"layernorm","norm_after":true,"norm_bias":true,"output_bias":true,"pooler":true,"position":"learned","tied":true,"token_types":2,"vocab":30522})"},
    {"e5-mistral-7b-instruct",
     R"({"ffn":14336,"head":"none","heads":32,"hidden":4096,"kv_heads":8,"layers":32,"sliding_window":4096,"vocab":32000})"},
    {"t5gemma-9b-9b-ul2|t5gemma-9b-9b-prefixlm|t5gemma-9b-9b-ul2-it",
     R"({"activation":"gelu_pytorch_tanh","attention_softcap":50,"encoder":{"cross_attention":true,"ffn":14336,"layers":42,"vocab":256000},"ffn":14336,"full_layers":21,"head_dim":256,"heads":16,"hidden":3584,"kv_heads":8,"layers":42,"logit_softcap":30,"norm_offset":true,"post_norms":true,"sliding_window":4096,"tied":true,"vocab":256000})"},
    {"t5gemma-s-s-prefixlm|t5gemma-s-s-ul2",
     R"({"activation":"gelu_pytorch_tanh","attention_softcap":50,"encoder":{"cross_attention":true,"ffn":1024,"layers":8,"vocab":256000},"ffn":1024,"full_layers":4,"head_dim":64,"heads":8,"hidden":512,"kv_heads":8,"layers":8,"logit_softcap":30,"norm_offset":true,"post_norms":true,"sliding_window":4096,"tied":true,"vocab":256000})"},
});
// clang-format on

}  // namespace headroom::io
