// Distributed under the Boost Software License, Version 1.0.
// A model that run_clm.py makes anew, of no checkpoint: its class's own configuration, and what config_overrides says over it.
// Source: huggingface/transformers examples/pytorch/language-modeling/run_clm.py (ModelArguments.__post_init__, main) of 2021-05 to 2026-08,
// src/transformers/configuration_utils.py update_from_string, models/gpt2/configuration_gpt2.py.
#pragma once

#include <headroom/io/launchers/called_model.hpp>
#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/stored_model.hpp>

namespace headroom::io::detail {

class scratch_model {
 public:
  scratch_model(draft& d, named_values& v) : d_(&d), v_(&v) {}

  /// What model_type and config_overrides make where no checkpoint is named, in fp32.
  void read(bool named) {
    const auto* type = v_->take("model_type");
    const auto* over = v_->take("config_overrides");
    if (over != nullptr && (named || type == nullptr))
      fail("headroom: " + v_->place("config_overrides") + ": run_clm.py takes config_overrides where it makes a model anew, by model_type alone, and ends beside " + (named ? "model_name_or_path" : "anything else") + ": take it out");
    if (type == nullptr || named) return;
    if (*type != "gpt2") d_->unmodelled_key("model_type", *type, v_->place("model_type"), "of models made anew GPT-2's alone is known here: add --model NAME");
    const auto rows = v_->word("tokenizer_name", "");
    if (rows.empty()) fail("headroom: " + v_->place("model_type") + ": without model_name_or_path run_clm.py asks for tokenizer_name: add it");
    if (rows != "gpt2" && !rows.ends_with("/gpt2")) fail("headroom: " + v_->place("tokenizer_name") + ": tokenizer_name " + in_quotes(rows) + " decides how many rows the table of embeddings has: give the model's config.json, too, or --model NAME");
    json_value config = {{"model_type", "gpt2"}, {"architectures", {"GPT2LMHeadModel"}}, {"n_embd", 768}, {"n_layer", 12}, {"n_head", 12}, {"n_positions", 1024}, {"vocab_size", 50257}, {"activation_function", "gelu_new"}, {"attn_pdrop", 0.1}, {"embd_pdrop", 0.1}, {"resid_pdrop", 0.1}};
    const auto place = v_->place(over == nullptr ? "model_type" : "config_overrides");
    if (over != nullptr) put(config, string_at(*over, "config_overrides"), place);
    made_ = place;
    if (d_->has({"model"})) return;
    say_configured(*d_, config, place);
    d_->replace("model", model_to_json(model_from_config(config)), place);
  }
  /// from_config makes weights in torch's own format, whatever the release: nobody is asked for it.
  void formats(std::size_t releases_before) {
    if (made_.empty() || v_->has("torch_dtype") || v_->has("dtype")) return;
    d_->releases.erase(d_->releases.begin() + static_cast<std::ptrdiff_t>(releases_before), d_->releases.end());
    d_->loaded = draft::said{"fp32", made_};
  }
  /// config.gradient_checkpointing was an attribute of configurations up to 4.10 (2021-09, huggingface/transformers #13657).
  void checkpoints() {
    if (checkpoints_.empty()) return;
    d_->replace("recompute", json_value{{"mode", "full"}, {"reentrant", true}}, checkpoints_);
    d_->say({"framework", "version"}, "2021-08", checkpoints_);
  }

 private:
  /// "n_embd=1024,n_layer=24": each must be one of the configuration's own.
  void put(json_value& config, std::string_view said, const std::string& place) {
    while (!said.empty()) {
      const auto comma = said.find(',');
      const auto one = said.substr(0, comma);
      said.remove_prefix(comma == said.npos ? said.size() : comma + 1);
      const auto equals = one.find('=');
      if (equals == one.npos) wrong_value("config_overrides", "NAME=VALUE,NAME=VALUE", std::string{one});
      const std::string key{one.substr(0, equals)}, value{one.substr(equals + 1)};
      const bool yes = among_words("true|True|1|y|yes|on", value);
      if (key == "use_cache") continue;  // nothing is generated
      if (key == "gradient_checkpointing") {
        if (yes) checkpoints_ = place;
        continue;
      }
      if (!among_words("n_embd|n_layer|n_head|n_positions|n_inner|vocab_size", key)) d_->unmodelled_key("config_overrides", key + "=" + value, place, "n_embd, n_layer, n_head, n_positions, n_inner and vocab_size are read");
      if (value.empty() || value.size() > 9 || value.find_first_not_of("0123456789") != value.npos) wrong_value("config_overrides." + key, "a whole number", value);
      config[key] = std::stoll(value);
    }
  }

  draft* d_;
  named_values* v_;
  std::string made_, checkpoints_;  ///< where it is said
};

}  // namespace headroom::io::detail
