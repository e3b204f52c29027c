// Distributed under the Boost Software License, Version 1.0.
// What ms-swift trains a model for: the next token, by its own loss where tokens have weights, or classes (modelscope/ms-swift 3602360a of
// 2026-08-22: swift/arguments/base_args/model_args.py, swift/trainers/trainer_factory.py).
#pragma once

#include <headroom/io/launchers/largest_images.hpp>
#include <headroom/io/launchers/model_dropout.hpp>
#include <headroom/io/launchers/named_values.hpp>

namespace headroom::io::detail {

class swift_tasks {
 public:
  swift_tasks(draft& d, named_values& v) : d_(&d), v_(&v) {}

  /// Once the model is named.
  void read() {
    balance();
    const auto* said = v_->take("task_type");
    const auto kind = said == nullptr ? std::string{"causal_lm"} : string_at(*said, "task_type");
    if (kind == "seq_cls") return classes();
    if (kind == "causal_lm") return weights_of_tokens();
    if (among_words("reranker|generative_reranker|embedding", kind)) return texts(kind);
    fail("headroom: " + v_->place("task_type") + ": task_type " + in_quotes(kind) + " is not modelled by this version; accepted: causal_lm, seq_cls, embedding, reranker, generative_reranker");
  }

  /// Where it stops before it trains. Samples without padding between them need a kernel that tells them apart (swift/arguments/sft_args.py
  /// _check_padding_free), rows are packed of samples whose lengths are known (base_args.py _init_lazy_tokenize), and the FSDP2 that it ships keeps no whole
  /// model to save (_check_fsdp2_compatibility).
  void ends() {
    const auto said = [&](const char* key) { return v_->has(key) && !v_->all()[key].is_null() && truth(v_->all()[key], key); };
    if (said("packing") && said("lazy_tokenize")) fail("headroom: " + v_->place("lazy_tokenize") + ": ms-swift stops where packing and lazy_tokenize are both true: take one of them out");
    if (v_->word_now("fsdp") == "fsdp2" && said("save_only_model")) fail("headroom: " + v_->place("save_only_model") + ": ms-swift stops where save_only_model is true beside fsdp fsdp2, which saves parts: take save_only_model out");

    for (const auto* key : {"packing", "padding_free"})
      if (v_->on(key) && !v_->on("use_flash_attn") && !among_words("flash_attn|flash_attention_2|flash_attention_3|flash_attention_4", v_->word_now("attn_impl")))
        fail("headroom: " + v_->place(key) + ": ms-swift stops where " + key + " is true and attn_impl is not flash attention: say attn_impl flash_attn, or take " + key + " out");
  }

  /// Once it is known what is evaluated.
  void evaluate_documents() {
    if (!scores_by_encoder()) return;
    for (auto* e : {&d_->evaluates, &d_->evaluates_before})
      if (*e) (*e)->batch = checked::mul(documents_, (*e)->batch);
  }

  /// new_special_tokens: embeddings grow where the tokenizer has more words than they have rows, to a multiple of 128 (swift/model/register.py
  /// _add_new_special_tokens). How many the tokenizer has is not known here.
  void new_words() {
    const auto* said = v_->take("new_special_tokens");
    if (said == nullptr || said->empty() || *said == "") return;
    d_->awaits_rows = draft::said{"new_special_tokens: N rows of embeddings, those of the model's configuration where its tokenizer has no more words with the new ones, else its words rounded up to a multiple of 128", v_->place("new_special_tokens")};
  }

  /// sequence_parallel_size: GPUs that compute parts of the same rows (swift/trainers/mixin.py get_sp_dataloader). Heads that read hidden states have them in common before
  /// (_patch_tasks); else each takes the loss of its part, of logits as they are, so many rows at a time (swift/trainers/utils.py per_token_loss_func_sp). Without
  /// gradient_accumulation_steps ms-swift counts 16 samples over all processes (swift/trainers/arguments.py).
  void cut() {
    const auto ranks = v_->has("rlhf_type") ? 1 : v_->number("sequence_parallel_size", 1);
    if (ranks == 1) return;
    const auto place = v_->place("sequence_parallel_size");
    const bool words = v_->word_now("task_type").empty() || v_->word_now("task_type") == "causal_lm";
    if ((!v_->on("padding_free") && !(words && v_->on("packing"))) || (!words && v_->on("packing")) || !v_->has("gradient_accumulation_steps"))
      d_->unmodelled_key("sequence_parallel_size", ranks, place, "read of rows without padding (padding_free, of fine-tuning also packing), beside gradient_accumulation_steps");
    d_->say({"parallel"}, {{"context", ranks}, {"context_kind", "ulysses"}}, place);
    if (!words) return;
    d_->replace("objective", {{"kind", "sft"}, {"trainer", "ms-swift"}}, place);
    d_->say({"batch", "packed"}, true, place);
    if (d_->has({"loss", "kind"}) && d_->job["loss"]["kind"] == "fused-linear") d_->notes.push_back(place + ": Liger's loss has no effect: ms-swift takes the loss of each token itself");
    d_->replace("loss", d_->loss_rows && d_->loss_rows->value > 0 ? json_value{{"kind", "chunked"}, {"chunk_tokens", d_->loss_rows->value}} : json_value{{"kind", "full"}}, place);
  }

