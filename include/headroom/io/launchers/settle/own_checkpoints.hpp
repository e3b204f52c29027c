// Distributed under the Boost Software License, Version 1.0.
// Models whose own code, beside the checkpoint, may make no checkpoints of layers though it is asked for them.
#pragma once

#include <headroom/io/launchers/draft.hpp>

namespace headroom::io::detail {

/// ChatGLM3's modeling_chatglm.py has had three ways: _set_gradient_checkpointing, which sets the encoder's flag; since 2024 gradient_checkpointing_enable overridden by a check alone, so
/// that nothing sets it (zai-org/ChatGLM3 issue 1057); and neither, where transformers' own sets it. GLM-4-9B's class is that one; a public run of it that asked for checkpoints took what
/// layers take without (OpenRLHF/OpenRLHF issue 384). LLaMA-Factory and ms-swift put a method of their own in its place (model_utils/checkpointing.py
/// prepare_model_for_training; swift/trainers/utils.py dynamic_gradient_checkpointing).
inline void settle_own_checkpoints(draft& d) {
  const auto *m = d.find({"model"}), *r = d.find({"recompute"});
  if (d.reenters || m == nullptr || r == nullptr || !m->is_string() || !among_words("chatglm3-6b|glm-4-9b", m->get_ref<const std::string&>())) return;
  const auto place = d.place_of("recompute");
  if (!(*r == "full" || (r->is_object() && r->value("mode", "") == "full")) || place.starts_with("--set") || d.has_read(file_kind::job)) return;
  fail("headroom: " + place + ": the code that is stored beside " + m->get<std::string>() + " makes checkpoints in some of its revisions and none in others, whatever is asked for (gradient_checkpointing_enable in its modeling_chatglm.py): --set recompute=full or --set recompute=none says which");
}

}  // namespace headroom::io::detail
