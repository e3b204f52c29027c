// Distributed under the Boost Software License, Version 1.0.
// Which reader a model that sees has.
#pragma once

#include <headroom/io/huggingface/glm4v.hpp>
#include <headroom/io/huggingface/hearing.hpp>
#include <headroom/io/huggingface/onevision.hpp>
#include <headroom/io/huggingface/vision.hpp>

namespace headroom::io::detail {

/// Types whose towers are held and never run.
inline constexpr std::string_view walked_over_text[] = {"qwen2_5_omni", "qwen2_5_omni_thinker", "qwen3_omni_moe", "qwen3_omni_moe_thinker", "voxtral", "qwen2_audio", "kimi_k25"};

/// Models that see, but for those whose code comes beside the checkpoint. The bare class has no head; some have a classifier over the language model.
inline bool read_seeing(const config& c, std::string_view type, task head, shape& m) {
  const bool newest = type == "qwen3_5" || type == "qwen3_5_moe";
  if (type == "glm4v" || type == "glm4v_moe" || type == "glm46v" || type == "glm_ocr")
    m = read_glm4v(c, type);
  else if (type == "llava_onevision")
    m = read_onevision(c);
  else if (type == "llava" || type == "llava_next")
    m = read_llava(c, type == "llava_next");
  else if (type == "gemma3")
    m = read_gemma3(c);
  else if (type == "gemma4")
    m = read_gemma4(c);
  else if (type == "llama4")
    m = read_llama4(c);
  else if (newest || type == "qwen2_vl" || type == "qwen2_5_vl" || type == "qwen3_vl" || type == "qwen3_vl_moe")
    m = read_qwen_vl(c, type);
  else if (type == "paligemma")
    m = read_paligemma(c);
  else if (type == "mistral3" || type == "lighton_ocr")
    m = read_mistral3(c, type == "lighton_ocr");
  else if (type == "idefics3" || type == "smolvlm")
    m = read_idefics3(c);
  else if (type == "qwen2_5_omni_thinker" || type == "qwen3_omni_moe_thinker")
    m = type == "qwen2_5_omni_thinker" ? read_omni_thinker(c) : read_omni3_thinker(c);
  else if (type == "qwen2_5_omni" || type == "qwen3_omni_moe")
    m = read_omni(c, type == "qwen3_omni_moe");
  else if (type == "voxtral")
    m = read_voxtral(c);
  else if (type == "qwen2_audio")
    m = read_qwen2_audio(c);
  else if (type == "kimi_k25")
    m = read_kimi_k25(c);
  else
    return false;
  const bool classifies = (head == task::sequence && (newest || type == "gemma3")) || (head == task::token && newest);
  if (head == task::base || classifies)
    set_decoder_head(c, m, head);
  else if (head != task::conditional && head != task::unstated)
    complain(c.at("architectures") + " puts a head on this family that is not known; accepted are ...ForConditionalGeneration, ...Model");
  return true;
}

}  // namespace headroom::io::detail
