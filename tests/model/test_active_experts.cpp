// Distributed under the Boost Software License, Version 1.0.
// Of models whose layers route in a way of their own: what a token goes through, and keys that a class reads past.
#include "counted_rows.hpp"

#include <doctest/doctest.h>

namespace test_active_experts {

using headroom::io::count_config;
using nlohmann::json;

// transformers modeling_nllb_moe.py NllbMoeTop2Router: two experts of each layer that has them, of which there may be one.
TEST_CASE("NLLB's tokens go through two experts, or the only one") {
  const auto left = [](int experts) {
    const auto n = count_config(json{{"model_type", "nllb-moe"}, {"architectures", {"NllbMoeModel"}}, {"vocab_size", 100}, {"d_model", 16}, {"encoder_layers", 4}, {"decoder_layers", 4}, {"encoder_attention_heads", 2},
                                     {"decoder_attention_heads", 2}, {"encoder_ffn_dim", 32}, {"decoder_ffn_dim", 32}, {"num_experts", experts}, {"encoder_sparse_step", 2}, {"decoder_sparse_step", 2}});
    return (n.total - n.active).count();
  };
  constexpr std::int64_t expert = 2 * 16 * 32 + 16 + 32;
  CHECK(left(1) == 0);
  CHECK(left(2) == 0);
  CHECK(left(3) == 4 * expert);  // two layers of the encoder, two of the decoder
  CHECK(left(8) == 4 * 6 * expert);
}

// transformers modeling_hrm_text.py HrmTextAttention: as many heads of keys and values as of queries, whatever num_key_value_heads says.
TEST_CASE("HrmText has as many heads of keys and values as of queries") {
  const json config{{"model_type", "hrm_text"}, {"architectures", {"HrmTextForCausalLM"}}, {"num_hidden_layers", 2}, {"hidden_size", 64}, {"num_attention_heads", 4}, {"head_dim", 16}, {"intermediate_size", 96}, {"vocab_size", 100}};
  auto fewer = config, same = config;
  fewer["num_key_value_heads"] = 2;
  same["num_key_value_heads"] = 4;
  CHECK(count_config(config).total == count_config(same).total);
  CHECK(count_config(config).total == count_config(fewer).total);
}

}  // namespace test_active_experts
