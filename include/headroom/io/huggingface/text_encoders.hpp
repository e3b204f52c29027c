// Distributed under the Boost Software License, Version 1.0.
// Encoders of text that BERT's own reader does not cover: behind narrow embeddings, with rotary positions, with layers of newer language models.
// Sources: transformers 5.16 models/<family>/modeling_<family>.py and configuration_<family>.py.
#pragma once

#include <headroom/io/huggingface/dense.hpp>
#include <headroom/io/huggingface/encoders.hpp>

namespace headroom::io::detail {

/// Refuses a switch that is on and whose modules are not modelled.
inline void require_off(const config& c, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (c.flag(key, false)) complain(c.at(key) + " must be false: what it switches on is not known here; found true");
}

/// … a head of BERT's, where the bare model has no pooler.
inline void set_head_without_pooler(const config& c, shape& m, task head) {
  set_encoder_head(c, m, head, true);
  if (head == task::base || head == task::unstated) m.pooler = false;
}

/// ElectraEmbeddings are as narrow as embedding_size; embeddings_project widens them where that is not the hidden size.
inline shape read_electra(const config& c, task head) {
  if (head == task::choice && (says(c, "summary_proj_to_labels") || !c.flag("summary_use_proj", true)))
    complain(c.at("summary_use_proj") + " must be true and summary_proj_to_labels false or absent for ElectraForMultipleChoice: other summaries have other matrices");
  shape m = bert_block();
  read_sizes(c, {{"num_hidden_layers", 12}, {"hidden_size", 256}, {"num_attention_heads", 4}, {"intermediate_size", 1024}, {"vocab_size", 30522},
                 {"max_position_embeddings", 512}, true, "hidden_act", "gelu"}, m);
  m.token_types = c.size({"type_vocab_size"}, 2);
  const auto narrow = c.size({"embedding_size"}, 128);
  m.narrow_embedding = narrow != m.hidden;
  if (m.narrow_embedding) m.embedding_dim = narrow;
  if (head == task::pretraining) {  // ElectraDiscriminatorPredictions
    m.head = head_kind::none;
    m.scored_tokens = m.head_bias = true;
    m.classes = 1;
    return m;
  }
  set_head_without_pooler(c, m, head);
  return m;
}

/// AlbertModel: BERT's layers behind narrow embeddings; num_hidden_groups of them have weights, and the others run those again. Its older checkpoints
/// have keys that no code reads.
inline shape read_albert(const config& c, task head) {
  shape m = bert_block();
  read_sizes(c, {{"num_hidden_layers", 12}, {"hidden_size", 4096}, {"num_attention_heads", 64}, {"intermediate_size", 16384}, {"vocab_size", 30000},
                 {"max_position_embeddings", 512}, true, "hidden_act", "gelu_new"}, m);
  c.ignore({"down_scale_factor", "gap_size", "net_structure_type", "num_memory_blocks"});
  m.token_types = c.size({"type_vocab_size"}, 2);
  m.embedding_dim = c.size({"embedding_size"}, 128);
  m.narrow_embedding = true;
  m.distinct_layers = c.count({"num_hidden_groups"}, 1);
  if (m.layers % m.distinct_layers != 0) complain(c.at("num_hidden_groups") + " must divide num_hidden_layers, " + std::to_string(m.layers) + ", found " + std::to_string(m.distinct_layers));
  if (const auto kind = c.text({"position_embedding_type"}, "absolute"); kind != "absolute") complain(c.at("position_embedding_type") + " must be \"absolute\", found " + quoted_word(kind));
  if (head == task::next_sentence) complain(c.at("architectures") + " names a class that ALBERT does not have: the order of sentences is AlbertForPreTraining's");
  if (c.count({"inner_group_num"}, 1) != 1) complain(c.at("inner_group_num") + " must be 1: groups of several layers are not known here; found " + shown(c.find({"inner_group_num"})));
  set_encoder_head(c, m, head, true);
  if (m.distinct_layers == m.layers) m.distinct_layers = 0;
  if (head == task::pretraining) m.classes = labels_of(c);  // AlbertSOPHead
  return m;
}

/// NomicBertLayer: BERT's norms around a gated MLP and rotary attention, without biases. The code beside the checkpoints has GPT-2's names of the sizes.
inline shape read_nomic_bert(const config& c, task head) {
  shape m;
  m.norm = norm_kind::layernorm;
  m.norm_bias = m.bidirectional = m.norm_after = m.no_final_norm = m.embedding_norm = true;
  m.softmax = softmax_kind::compute;  // eager_attention_forward of modeling_nomic_bert.py
  read_sizes(c, {{"num_hidden_layers", 12, "n_layer"}, {"hidden_size", 768, "n_embd"}, {"num_attention_heads", 12, "n_head"}, {"intermediate_size", 3072, "n_inner"},
                 {"vocab_size", 30528}, {"max_position_embeddings", 2048, "n_positions"}, true, "hidden_act", "silu"}, m);
  m.head_dim = c.nullable({"head_dim"}, 0, 0);
  m.token_types = c.number({"type_vocab_size"}, 2, 0);
  if (const auto act = c.text({"activation_function"}, "swiglu"); act != "swiglu") complain(c.at("activation_function") + " must be \"swiglu\", found " + quoted_word(act));
  if (const auto part = c.percent({"rotary_emb_fraction"}, 100); part != 100) complain(c.at("rotary_emb_fraction") + " must be 1, found " + shown(c.find({"rotary_emb_fraction"})));
  require_off(c, {"prenorm", "parallel_block", "use_rms_norm", "qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias", "use_xentropy"});
  for (const char* key : {"moe_every_n_layers", "num_experts"})
    if (c.has(key) && c.number({key}, 0, 0, config::most) > 1) complain(c.at(key) + " describes experts, which this family does not have here; found " + shown(c.find({key})));
  set_head_without_pooler(c, m, head);
  return m;
}

/// EuroBertModel: Llama's layers, looking both ways.
inline shape read_eurobert(const config& c, task head) {
  shape m = read_dense(c, {"eurobert", 128256, 768, 3072, 12, 12, 0, 0, 8192, false, bias_rule::key_all});
  m.bidirectional = true;
  m.mlp_bias = c.flag("mlp_bias", false);
  if (head == task::masked_language) {
    m.head_bias = m.mlp_bias;
    return m;
  }
  m.head = head_kind::none;
  m.head_bias = head == task::token || head == task::sequence;
  if (m.head_bias) m.classes = labels_of(c);
  m.pooler = head == task::sequence;
  if (const auto pooling = c.text({"classifier_pooling"}, "late"); m.pooler && pooling != "bos" && pooling != "mean")
    complain(c.at("classifier_pooling") + " must be \"bos\" or \"mean\": a classifier over every token is not known here; found " + quoted_word(pooling));
  if (!m.head_bias && head != task::base && head != task::unstated)
    complain(c.at("architectures") + " puts a head on EuroBERT that is not known; accepted are EuroBertForMaskedLM, EuroBertForSequenceClassification, EuroBertForTokenClassification, EuroBertModel");
  return m;
}

/// Which layers see all tokens: every n-th from the first on, by global_attn_every_n_layers or by layer_types.
inline void read_modern_windows(const config& c, shape& m) {
  m.sliding_window = c.size({"local_attention"}, 128);
  m.global_every = c.count({"global_attn_every_n_layers"}, 3);
  const json* list = c.find({"layer_types"});
  if (list == nullptr || list->is_null()) return;
  if (!list->is_array() || static_cast<std::int64_t>(list->size()) != m.layers)
    complain(c.at("layer_types") + " must be a list of " + std::to_string(m.layers) + " words, one for each layer, found " + shown(*list));
  const auto full = [&](std::int64_t i) { return (*list)[static_cast<std::size_t>(i)] == "full_attention"; };
  m.global_every = 1;
  while (m.global_every < m.layers && !full(m.global_every)) ++m.global_every;
  for (std::int64_t i = 0; i < m.layers; ++i)
    if (const auto& word = (*list)[static_cast<std::size_t>(i)]; full(i) != (i % m.global_every == 0) || (!full(i) && word != "sliding_attention"))
      complain(c.at("layer_types") + " must be \"full_attention\" at every n-th layer from the first on and \"sliding_attention\" else, found " + shown(word) + " at layer " + std::to_string(i));
}

/// ModernBertModel: norms in front. The embedding's norm stands for the first layer's, which has none of its own: the same weights, and the same is
/// saved. Without padding the model's own kernels drop nothing; with it, every row counts here.
inline shape read_modernbert(const config& c, task head) {
  shape m;
  m.norm = norm_kind::layernorm;
  m.bidirectional = m.fused_qkv = m.fused_gate_up = m.transformed_classes = true;
  read_sizes(c, {{"num_hidden_layers", 22}, {"hidden_size", 768}, {"num_attention_heads", 12}, {"intermediate_size", 1152}, {"vocab_size", 50368},
                 {"max_position_embeddings", 8192}, true, "hidden_activation", "gelu"}, m);
  m.norm_bias = c.flag("norm_bias", false);
  m.attention_bias = m.output_bias = c.flag("attention_bias", false);
  m.mlp_bias = c.flag("mlp_bias", false);
  read_modern_windows(c, m);
  require_off(c, {"classifier_bias"});
  if (head == task::masked_language) {
    m.head = head_kind::masked_language;
    require_off(c, {"sparse_prediction"});
    if (!c.flag("decoder_bias", true)) complain(c.at("decoder_bias") + " must be true, found false");
    return m;
  }
  m.head = head_kind::none;
  if (head == task::base || head == task::unstated) return m;
  if (head != task::sequence && head != task::token && head != task::question && head != task::choice)
    complain(c.at("architectures") + " puts a head on ModernBERT that is not known; accepted are ModernBertForMaskedLM, ...ForSequenceClassification, ...ForTokenClassification, "
             "...ForQuestionAnswering, ...ForMultipleChoice, ModernBertModel");
  m.classes = head == task::choice ? 1 : labels_of(c);
  m.pooler = head == task::sequence || head == task::choice;
  m.head_bias = true;
  return m;
}

/// DebertaV2Model as its third version has it: distances in buckets, projected by the layers' own matrices, and no table of positions.
inline shape read_deberta_v2(const config& c, task head) {
  shape m = bert_block();
  read_sizes(c, {{"num_hidden_layers", 24}, {"hidden_size", 1536}, {"num_attention_heads", 24}, {"intermediate_size", 6144}, {"vocab_size", 128100},
                 {"max_position_embeddings", 512}, true, "hidden_act", "gelu"}, m);
  const auto only = [&](const char* key, bool fallback, bool wanted) {
    if (c.flag(key, fallback) != wanted) complain(c.at(key) + " must be " + (wanted ? "true" : "false") + ", as DeBERTa's third version has it");
  };
  only("relative_attention", false, true);
  only("share_att_key", false, true);
  only("position_biased_input", true, false);
  const json* kinds = c.find({"pos_att_type"});
  const auto text = kinds != nullptr ? kinds->dump() : std::string{};
  if (text.find("c2p") == std::string::npos || text.find("p2c") == std::string::npos)
    complain(c.at("pos_att_type") + " must have both c2p and p2c, as DeBERTa's third version has it, found " + (kinds != nullptr ? shown(*kinds) : "none"));
  if (c.text({"norm_rel_ebd"}, "none").find("layer_norm") == std::string::npos) complain(c.at("norm_rel_ebd") + " must be \"layer_norm\", as DeBERTa's third version has it");
  if (c.number({"conv_kernel_size"}, 0, 0, config::most) != 0) complain(c.at("conv_kernel_size") + " must be 0: a convolution beside the first layer is not known here; found " + shown(c.find({"conv_kernel_size"})));
  for (const char* key : {"embedding_size", "pooler_hidden_size"}) require_equal(c, key, "hidden_size", m.hidden);
  require_equal(c, "attention_head_size", "hidden_size / num_attention_heads", m.hidden / m.heads);
  const auto buckets = c.number({"position_buckets"}, 0, -config::widest);
  const auto reach = c.number({"max_relative_positions"}, 0, -config::widest);
  m.position = position_kind::disentangled;
  m.relative_buckets = checked::mul(2, buckets > 0 ? buckets : reach > 0 ? reach : m.max_positions);
  m.token_types = c.number({"type_vocab_size"}, 0, 0);
  set_head_without_pooler(c, m, head);
  return m;
}

/// MPNetModel: BERT whose scores have biases, of one table for all layers.
inline shape read_mpnet(const config& c, task head) {
  shape m = bert_block();
  read_sizes(c, {{"num_hidden_layers", 12}, {"hidden_size", 768}, {"num_attention_heads", 12}, {"intermediate_size", 3072}, {"vocab_size", 30527},
                 {"max_position_embeddings", 512}, true, "hidden_act", "gelu"}, m);
  m.relative_buckets = c.size({"relative_attention_num_buckets"}, 32);
  set_encoder_head(c, m, head, true);
  return m;
}

/// JinaEmbeddingsV3Model: BERT with rotary positions.
inline shape read_jina(const config& c, task head) {
  shape m = bert_block();
  read_sizes(c, {{"num_hidden_layers", 24}, {"hidden_size", 1024}, {"num_attention_heads", 16}, {"intermediate_size", 4096}, {"vocab_size", 250002},
                 {"max_position_embeddings", 8194}, true, "hidden_act", "gelu"}, m);
  m.position = position_kind::rope;
  m.softmax = softmax_kind::compute;  // eager_attention_forward of modeling_jina_embeddings_v3.py
  m.head_dim = c.nullable({"head_dim"}, 0, 0);
  m.token_types = c.number({"type_vocab_size"}, 1, 0);
  set_encoder_head(c, m, head, true);
  return m;
}

/// Encoder and decoder over computed positions, as BART spells their sizes. `table`: they are held as parameters, without gradient; else they are added
/// as learned ones are, and no table is there.
struct computed_positions {
  std::int64_t vocab, positions;
  const char* activation;
  bool table;
};
inline shape read_over_computed_positions(const config& c, task head, const computed_positions& of) {
  shape m = read_encoder_decoder(c, 12, 1024, 16, 4096, of.vocab, {"max_position_embeddings", of.positions});
  m.activation = activation_of(c, {"activation_function"}, of.activation);
  m.frozen_positions = m.encoder.frozen_positions = of.table;
  if (!of.table) m.max_positions = 0;
  if (!m.tied) complain(c.at("tie_word_embeddings") + " must be true for this class: releases of transformers differ in the tables that an untied model has; found false");
  if (head == task::base)
    m.head = head_kind::none;
  else if (head != task::conditional && head != task::unstated)
    complain(c.at("architectures") + " puts a head on this family that is not known; accepted are ...ForConditionalGeneration, MarianMTModel, ...Model");
  return m;
}
/// M2M100Encoder, M2M100Decoder (NLLB): norms in front and at the ends.
inline shape read_m2m_100(const config& c, task head) { return read_over_computed_positions(c, head, {128112, 1024, "relu", false}); }
/// PegasusEncoder, PegasusDecoder: the same over a table.
inline shape read_pegasus(const config& c, task head) { return read_over_computed_positions(c, head, {50265, 1024, "gelu", true}); }
/// MarianEncoder, MarianDecoder: norms behind the sub-blocks. One vocabulary for both sides.
inline shape read_marian(const config& c, task head) {
  shape m = read_over_computed_positions(c, head, {58101, 1024, "gelu", true});
  m.norm_after = m.no_final_norm = true;
  require_equal(c, "decoder_vocab_size", "vocab_size", m.vocab);
  if (!c.flag("share_encoder_decoder_embeddings", true)) complain(c.at("share_encoder_decoder_embeddings") + " must be true, found false");
  return m;
}

/// EsmForMaskedLM and its kin: norms in front, rotary or learned positions, gelu written out, softmax in the compute format (EsmLayer, EsmEncoder).
inline shape read_esm(const config& c, task head) {
  shape m = gpt_block();
  read_sizes(c, {{"num_hidden_layers", 12}, {"hidden_size", 768}, {"num_attention_heads", 12}, {"intermediate_size", 3072}, {"vocab_size", ask}, {"max_position_embeddings", 1026}, true, "hidden_act", "gelu"}, m);
  m.activation = activation_kind::gelu_python;  // which the class does not read
  m.bidirectional = m.contact_head = true;
  m.softmax = softmax_kind::compute;
  m.embedding_norm = c.flag("emb_layer_norm_before", false);
  const json* said = c.find({"position_embedding_type"});
  const auto kind = said != nullptr && said->is_null() ? std::string{"null"} : c.text({"position_embedding_type"}, "absolute");  // null: no positions
  if (kind != "absolute" && kind != "rotary") complain(c.at("position_embedding_type") + " must be \"absolute\" or \"rotary\", found " + quoted_word(kind));
  m.position = kind == "rotary" ? position_kind::rope : position_kind::learned;
  for (const char* key : {"is_folding_model", "is_decoder", "add_cross_attention"})
    if (says(c, key)) complain(c.at(key) + " must be false for esm, found " + shown(c.find({key})));
  if (head != task::unstated && head != task::base && head != task::masked_language)
    complain(c.at("architectures") + " puts a head on ESM that is counted alone; accepted are EsmForMaskedLM, EsmModel");
  set_encoder_head(c, m, head, head != task::masked_language);
  return m;
}

/// GTE's NewModel (Alibaba-NLP/new-impl modeling.py, NewLayer, NewGatedMLP, whose last matrix alone has a bias): BERT's norms, rotary positions. Its head
/// over words reads unpadded, masked tokens alone, and is not known here.
inline shape read_gte(const config& c, task head) {
  shape m = bert_block();
  read_sizes(c, {{"num_hidden_layers", ask}, {"hidden_size", ask}, {"num_attention_heads", ask}, {"intermediate_size", ask}, {"vocab_size", ask}, {"max_position_embeddings", 2048}, true, "hidden_act", "gelu"}, m);
  if (const auto kind = c.text({"position_embedding_type"}, "rope"); kind != "rope") complain(c.at("position_embedding_type") + " must be \"rope\", found " + quoted_word(kind));
  if (const auto kind = c.text({"layer_norm_type"}, "layer_norm"); kind != "layer_norm") complain(c.at("layer_norm_type") + " must be \"layer_norm\", found " + quoted_word(kind));
  require_off(c, {"logn_attention_scale"});
  c.ignore({"logn_attention_clip1", "unpad_inputs", "use_memory_efficient_attention"});  // how tokens lie, and which kernel runs
  m.position = position_kind::rope;
  m.softmax = softmax_kind::compute;
  m.max_positions = 0;
  m.mlp = mlp_kind::gated;
  m.mlp_bias = false;
  m.down_bias = m.fused_gate_up = true;
  m.fused_qkv = c.flag("pack_qkv", true);
  m.token_types = c.number({"type_vocab_size"}, config::required, 0);
  if (head != task::unstated && head != task::base && head != task::sequence && head != task::token)
    complain(c.at("architectures") + " puts a head on GTE that is not known; accepted are NewModel, NewForSequenceClassification, NewForTokenClassification");
  set_head_without_pooler(c, m, head);
  return m;
}

/// Returns false where the family is not one of them.
inline bool read_text_encoder(const config& c, std::string_view type, task head, shape& m) {
  struct family {
    std::string_view type;
    shape (*read)(const config&, task);
  };
  static constexpr family families[] = {
      {"electra", read_electra}, {"albert", read_albert}, {"nomic_bert", read_nomic_bert}, {"eurobert", read_eurobert}, {"modernbert", read_modernbert}, {"m2m_100", read_m2m_100}, {"deberta-v2", read_deberta_v2}, {"mpnet", read_mpnet},
      {"jina_embeddings_v3", read_jina}, {"pegasus", read_pegasus}, {"marian", read_marian}, {"esm", read_esm}, {"new", read_gte},
  };
  for (const auto& f : families)
    if (f.type == type) return m = f.read(c, head), true;
  return false;
}

}  // namespace headroom::io::detail