  /// Liger's loss runs in the model, which is given no labels where ms-swift takes the loss (swift/trainers/seq2seq_trainer.py, compute_loss).
  void without_liger_loss() {
    if (v_->has("rlhf_type") || !weighs_tokens() || !d_->has({"loss", "kind"}) || d_->job["loss"]["kind"] != "fused-linear") return;
    d_->job["loss"]["kind"] = "full";
    d_->notes.push_back(v_->source() + ": Liger's loss has no effect: ms-swift takes the loss of each token itself");
  }

  /// MAX_NEGATIVE_SAMPLES and its like, in front of a reranker's command: documents that a query is taken with.
  static void say_documents(draft& d, const shell_word& setting, const std::string& place) {
    const auto equals = setting.text.find('=');
    const auto name = setting.text.substr(0, equals), digits = setting.text.substr(equals + 1);
    if ((name != "MAX_NEGATIVE_SAMPLES" && name != "MAX_POSITIVE_SAMPLES") || d.find({"objective", "kind"}) == nullptr || d.job["objective"]["kind"] != "rerank") return;
    if (!setting.known() || digits.empty() || digits.size() > 4 || digits.find_first_not_of("0123456789") != digits.npos)
      fail("headroom: " + place + ": " + name + " must be a whole number, found " + in_quotes(setting.shown().substr(equals + 1)) + "; it says how many documents a query is taken with");
    if (name == "MAX_POSITIVE_SAMPLES" && digits != "1") return d.unmodelled_key(name, digits, place, "of several positives of a query each is taken with negatives of its own");
    if (name == "MAX_NEGATIVE_SAMPLES" && d.has({"objective", "texts"})) d.job["objective"]["texts"] = 1 + std::stoll(digits);
  }

  /// InternVL's images are cut into as many tiles as their size asks for (swift/template/vision_utils.py transform_image, _dynamic_preprocess).
  static void ask_for_tiles(draft& d, const shape& m, const std::string& place) {
    const auto kind = m.vision.kind;
    if (kind != vision_kind::intern_vit && kind != vision_kind::intern_vit_6b && kind != vision_kind::internvl && kind != vision_kind::internvl_6b) return;
    d.awaits_images = draft::said{"tiles of " + std::to_string(m.vision.image) + " × " + std::to_string(m.vision.image) + " pixels the images of a row are cut into: of each at most MAX_NUM, or 12, and the image as a whole", place};
  }

  /// The head of a classifier and of a reward model trains beside adapters, as a copy (peft/utils/other.py, ModulesToSaveWrapper; task type SEQ_CLS).
  static void save_head(const draft& d, json_value& adapter) {
    const auto* kind = d.find({"objective", "kind"});
    if (kind == nullptr || (*kind != "classification" && *kind != "reward" && *kind != "rerank") || d.has({"objective", "generative"})) return;  // a reranker's task is SEQ_CLS, too
    auto& saved = adapter["modules_to_save"];
    if (saved.is_null()) saved = json_value::array();
    saved.push_back("lm_head");
  }

