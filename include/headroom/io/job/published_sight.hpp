// Distributed under the Boost Software License, Version 1.0.
// Models that see by name beside those of the zoo (published_models.hpp): a new one is a line.
#pragma once

#include <headroom/io/job/published_model.hpp>

#include <array>

namespace headroom::io {

// clang-format off
inline constexpr auto published_sight = std::to_array<published_model>({
    {"mistral-small-3.1-24b|mistral-small-3.1-24b-base-2503|mistral-small-3.1-24b-instruct-2503|mistral-small-3.2-24b-instruct-2506|magistral-small-2509",
     R"({"ffn":32768,"head_dim":128,"heads":32,"hidden":5120,"kv_heads":8,"layers":40,"vision":{"ffn":4096,"heads":16,"hidden":1024,"image":1540,"kind":"pixtral","layers":24,"merge":2,"patch":14,"projector":"patch-merger"},"vocab":131072})"},
    {"qwen3.5-0.8b",
     R"({"ffn":3584,"gated_attention":true,"head_dim":256,"heads":8,"hidden":1024,"kv_heads":2,"layers":24,"norm_offset":true,"pattern":["gated-delta-net","gated-delta-net","gated-delta-net","attention"],"qk_norm":true,"rotary_fraction":0.25,"ssm":{"conv":4,"groups":16,"head_dim":128,"heads":16,"state":128},"tied":true,"vision":{"ffn":3072,"heads":12,"hidden":768,"kind":"qwen3-vl","layers":12,"merge":2,"output":1024,"patch":16,"positions":2304,"projector":"merger","temporal_patch":2},"vocab":248320})"},
    // llava-hf's have 64 rows more for words of their own; Mistral's is v0.2, which has no window (the model card).
    {"llava-v1.6-mistral-7b-hf",
     R"({"ffn":14336,"heads":32,"hidden":4096,"kv_heads":8,"layers":32,"vision":{"ffn":4096,"heads":16,"hidden":1024,"image":336,"kind":"clip","layers":24,"newline":true,"patch":14,"projector":"mlp","slices":5,"unread":1},"vocab":32064})"},
    {"llava-v1.6-vicuna-7b-hf",
     R"({"ffn":11008,"heads":32,"hidden":4096,"kv_heads":32,"layers":32,"vision":{"ffn":4096,"heads":16,"hidden":1024,"image":336,"kind":"clip","layers":24,"newline":true,"patch":14,"projector":"mlp","slices":5,"unread":1},"vocab":32064})"},
    {"llava-v1.6-mistral-7b",
     R"({"ffn":14336,"heads":32,"hidden":4096,"kv_heads":8,"layers":32,"vision":{"ffn":4096,"heads":16,"hidden":1024,"image":336,"kind":"clip","layers":24,"newline":true,"patch":14,"projector":"mlp","slices":5,"unread":1},"vocab":32000})"},
    {"llava-v1.6-vicuna-7b",
     R"({"ffn":11008,"heads":32,"hidden":4096,"kv_heads":32,"layers":32,"vision":{"ffn":4096,"heads":16,"hidden":1024,"image":336,"kind":"clip","layers":24,"newline":true,"patch":14,"projector":"mlp","slices":5,"unread":1},"vocab":32000})"},
    {"paligemma2-3b-pt-224|paligemma2-3b-mix-224",
     R"({"activation":"gelu_pytorch_tanh","attention_softcap":50,"ffn":9216,"full_layers":13,"head_dim":256,"heads":8,"hidden":2304,"kv_heads":4,"layers":26,"logit_softcap":30,"norm_offset":true,"post_norms":true,"sliding_window":4096,"tied":true,"vision":{"ffn":4304,"heads":16,"hidden":1152,"image":224,"kind":"siglip","layers":27,"patch":14,"projector":"linear"},"vocab":257216})"},
    {"minicpm-llama3-v-2.5|minicpm-llama3-v-2_5",
     R"({"ffn":14336,"heads":32,"hidden":4096,"kv_heads":8,"layers":32,"vision":{"ffn":4304,"heads":16,"hidden":1152,"image":980,"kind":"siglip","layers":27,"patch":14,"projector":"resampler","resampler":96},"vocab":128256})"},
    {"internvl3.5-1b|internvl3_5-1b",
     R"({"ffn":3072,"head_dim":128,"heads":16,"hidden":1024,"kv_heads":8,"layers":28,"qk_norm":true,"vision":{"ffn":4096,"heads":16,"hidden":1024,"image":448,"kind":"internvit","layers":24,"merge":2,"patch":14,"projector":"norm-mlp"},"vocab":151936})"},
    {"internvl3.5-2b|internvl3_5-2b",
     R"({"ffn":6144,"head_dim":128,"heads":16,"hidden":2048,"kv_heads":8,"layers":28,"qk_norm":true,"vision":{"ffn":4096,"heads":16,"hidden":1024,"image":448,"kind":"internvit","layers":24,"merge":2,"patch":14,"projector":"norm-mlp"},"vocab":151936})"},
    {"internvl3.5-4b|internvl3_5-4b",
     R"({"ffn":9728,"head_dim":128,"heads":32,"hidden":2560,"kv_heads":8,"layers":36,"qk_norm":true,"vision":{"ffn":4096,"heads":16,"hidden":1024,"image":448,"kind":"internvit","layers":24,"merge":2,"patch":14,"projector":"norm-mlp"},"vocab":151936})"},
    {"internvl3.5-8b|internvl3_5-8b",
     R"({"ffn":12288,"head_dim":128,"heads":32,"hidden":4096,"kv_heads":8,"layers":36,"qk_norm":true,"vision":{"ffn":4096,"heads":16,"hidden":1024,"image":448,"kind":"internvit","layers":24,"merge":2,"patch":14,"projector":"norm-mlp"},"vocab":151936})"},
    {"internvl3.5-14b|internvl3_5-14b",
     R"({"ffn":17408,"head_dim":128,"heads":40,"hidden":5120,"kv_heads":8,"layers":40,"qk_norm":true,"vision":{"ffn":4096,"heads":16,"hidden":1024,"image":448,"kind":"internvit","layers":24,"merge":2,"patch":14,"projector":"norm-mlp"},"vocab":151936})"},
    {"internvl3.5-30b-a3b|internvl3_5-30b-a3b",
     R"({"experts":{"active":8,"count":128,"ffn":768},"ffn":6144,"head_dim":128,"heads":32,"hidden":2048,"kv_heads":4,"layers":48,"qk_norm":true,"vision":{"ffn":4096,"heads":16,"hidden":1024,"image":448,"kind":"internvit","layers":24,"merge":2,"patch":14,"projector":"norm-mlp"},"vocab":151936})"},
    {"ministral-3-3b|ministral-3-3b-instruct-2512|ministral-3-3b-base-2512|ministral-3-3b-reasoning-2512",
     R"({"ffn":9216,"head_dim":128,"heads":32,"hidden":3072,"kv_heads":8,"layers":26,"max_positions":262144,"scaled_queries":true,"tied":true,"vision":{"ffn":4096,"heads":16,"hidden":1024,"image":1540,"kind":"pixtral","layers":24,"merge":2,"patch":14,"projector":"patch-merger"},"vocab":131072})"},
    {"glm-4.1v-9b|glm-4.1v-9b-thinking|glm-4.1v-9b-base|glm-4.6v-flash",
     R"({"attention_bias":true,"ffn":13696,"fused_gate_up":true,"head_dim":128,"heads":32,"hidden":4096,"kv_heads":2,"layers":40,"post_norms":true,"rotary":"pairs","rotary_fraction":0.5,"vision":{"ffn":4096,"heads":12,"hidden":1536,"kind":"glm4v","layers":24,"merge":2,"output":4096,"patch":14,"positions":576,"projector":"glm-merger","projector_hidden":13696,"temporal_patch":2},"vocab":151552})"},
    {"glm-4.5v",
     R"({"attention_bias":true,"experts":{"active":8,"count":128,"ffn":1408,"first_dense_layers":1,"shared":1,"shared_ffn":1408},"ffn":10944,"head_dim":128,"heads":96,"hidden":4096,"kv_heads":8,"layers":46,"rotary_fraction":0.5,"vision":{"ffn":4096,"heads":12,"hidden":1536,"kind":"glm4v","layers":24,"merge":2,"output":4096,"patch":14,"positions":576,"projector":"glm-merger","projector_hidden":10944,"temporal_patch":2},"vocab":151552})"},
    {"llava-onevision-qwen2-0.5b|llava-onevision-qwen2-0.5b-ov-hf",
     R"({"attention_bias":true,"ffn":4864,"heads":14,"hidden":896,"kv_heads":2,"layers":24,"tied":true,"vision":{"ffn":4304,"grid":6,"heads":16,"hidden":1152,"image":384,"kind":"siglip","layers":26,"newline":true,"patch":14,"projector":"mlp"},"vocab":152000})"},
    {"llava-onevision-qwen2-7b|llava-onevision-qwen2-7b-ov-hf",
     R"({"attention_bias":true,"ffn":18944,"heads":28,"hidden":3584,"kv_heads":4,"layers":28,"vision":{"ffn":4304,"grid":6,"heads":16,"hidden":1152,"image":384,"kind":"siglip","layers":26,"newline":true,"patch":14,"projector":"mlp"},"vocab":152128})"},
    // Their towers are held and never run: samples of text alone.
    {"gemma-4-e2b|gemma-4-e2b-it",
     R"({"activation":"gelu_pytorch_tanh","ffn":6144,"global":{"head_dim":512},"head_dim":256,"heads":8,"hidden":1536,"kv_heads":1,"layer_input":{"vocab":262144,"width":256},"layers":35,"logit_softcap":30,"max_positions":131072,"norm_power":true,"pattern":["attention","attention","attention","attention","global-attention","attention","attention","attention","attention","global-attention","attention","attention","attention","attention","global-attention","shared-attention+wide","shared-attention+wide","shared-attention+wide","shared-attention+wide","shared-global-attention+wide","shared-attention+wide","shared-attention+wide","shared-attention+wide","shared-attention+wide","shared-global-attention+wide","shared-attention+wide","shared-attention+wide","shared-attention+wide","shared-attention+wide","shared-global-attention+wide","shared-attention+wide","shared-attention+wide","shared-attention+wide","shared-attention+wide","shared-global-attention+wide"],"post_norms":true,"qk_norm":true,"sliding_window":512,"tied":true,"value_norm":true,"vision":{"held":475728160},"vocab":262144})"},
    {"gemma-4-e4b|gemma-4-e4b-it",
     R"({"activation":"gelu_pytorch_tanh","ffn":10240,"global":{"head_dim":512},"head_dim":256,"heads":8,"hidden":2560,"kv_heads":2,"layer_input":{"vocab":262144,"width":256},"layers":42,"logit_softcap":30,"max_positions":131072,"norm_power":true,"pattern":["attention","attention","attention","attention","attention","global-attention","attention","attention","attention","attention","attention","global-attention","attention","attention","attention","attention","attention","global-attention","attention","attention","attention","attention","attention","global-attention","shared-attention","shared-attention","shared-attention","shared-attention","shared-attention","shared-global-attention","shared-attention","shared-attention","shared-attention","shared-attention","shared-attention","shared-global-attention","shared-attention","shared-attention","shared-attention","shared-attention","shared-attention","shared-global-attention"],"post_norms":true,"qk_norm":true,"sliding_window":512,"tied":true,"value_norm":true,"vision":{"held":478087456},"vocab":262144})"},
    {"pixtral-12b",
     R"({"ffn":14336,"head_dim":128,"heads":32,"hidden":5120,"kv_heads":8,"layers":40,"vision":{"ffn":4096,"heads":16,"hidden":1024,"image":1024,"kind":"pixtral","layers":24,"patch":16,"projector":"mlp"},"vocab":131072})"},
    {"smolvlm",
     R"({"ffn":8192,"head_dim":64,"heads":32,"hidden":2048,"kv_heads":32,"layers":24,"vision":{"ffn":4304,"heads":16,"hidden":1152,"image":384,"kind":"idefics3","layers":27,"merge":3,"patch":14,"projector":"shuffled-linear"},"vocab":49155})"},
    {"smolvlm-256m",
     R"({"ffn":1536,"head_dim":64,"heads":9,"hidden":576,"kv_heads":3,"layers":30,"vision":{"ffn":3072,"heads":12,"hidden":768,"image":512,"kind":"idefics3","layers":12,"merge":4,"patch":16,"projector":"shuffled-linear"},"vocab":49280})"},
    {"smolvlm-500m|smolvlm2-500m-video",
     R"({"ffn":2560,"head_dim":64,"heads":15,"hidden":960,"kv_heads":5,"layers":32,"vision":{"ffn":3072,"heads":12,"hidden":768,"image":512,"kind":"idefics3","layers":12,"merge":4,"patch":16,"projector":"shuffled-linear"},"vocab":49280})"},
    {"smolvlm2-256m-video",
     R"({"ffn":1536,"head_dim":64,"heads":9,"hidden":576,"kv_heads":3,"layers":30,"vision":{"ffn":3072,"heads":12,"hidden":768,"image":512,"kind":"idefics3","layers":12,"merge":4,"patch":16,"projector":"shuffled-linear"},"vocab":49280})"},
    {"smolvlm2-2.2b",
     R"({"ffn":8192,"head_dim":64,"heads":32,"hidden":2048,"kv_heads":32,"layers":24,"vision":{"ffn":4304,"heads":16,"hidden":1152,"image":384,"kind":"idefics3","layers":27,"merge":3,"patch":14,"projector":"shuffled-linear"},"vocab":49280})"},
});
// clang-format on

}  // namespace headroom::io
