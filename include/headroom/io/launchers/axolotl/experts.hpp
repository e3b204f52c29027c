// Distributed under the Boost Software License, Version 1.0.
// Models with experts under axolotl: its transformers (5.14) keep a layer's experts in two parameters, which are no matrices. bitsandbytes leaves them,
// unless axolotl quantises them as they are loaded, and adapters do not find them (axolotl-ai-cloud/axolotl 067b021c, 2026-07: monkeypatch/moe_quant.py,
// loaders/model.py _prepare_model_for_quantization; peft utils/other.py prepare_model_for_kbit_training).
#pragma once

#include <headroom/io/launchers/axolotl/arguments.hpp>

namespace headroom::io::detail {

class axolotl_experts {
 public:
  explicit axolotl_experts(axolotl_arguments& a) : a_(&a) {}

  void read() {
    quantises_ = a_->v.on("quantize_moe_experts");
    for (const auto* key : {"model_config", "overrides_of_model_config"}) overrides(key);
  }

  void finish(const shape& m) const {
    auto& d = *a_->d;
    auto& v = a_->v;
    if (d.find({"adapter"}) != nullptr && (m.latent() || m.sparse() || convolves(m))) found(m);
    if (!m.sparse()) return;  // its loader looks for parameters of three dimensions; routers' logits are of routers
    if (!by_routers_.empty()) d.say({"loss", "balances_experts"}, true, v.place(by_routers_));
    const auto* added = d.find({"adapter"});
    const std::string whose = " of a model with experts is not modelled under axolotl by this version: its transformers (5.14) keep a layer's experts in parameters that are no matrices";
    if (added != nullptr && added->contains("base")) base();
    if (added != nullptr && !beside_experts(added->value("targets", json_value("all-linear"))) && !targets(m)) a_->refused(v.has("lora_target_linear") ? "lora_target_linear" : "lora_target_modules", "an adapter" + whose + ": name q_proj, k_proj, v_proj and o_proj in lora_target_modules alone");
    if (const auto remote = v.all().find("trust_remote_code"); remote != v.all().end() && *remote == true && !without_code()) a_->refused("trust_remote_code", "a model with experts by code of its checkpoint's own is not modelled by this version");
    if (!d.has({"environment", "transformers"})) d.say({"environment", "transformers"}, "5.14", a_->from->source);
  }