 private:
  /// router_aux_loss_coef: the model is asked for its routers' logits (swift/trainers/seq2seq_trainer.py _prepare_inputs), of which families with routers
  /// of softmax make transformers' load_balancing_loss_func.
  void balance() {
    const auto* weight = v_->take("router_aux_loss_coef");
    if (weight == nullptr || number_at(*weight, "router_aux_loss_coef", 0.0, 1e6) == 0) return;
    const auto m = model_of(*d_);
    if (m.layers > 0 && !m.sparse()) return;
    auto name = v_->word_now("model");
    for (auto& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (name.find("llama-4") != name.npos) return without_balance(*weight);
    const bool known = name.find("qwen") != name.npos || name.find("gpt-oss") != name.npos || name.find("mixtral") != name.npos || name.find("olmoe") != name.npos;
    const auto task = v_->word_now("task_type");
    if (!known || v_->has("rlhf_type") || !(task.empty() || task == "causal_lm")) return d_->unmodelled_key("router_aux_loss_coef", *weight, v_->place("router_aux_loss_coef"), known ? "beside this method" : "read for Qwen's mixtures, gpt-oss, Mixtral and OLMoE");
    d_->say({"loss", "balances_experts"}, true, v_->place("router_aux_loss_coef"));
  }
  /// Llama 4's class keeps routers' logits where it is asked for them, and makes no loss of them (transformers modeling_llama4.py _can_record_outputs).
  void without_balance(const json_value& weight) {
    const std::string what = "routers' logits, which Llama 4 keeps until the loss where router_aux_loss_coef asks for them, are not counted: a number a token and expert in each layer";
    d_->notes.push_back(v_->place("router_aux_loss_coef") + ": router_aux_loss_coef " + weight.dump() + " has no effect on the loss of Llama 4; " + what);
    d_->assumed.push_back(what);
  }
  /// AutoModelForSequenceClassification, or the language model with a matrix of classes in its head's place: no bias either way
  /// (swift/model/register.py, swift/model/patcher.py _patch_sequence_classification).
  void classes() {
    const auto place = v_->place("task_type");
    if (v_->has("rlhf_type")) fail("headroom: " + place + ": task_type seq_cls beside rlhf_type is not modelled by this version: rlhf_type rm has it by itself");
    const auto* said = v_->take("num_labels");
    if (said == nullptr) fail("headroom: " + place + ": num_labels is required: how many classes task_type seq_cls has");
    const auto count = count_at(*said, "num_labels", 1, 1 << 20);
    if (const auto* v = v_->take("loss_type"); v != nullptr && *v != "") d_->unmodelled_key("loss_type", *v, v_->place("loss_type"), "beside task_type seq_cls");
    joined();
    auto m = model_of(*d_);
    if (m.head == head_kind::none && m.classes > 0) {  // its configuration has the class
      if (m.classes != count) fail("headroom: " + v_->place("num_labels") + ": num_labels " + std::to_string(count) + " contradicts the model's configuration, which has " + std::to_string(m.classes) + " classes");
      return;
    }
    if (m.pooler && m.label.view().starts_with("bert-")) return classes_of_bert(m, count);
    if (m.bidirectional || m.encoder.layers > 0) fail("headroom: " + place + ": of classifiers over encoders their own configuration says the head: give a config.json whose architectures end in ForSequenceClassification");
    if (m.layers > 0) {
      m.classes = count;
      d_->job["model"] = model_to_json(m);
    }
    d_->replace("objective", {{"kind", "classification"}, {"trainer", "ms-swift"}}, place);
  }
  /// BertForSequenceClassification, which AutoModelForSequenceClassification makes of a BERT whose name is known: a pooler, and a matrix with a bias behind it.
  void classes_of_bert(shape m, std::int64_t count) {
    m.classes = count;
    m.head_bias = true;
    d_->job["model"] = model_to_json(m);
    d_->model_drops = dropout_of({{"hidden_dropout_prob", 0.1}, {"attention_probs_dropout_prob", 0.1}});
  }
  /// Embeddings read the last position of each text: an anchor, a positive, and as many negatives as the data have. Rerankers score documents with their
  /// query before them, one positive and at most 7 negatives of a query (swift/template/base.py _embedding_data_collator, _reranker_data_collator).
  void texts(const std::string& kind) {
    const auto place = v_->place("task_type");
    if (v_->has("rlhf_type")) fail("headroom: " + place + ": task_type " + kind + " beside rlhf_type is not modelled by this version");
    const bool embeds = kind == "embedding", speaks = kind == "generative_reranker";
    if (const auto* loss = v_->take("loss_type"); loss != nullptr && *loss != "" && !(loss->is_string() && among_words(embeds ? "infonce|cosine_similarity|contrastive|online_contrastive" : "pointwise_reranker|listwise_reranker", loss->get<std::string>())))
      d_->unmodelled_key("loss_type", *loss, v_->place("loss_type"), "beside task_type " + kind);
    if (const auto* count = v_->take("num_labels"); count != nullptr && *count != 1 && !embeds && !speaks) d_->unmodelled_key("num_labels", *count, v_->place("num_labels"), "beside task_type " + kind);
    if (scores_by_encoder()) return score_by_encoder(place);
    if (const auto m = model_of(*d_); m.bidirectional || m.encoder.layers > 0 || m.head == head_kind::none)
      fail("headroom: " + place + ": embeddings and rerankers over encoders are not modelled by this version, those over language models are");
    json_value objective = {{"kind", embeds ? "embedding" : "rerank"}, {"trainer", "ms-swift"}};
    if (speaks) objective["generative"] = true;
    const auto* said = d_->find({"objective", "texts"});
    const bool packs = joined();
    if (said != nullptr) {
      objective["texts"] = *said;
    } else if (packs) {  // a row is as long whatever lies in it
      objective["texts"] = 1;
    } else if (!embeds) {
      objective["texts"] = 8;
      const std::string what = "a query has as many documents as MAX_NEGATIVE_SAMPLES lets it have, and a positive";
      d_->notes.push_back(place + ": " + what + " (--set objective.texts=N)");
      d_->assumed.push_back(what);
    } else {
      d_->awaits_texts = draft::said{"texts an example has, its anchor, positive and negatives together", place};
    }
    d_->replace("objective", objective, place);
  }
  /// A reranker that is an encoder of one class by its configuration, as AutoModelForSequenceClassification loads it (swift/model/register.py get_model):
  /// documents of a query are texts of a micro-batch, and a loss over scores has no tensor that counts.
  [[nodiscard]] bool scores_by_encoder() const {
    const auto m = model_of(*d_);
    return v_->word_now("task_type") == "reranker" && m.bidirectional && m.classes == 1;
  }
  void score_by_encoder(const std::string& place) {
    for (const auto* key : {"packing", "padding_free"})
      if (v_->on(key)) d_->unmodelled_key(key, true, v_->place(key), "beside an encoder");
    auto& micro = d_->job["batch"]["micro"];
    micro = checked::mul(documents_, micro.get<std::int64_t>());
    const std::string what = "a query has as many documents as MAX_NEGATIVE_SAMPLES lets it have, and a positive: batch.micro counts " + std::to_string(documents_) + " texts of each example";
    d_->notes.push_back(place + ": " + what);
    d_->assumed.push_back(what);
  }
  /// Texts one behind the other, in rows of their own lengths' sum or of one length. True: rows are packed.
  bool joined() {
    const bool packs = v_->on("packing"), free = v_->on("padding_free");
    if (packs || free) d_->say({"batch", "packed"}, true, v_->place(packs ? "packing" : "padding_free"));
    return packs;
  }
  /// With weights that are not 0 or 1, DFT's and losses by channel, ms-swift takes the cross entropy of each token itself, of logits made fp32 as
  /// the model's own loss makes them (swift/trainers/utils.py per_token_loss_func, swift/loss/causal_lm.py).
  void weights_of_tokens() {
    if (v_->has("rlhf_type")) return;
    if (const auto* scale = v_->take("loss_scale")) {
      auto words = string_at(*scale, "loss_scale");
      for (auto& c : words)
        if (c == '+') c = ' ';
      for_each_word(words, [&](std::string_view w) {
        if (!among_words("default|last_round|all|base|ignore_empty_think|ignore_think_prefix|react|hermes|qwen|agentflan|alpha_umi", w)) d_->unmodelled_key("loss_scale", *scale, v_->place("loss_scale"), "a weight of one's own");
      });
    }
    for (const auto* key : {"enable_dft_loss", "enable_channel_loss"}) v_->on(key);
    for (const auto* key : {"loss_type", "loss_name"})
      if (const auto* kind = v_->take(key); kind != nullptr && *kind != "" && *kind != "cross_entropy") other_loss(key, *kind);
  }
  /// trainers/mixin.py looks it up (loss/mapping.py loss_map), where a plugin may have put it.
  void other_loss(const char* key, const json_value& kind) {
    const auto word = kind.is_string() ? kind.get<std::string>() : kind.dump();
    const bool brought = v_->has("external_plugins") || v_->has("custom_register_path");
    if (!brought && !among_words("cosine_similarity|contrastive|online_contrastive|infonce|pointwise_reranker|listwise_reranker", word))
      fail("headroom: " + v_->place(key) + ": ms-swift has no loss " + in_quotes(word) + " (swift/loss/mapping.py), and ends there: take " + key + " out, or give the file of external_plugins that brings it");
    d_->unmodelled_key(key, kind, v_->place(key), brought ? "a loss of one's own" : std::string_view{});
  }
  /// Whether that is so.
  [[nodiscard]] bool weighs_tokens() const {
    const auto said = [&](const char* key) { return v_->has(key) && v_->word_now(key) != ""; };
    const auto on = [&](const char* key) { return v_->has(key) && !v_->all()[key].is_null() && truth(v_->all()[key], key); };
    auto words = v_->word_now("loss_scale");
    bool weighs = said("loss_type") || said("loss_name") || on("enable_dft_loss") || on("enable_channel_loss");
    for (auto& c : words)
      if (c == '+') c = ' ';
    for_each_word(words, [&](std::string_view w) { weighs = weighs || among_words("react|hermes|qwen|agentflan|alpha_umi", w); });
    return weighs;
  }

  static constexpr std::int64_t documents_ = 8;
  draft* d_;
  named_values* v_;
};

}  // namespace headroom::io::detail
