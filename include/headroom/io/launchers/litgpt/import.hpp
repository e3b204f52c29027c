// Distributed under the Boost Software License, Version 1.0.
// litgpt: `litgpt finetune …` and `litgpt pretrain …`, and the YAML of its config_hub (Lightning-AI/litgpt 26857050 of 2026-06-29).
#pragma once

#include <headroom/io/launchers/called_model.hpp>
#include <headroom/io/launchers/judged_keys.hpp>
#include <headroom/io/launchers/litgpt/keys.hpp>
#include <headroom/io/launchers/torch_optimizer.hpp>

namespace headroom::io {

/// litgpt/__main__.py PARSER_DATA; finetune is finetune_lora.
enum class litgpt_command : std::uint8_t { lora, full, pretrain };

namespace detail {

class litgpt_config {
 public:
  litgpt_config(draft& d, const document& from, litgpt_command what) : d_(&d), k_(from), what_(what) {}

  void import() {
    d_->framework_is("litgpt", k_.source());
    model();
    devices();
    batch();
    const auto o = optimizer();
    formats(o.state);
    const bool lora = what_ == litgpt_command::lora;
    d_->replace("loss", {{"kind", "chunked"}, {"chunk_tokens", 128}, {"chunked_head", lora}}, k_.source());
    if (what_ == litgpt_command::pretrain) d_->unmodelled_key("pretrain", "torch.compile of the whole model", k_.source());
  }

 private:
  void model() {
    const auto* key = what_ == litgpt_command::pretrain ? "model_name" : "checkpoint_dir";
    if (const auto name = k_.word(key); !name.empty()) say_model(*d_, name.substr(0, name.find_last_not_of('/') + 1), k_.place(key));
  }
  /// Strategies of several GPUs: finetune/lora.py parallelize_fn (FSDP2 since 2025-08-13, 5ac69b06), finetune/full.py and pretrain.py FSDPStrategy.
  void devices() {
    const auto* v = k_.find("devices");
    const auto place = k_.place("devices");
    if (v == nullptr ? what_ == litgpt_command::pretrain : *v == "auto" || *v == -1 || *v == "-1")
      d_->takes_all_gpus = draft::said{v == nullptr ? "litgpt pretrain" : "devices auto", place};
    else
      d_->say({"hardware", "gpus_per_node"}, each_ = k_.number("devices", 1), place);
    d_->say({"hardware", "nodes"}, nodes_ = k_.number("num_nodes", 1), k_.place("num_nodes"));
    json_value keys{{"sharding", {{"kind", "fsdp1"}, {"stage", 3}, {"no_sync", true}}}};
    if (what_ == litgpt_command::lora) keys["sharding"] = {{"kind", "fsdp2"}, {"stage", 3}, {"reshard_after_forward", true}, {"no_sync", true}};
    if (what_ != litgpt_command::pretrain) keys["recompute"] = "full";
    d_->of_several = draft::said_keys{keys, place};
    if (what_ == litgpt_command::pretrain) d_->hybrid = place;
  }
  /// args.py: what does not divide is left out of a step.
  void batch() {
    const auto pretrain = what_ == litgpt_command::pretrain;
    const auto micro = k_.number("train.micro_batch_size", pretrain ? 4 : 1), all = k_.number("train.global_batch_size", pretrain ? 512 : 16);
    const auto place = k_.place("train.global_batch_size");
    d_->say({"batch", "micro"}, micro, k_.place("train.micro_batch_size"));
    if (each_ == 0) {
      d_->know(d_->global_batch, "global_batch_size", all, place);
    } else {
      const auto of_rank = all / checked::mul(each_, nodes_);
      if (of_rank / micro == 0)
        fail("headroom: " + place + ": train.global_batch_size " + std::to_string(all) + " over " + std::to_string(each_ * nodes_) + " GPUs is less than a micro-batch of " + std::to_string(micro) + ", which litgpt refuses");
      d_->say({"batch", "accumulation"}, of_rank / micro, place);
    }
    if (!pretrain) d_->keeps_lengths = k_.place("train.max_seq_length");  // litgpt/data/base.py, get_sft_collate_fn
    if (const auto longest = k_.number("train.max_seq_length", 0); longest > 0) {
      d_->say({"batch", "sequence"}, longest, k_.place("train.max_seq_length"));
      if (!pretrain) d_->notes.push_back(k_.place("train.max_seq_length") + ": the longest sample is taken to have " + std::to_string(longest) + " tokens, to which longer ones are cut");
    }
  }
  torch_optimizer optimizer() {
    const auto* o = k_.find("optimizer");
    const bool whole = o != nullptr && o->is_string();
    if (o != nullptr && !whole && !o->is_object()) wrong_value("optimizer", "a name, or a section of class_path and init_args", *o);
    const auto name = whole ? k_.word("optimizer") : k_.word("optimizer.class_path", "AdamW");
    const auto place = k_.place("optimizer");
    const auto said = [&](const std::string& key) {
      const auto* v = whole ? nullptr : k_.find("optimizer.init_args." + key);
      return v != nullptr || whole ? v : k_.find("optimizer." + key);
    };
    const auto* fused = said("fused");
    static const json_value yes = true;
    auto r = read_torch_optimizer(name, what_ == litgpt_command::pretrain ? &yes : fused, said("foreach"), whole ? "optimizer" : "optimizer.class_path");
    if (k_.find("quantize") != nullptr) {  // utils.py, instantiate_bnb_optimizer
      if (name.find("AdamW") == std::string::npos) fail("headroom: " + place + ": with quantize litgpt takes AdamW alone");
      r = read_torch_optimizer("PagedAdamW", nullptr, nullptr, "optimizer");
    }
    d_->replace("optimizer", r.job.size() == 1 ? r.job["name"] : r.job, place);
    return r;
  }
  void formats(const std::string& state) {
    const auto precision = k_.word("precision", "bf16-mixed"), quantised = k_.word("quantize");
    const auto place = k_.place("precision");
    const auto format = precision.starts_with("bf16") ? "bf16" : precision.starts_with("16") ? "fp16" : "fp32";
    const bool mixed = precision.ends_with("-mixed");
    if (precision != "bf16-mixed" && precision != "bf16-true" && precision != "16-mixed" && precision != "16-true" && precision != "32-true")
      wrong_value("precision", "\"bf16-true\", \"bf16-mixed\", \"16-true\", \"16-mixed\" or \"32-true\"", precision);
    if (mixed && !quantised.empty()) fail("headroom: " + k_.place("quantize") + ": litgpt refuses quantize beside mixed precision");
    if (mixed && !state.empty()) fail("headroom: " + place + ": precision " + in_quotes(precision) + " beside an optimizer with states of its own formats is not modelled by this version");
    d_->replace("precision", mixed ? json_value(std::string{format} + "-autocast") : one_format(format, state), place);
    if (what_ != litgpt_command::lora) {
      for (const auto* key : {"lora_r", "lora_dropout", "lora_query", "lora_key", "lora_value", "lora_projection", "lora_mlp", "lora_head"})
        if (k_.find(key) != nullptr) fail("headroom: " + k_.place(key) + ": " + key + " is an argument of litgpt finetune_lora alone, and this command trains the whole model");
      if (!quantised.empty()) fail("headroom: " + k_.place("quantize") + ": quantize is an argument of litgpt finetune_lora, and of adapters, which are not modelled by this version");
      return;
    }
    adapters(mixed ? "fp32" : format, quantised);
  }
  void adapters(const std::string& format, const std::string& quantised) {
    const auto place = k_.place("quantize");
    auto base = format;
    if (quantised == "bnb.nf4" || quantised == "bnb.nf4-dq" || quantised == "bnb.fp4" || quantised == "bnb.fp4-dq")
      base = quantised.substr(4, 3) + (quantised.ends_with("-dq") ? "-double" : "");
    else if (!quantised.empty())
      fail("headroom: " + place + ": quantize " + in_quotes(quantised) + " is not modelled by this version; accepted: bnb.nf4, bnb.nf4-dq, bnb.fp4, bnb.fp4-dq");
    if (!quantised.empty() && each_ * nodes_ > 1) fail("headroom: " + place + ": litgpt refuses quantize on more than one GPU");
    auto targets = json_value::array();
    const auto target = [&](const char* key, bool otherwise, std::initializer_list<const char*> modules) {
      if (!k_.on(key, otherwise)) return;
      for (const auto* m : modules) targets.push_back(m);
    };
    target("lora_query", true, {"q_proj"});
    target("lora_key", false, {"k_proj"});
    target("lora_value", true, {"v_proj"});
    target("lora_projection", false, {"o_proj"});
    target("lora_mlp", false, {"gate_proj", "up_proj", "down_proj"});
    target("lora_head", false, {"lm_head"});
    if (targets.empty()) fail("headroom: " + k_.place("lora_query") + ": no matrix has an adapter: one of lora_query, lora_key, lora_value, lora_projection, lora_mlp and lora_head must be true");
    json_value a{{"kind", "lora"}, {"rank", k_.number("lora_r", 8)}, {"targets", targets}, {"format", format}, {"dropout", k_.share("lora_dropout", 0.05)}, {"base", base}, {"fused_qkv", "litgpt"}};
    if (!quantised.empty()) a["base_skips"] = json_value::array();
    d_->replace("adapter", a, k_.place("lora_r"));
  }