 private:
  /// Values of the model's config.json that are set anew (loaders/utils.py, load_model_config): where there are routers, their logits' loss.
  void overrides(const char* key) {
    const auto* said = a_->v.take(key);
    if (said == nullptr || said->empty()) return;
    if (!said->is_object()) wrong_value(key, "an object", *said);
    for (const auto& [name, value] : said->items())
      if (name != "output_router_logits") return a_->unmodelled(key);
    if (truth((*said)["output_router_logits"], std::string{key} + ".output_router_logits")) by_routers_ = key;
  }
  static bool convolves(const shape& m) {
    for (std::int64_t i = 0; i < m.pattern.period; ++i)
      if (m.pattern.at(i).mixer == mixer_kind::gated_convolution) return true;
    return false;
  }
  /// Of LFM 2 they are self_attn.q_proj, k_proj, v_proj and out_proj, feed_forward.w1, w2 and w3, conv.in_proj and out_proj (transformers models/lfm2/modeling_lfm2.py).
  void found_beside_convolutions() const {
    auto& d = *a_->d;
    auto list = json_value::array();
    const auto& targets = *d.find({"adapter", "targets"});
    for (const auto& t : targets)
      if (t == "q_proj" || t == "k_proj" || t == "v_proj")
        list.push_back(t);
      else if (t != "o_proj" && t != "gate_proj" && t != "up_proj" && t != "down_proj")
        a_->unmodelled("lora_target_modules");
    keep(list, targets.size());
  }
  void keep(const json_value& list, std::size_t named) const {
    const auto place = a_->v.place("lora_target_modules");
    if (list.empty()) a_->refused("lora_target_modules", "this model has no layer of these names, and nothing trains");
    if (list.size() < named) a_->d->notes.push_back(place + ": adapters are on " + list.dump() + " alone: this model has no layers of the other names");
    if (list != *a_->d->find({"adapter", "targets"})) a_->d->say({"adapter", "targets"}, list, place);
  }
  static bool beside_experts(const json_value& targets) {
    return targets.is_array() && std::all_of(targets.begin(), targets.end(), [](const json_value& t) {
      return t.is_string() && among_words("q_proj|k_proj|v_proj|o_proj|dense_gate|dense_up|dense_down|mixer_in|mixer_out|shared_gate|shared_up|shared_down", t.get_ref<const std::string&>());
    });
  }
  /// Of the listed names those that PEFT finds (tuners/tuners_utils.py, check_target_module_exists). Latent attention's matrices are q_a_proj, q_b_proj,
  /// kv_a_proj_with_mqa, kv_b_proj and o_proj, or q_proj where queries are not narrowed (transformers modeling_deepseek_v3.py); an expression for the
  /// whole path ends in mlp.gate_proj and its kind, which dense layers alone have, and a dense MLP beside experts; a list finds shared experts, as well.
  void found(const shape& m) const {
    auto& d = *a_->d;
    const auto* targets = d.find({"adapter", "targets"});
    if (targets == nullptr || !targets->is_array()) return;
    if (convolves(m)) return found_beside_convolutions();
    const bool dense = m.experts.first_dense_layers > 0 || m.experts.beside_mlp;
    const bool of_mlps = m.sparse() && std::any_of(targets->begin(), targets->end(), [](const json_value& t) { return t == "gate_proj" || t == "up_proj" || t == "down_proj"; });
    if (of_mlps && (m.experts.every > 1 || (m.pattern.given() && (a_->whole_path || dense)))) a_->unmodelled("lora_target_modules");
    if (of_mlps && m.experts.shared_gate && !a_->whole_path && std::find(targets->begin(), targets->end(), json_value("gate_proj")) != targets->end()) a_->unmodelled("lora_target_modules");  // shared_gate has the shared expert's own gate, too
    auto list = json_value::array();
    for (const auto& t : *targets) {
      const auto name = t.get<std::string>();
      if (m.latent() && (name == "k_proj" || name == "v_proj" || (name == "q_proj" && m.mla.q_rank > 0))) continue;
      const bool of_mlp = m.sparse() && among_words("gate_proj|up_proj|down_proj", name);
      const auto part = name.substr(0, name.find('_'));
      if (of_mlp && dense) list.push_back("dense_" + part);
      if (of_mlp && !a_->whole_path && m.experts.shared_ffn > 0) list.push_back("shared_" + part);
      if (!of_mlp) list.push_back(t);
    }
    keep(list, targets->size());
  }
  /// Checkpoints of these makers bring no code of their own with a mixture of experts: trust_remote_code changes nothing (their config.json has no auto_map).
  [[nodiscard]] bool without_code() const {
    const auto name = a_->v.word_now("base_model");
    return name.starts_with("mistralai/Mixtral") || name.starts_with("mistral-community/Mixtral") || name.starts_with("Qwen/");
  }
  void base() const {
    auto& d = *a_->d;
    const auto by = a_->v.has("load_in_4bit") ? "load_in_4bit" : "load_in_8bit";
    const auto all = json_value::array({"experts_gate", "experts_up", "experts_down"});
    if (quantises_) {
      auto also = all;  // beside a tower's linear layers, which bitsandbytes replaces, too
      if (const auto* said = d.find({"adapter", "base_also"}); said != nullptr)
        for (const auto& part : *said) also.push_back(part);
      d.job["adapter"].erase("base_also");
      d.say({"adapter", "base_also"}, also, a_->v.place("quantize_moe_experts"));
      if (*d.find({"adapter", "base"}) == "int8") d.say({"adapter", "rest_experts"}, in_32_bits(), a_->v.place("quantize_moe_experts"));
      return;
    }
    auto skips = all;
    skips.push_back("lm_head");
    d.say({"adapter", "base_skips"}, skips, a_->v.place(by));
    // prepare_model_for_kbit_training makes them fp32, which DeepSpeed undoes (runtime/engine.py _configure_distributed_model, module.bfloat16()). It is
    // passed over under FSDP for four bits, and where one process alone loads the weights.
    if (a_->fsdp && a_->v.on("load_in_8bit") && !loads_once()) a_->refused(by, "experts that FSDP shards in fp32 beside a base in eight bits are not modelled by this version: with cpu_ram_efficient_loading true under fsdp_config axolotl leaves them as they are loaded");
    if (a_->fsdp) return;
    if (a_->engine && a_->dtype != "bfloat16") a_->refused(by, "a quantised base beside experts that are not" + std::string{" is modelled under DeepSpeed in bf16 alone by this version"});
    const std::string left = a_->engine ? "bf16" : in_32_bits();
    d.say({"adapter", "rest_experts"}, left, a_->v.place(by));
    d.notes.push_back(a_->v.place(by) + ": routed experts are parameters and no matrices in transformers 5.14: they are not quantised, and lie there in " + (a_->engine ? "bf16" : "fp32") + " (quantize_moe_experts quantises them)");
  }
  [[nodiscard]] bool loads_once() const {
    const auto* config = a_->v.take("fsdp_config");
    for (const auto* key : {"cpu_ram_efficient_loading", "fsdp_cpu_ram_efficient_loading"})
      if (config != nullptr && config->is_object() && config->contains(key) && !(*config)[key].is_null() && truth((*config)[key], std::string{"fsdp_config."} + key)) return true;
    return false;
  }
  /// How numbers of fp32 are multiplied: in TF32, from Ampere on, unless the file says otherwise (utils/schemas/config.py: tf32 is "auto"; utils/config/__init__.py).
  [[nodiscard]] std::string in_32_bits() const {
    const auto said = a_->v.all().find("tf32");
    return said == a_->v.all().end() || *said == "auto" || (!said->is_null() && truth(*said, "tf32")) ? "tf32" : "fp32";
  }
  /// Every linear layer, where the router is none and there is no dense layer (transformers models/mixtral, qwen2_moe, qwen3_moe: their routers are
  /// classes with a parameter; gates of shared experts are linear layers).
  [[nodiscard]] bool targets(const shape& m) const {
    const auto name = a_->v.word_now("base_model");
    const bool known = name.find("Mixtral") != std::string::npos || name.starts_with("Qwen/Qwen1.5-MoE") || name.starts_with("Qwen/Qwen2-57B") || name.starts_with("Qwen/Qwen3-30B") || name.starts_with("Qwen/Qwen3-235B");
    if (!known || *a_->d->find({"adapter", "targets"}) != "all-linear") return false;
    auto list = json_value::array({"q_proj", "k_proj", "v_proj", "o_proj"});
    if (m.experts.shared_ffn > 0)
      for (const auto* shared : {"shared_gate", "shared_up", "shared_down"}) list.push_back(shared);
    a_->d->say({"adapter", "targets"}, list, a_->v.place("lora_target_linear"));
    return true;
  }

  axolotl_arguments* a_;
  bool quantises_{};
  std::string_view by_routers_;
};

}  // namespace headroom::io::detail
