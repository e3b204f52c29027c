// Distributed under the Boost Software License, Version 1.0.
// What `architectures` says: the family, and which head stands on it.
#pragma once

#include <headroom/io/huggingface/config.hpp>
#include <headroom/model/shape.hpp>

namespace headroom::io::detail {

/// The class's name without its family: LlamaForCausalLM -> "ForCausalLM".
enum class task : std::uint8_t {
  unstated, base, language, conditional, masked_language, pretraining, next_sentence, sequence, token, question, choice, image,
};

struct architecture {
  std::string family;  ///< "Llama"; empty when `architectures` is absent
  task head{task::unstated};
};

struct task_name {
  const char* suffix;
  task head;
};
inline constexpr task_name task_names[] = {
    {"ForCausalLM", task::language},
    {"LMHeadModel", task::language},
    {"ForConditionalGeneration", task::conditional},
    {"ForMaskedLM", task::masked_language},
    {"ForPreTraining", task::pretraining},
    {"ForNextSentencePrediction", task::next_sentence},
    {"ForSequenceClassification", task::sequence},
    {"ForTokenClassification", task::token},
    {"ForQuestionAnswering", task::question},
    {"ForMultipleChoice", task::choice},
    {"ForImageClassification", task::image},
    {"MTModel", task::conditional},  // Marian's
    {"Model", task::base},
};

inline architecture architecture_of(const config& c) {
  const json* list = c.find({"architectures"});
  if (list == nullptr || list->is_null() || (list->is_array() && list->empty())) return {};
  if (!list->is_array() || !list->front().is_string())
    complain(c.at("architectures") + " must be a list of class names, found " + shown(*list));
  const auto& text = list->front().get_ref<const std::string&>();
  for (const auto& t : task_names) {
    const std::string_view suffix = t.suffix;
    if (text.size() > suffix.size() && std::string_view(text).substr(text.size() - suffix.size()) == suffix)
      return {text.substr(0, text.size() - suffix.size()), t.head};
  }
  if (text == "MiniCPMV") return {text, task::language};
  std::string accepted;
  for (const auto& t : task_names) accepted += std::string(accepted.empty() ? "" : ", ") + "..." + t.suffix;
  complain(c.at("architectures") + " names a class of an unknown kind, " + quoted_word(text) + "; accepted are " + accepted);
}

/// Outputs of a classifier: the length of id2label, else num_labels, else 2 (PretrainedConfig) or what its class has. Where both stand there,
/// some classes read the one and some the other.
inline std::int64_t labels_of(const config& c, std::int64_t usual = 2) {
  if (const json* labels = c.find({"id2label"}); labels != nullptr && labels->is_object() && !labels->empty()) {
    const auto named = static_cast<std::int64_t>(labels->size());
    if (c.has("num_labels") && c.count({"num_labels"}, named) != named)
      complain(c.at("num_labels") + " must be " + std::to_string(named) + ", the number of labels in id2label, or be absent; found " + shown(c.find({"num_labels"})));
    return named;
  }
  return c.count({"num_labels"}, usual);
}

/// The head of a decoder. GPT-like classifiers have a bias-free `score`; token classifiers and spans have a biased one.
inline void set_decoder_head(const config& c, shape& m, task head) {
  switch (head) {
    case task::unstated:
    case task::language:
    case task::conditional: return;
    case task::base: break;
    case task::sequence: m.classes = labels_of(c); break;
    case task::token: m.classes = labels_of(c); break;
    case task::question: m.classes = 2; break;
    default: complain(c.at("architectures") + " puts a head on this family that it does not have; accepted are ...ForCausalLM, ...Model, "
                      "...ForSequenceClassification, ...ForTokenClassification, ...ForQuestionAnswering");
  }
  m.head = head_kind::none;
  m.head_bias = head == task::token || head == task::question;
}

/// The function between the matrices of the MLP; null or absent: the family's.
inline activation_kind activation_of(const config& c, std::initializer_list<const char*> keys, const char* fallback) {
  struct known {
    const char* text;
    activation_kind kind;
  };
  static constexpr known names[] = {
      {"silu", activation_kind::silu},           {"swish", activation_kind::silu},
      {"gelu", activation_kind::gelu},           {"gelu_python", activation_kind::gelu_python},
      {"gelu_new", activation_kind::gelu_new},   {"gelu_fast", activation_kind::gelu_new},
      {"gelu_pytorch_tanh", activation_kind::gelu_pytorch_tanh}, {"quick_gelu", activation_kind::quick_gelu},
      {"relu", activation_kind::relu},           {"relu2", activation_kind::relu2},
      {"tanh", activation_kind::tanh},           {"xielu", activation_kind::xielu},
  };
  const std::string text = c.text(keys, fallback);
  for (const auto& n : names)
    if (text == n.text) return n.kind;
  complain(c.at(*keys.begin()) +
           " must be one of silu, swish, gelu, gelu_new, gelu_fast, gelu_python, gelu_pytorch_tanh, quick_gelu, relu, relu2, tanh, xielu, found " +
           quoted_word(text));
}

}  // namespace headroom::io::detail