  draft* d_;
  nested_values k_;
  litgpt_command what_;
  std::int64_t each_{}, nodes_{1};
};

/// Whether an object has litgpt's arguments.
inline bool is_litgpt(const json_value& root) {
  const auto* train = value_at(root, "train");
  const bool steps = train != nullptr && train->is_object() && (train->contains("micro_batch_size") || train->contains("global_batch_size") || train->contains("max_seq_length"));
  return (root.contains("checkpoint_dir") || root.contains("model_name")) && (steps || root.contains("lora_query"));
}

/// Which command a file of arguments is for.
inline litgpt_command litgpt_command_of(const json_value& root) {
  const auto any = [&](std::initializer_list<const char*> keys) { return std::any_of(keys.begin(), keys.end(), [&](const char* k) { return root.contains(k); }); };
  if (any({"model_name", "model_config", "initial_checkpoint_dir", "tokenizer_dir"})) return litgpt_command::pretrain;
  return any({"lora_r", "lora_query", "lora_alpha", "quantize"}) ? litgpt_command::lora : litgpt_command::full;
}

}  // namespace detail

/// Arguments of one of litgpt's commands.
inline void import_litgpt(draft& d, const document& from, litgpt_command what) {
  with_places(from, [&] {
    if (!from.root.is_object()) wrong_value("litgpt's arguments", "an object", from.root);
    auto judged = from;
    detail::judge_keys(d, from, judged.root, "", detail::key_lists{detail::litgpt_read, detail::litgpt_passed});
    detail::litgpt_config{d, judged, what}.import();
  });
}

}  // namespace headroom::io
