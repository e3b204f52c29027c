// Distributed under the Boost Software License, Version 1.0.
// ms-swift's GKD: who teaches, what is compared, and whether the student answers (modelscope/ms-swift 3602360a of 2026-08-22: swift/arguments/rlhf_args.py
// _check_teacher and _check_gkd, swift/rlhf_trainers/gkd_trainer.py, gkd_loss.py, rollout_mixin.py _setup_teacher).
#pragma once

#include <headroom/io/launchers/named_values.hpp>
#include <headroom/io/launchers/other_roles.hpp>
#include <headroom/io/launchers/swift/zero.hpp>

namespace headroom::io::detail {

class swift_distillation {
 public:
  swift_distillation(draft& d, named_values& v) : d_(&d), v_(&v) {}

  /// Before the model is named.
  void method() {
    const auto* weight = v_->take("beta");
    const double beta = weight == nullptr ? 0.5 : number_at(*weight, "beta", 0.0, 1.0);
    json_value objective = {{"kind", "distill"}, {"trainer", "ms-swift"}};
    if (beta == 0 || beta == 1) objective["divergence"] = beta == 0 ? "forward" : "reverse";
    if (const auto* most = v_->take("gkd_logits_topk"); most != nullptr && *most != "") objective["top_logits"] = count_at(*most, "gkd_logits_topk", 1, std::int64_t{1} << 30);
    if (const auto* part = v_->take("sft_alpha"); part != nullptr && reads_answers())  // of batches that the student answers there is none
      if (const auto alpha = number_at(*part, "sft_alpha", 0.0, 2000.0); alpha != 0) objective["sft_weight"] = alpha;
    if (const auto* moves = "offload_teacher_model"; v_->on(moves)) d_->unmodelled_key(moves, true, v_->place(moves));
    d_->replace("objective", objective, v_->place("rlhf_type"));
  }
  /// Whether completions of the student's are learned from: of a share of the batches, lmbda.
  bool generates() {
    const auto* share = v_->take("lmbda");
    return share == nullptr || number_at(*share, "lmbda", 0.0, 1.0) > 0;
  }
  /// … and whether the rest of the batches has the data set's own answers.
  bool reads_answers() {
    const auto* share = v_->take("lmbda");
    return share == nullptr || number_at(*share, "lmbda", 0.0, 1.0) < 1;
  }
  /// Until 2026-06 (46f03e977) the teacher may write the answers of batches that the student does not (swift/trainers/rlhf_trainer/gkd_trainer.py training_step).
  bool taught() { return v_->on("seq_kd"); }
  void who_writes() {
    if (!taught()) return;
    if (v_->on("use_vllm")) d_->unmodelled_key("seq_kd", true, v_->place("seq_kd"), "beside an engine, which writes for the student alone");
    d_->say({"rollout", "model"}, generates() ? "both" : "teacher", v_->place("seq_kd"));
    const std::string what = "seq_kd is of ms-swift before 2026-07, and the loss is the newest release's here";
    d_->notes.push_back(v_->place("seq_kd") + ": " + what);
    d_->assumed.push_back(what);
  }
  /// Once it is known what trains, and how it is sharded. With LoRA and the student's own name the teacher is the student with its adapters switched off.
  void teacher() {
    const auto *said = v_->take("teacher_model"), *server = v_->take("teacher_model_server"), *stage = v_->take("teacher_deepspeed");
    for (const auto* key : {"teacher_model_type", "teacher_model_revision"}) v_->take(key);
    if (const auto* beside = v_->take("teacher_adapters"); beside != nullptr && !beside->empty() && *beside != "") d_->unmodelled_key("teacher_adapters", *beside, v_->place("teacher_adapters"));
    const auto name = said == nullptr ? std::string{} : string_at(*said, "teacher_model");
    if (!name.empty() && server != nullptr && *server != "")  // swift/arguments/rlhf_args.py
      fail("headroom: " + v_->place("teacher_model_server") + ": ms-swift stops where teacher_model and teacher_model_server are both given: take one of them out");
    if (name.empty() && server != nullptr && *server != "") {
      if (!d_->has({"objective", "top_logits"})) fail("headroom: " + v_->place("teacher_model_server") + ": gkd_logits_topk is required beside teacher_model_server: how many logits of a token a server gives");
      return;
    }
    if (name.empty()) fail("headroom: " + v_->source() + ": teacher_model is required: a student that is its own teacher as it trains is not modelled by this version");
    if (name == d_->trained_name && d_->has({"adapter"})) return d_->say({"objective", "reference"}, "adapter-off", v_->place("teacher_model"));
    await(name, stage);
  }
  /// GRPO's, whose log-probabilities of what was written are the reward, or a part of it (grpo_trainer.py _compute_teacher_logps); a server's take nothing here.
  void of_completions() {
    const auto *said = v_->take("teacher_model"), *server = v_->take("teacher_model_server");
    if (said == nullptr || *said == "") return;
    const auto name = string_at(*said, "teacher_model");
    if (server != nullptr && *server != "") fail("headroom: " + v_->place("teacher_model_server") + ": ms-swift stops where teacher_model and teacher_model_server are both given: take one of them out");
    if (v_->on("offload_teacher_model")) d_->unmodelled_key("offload_teacher_model", true, v_->place("offload_teacher_model"));
    if (name == d_->trained_name && d_->has({"adapter"})) return d_->unmodelled_key("teacher_model", name, v_->place("teacher_model"), "the model itself with its adapters switched off, beside GRPO");
    for (const auto* key : {"teacher_model_type", "teacher_model_revision"}) v_->take(key);
    await(name, v_->take("teacher_deepspeed"));
  }

 private:
  void await(const std::string& name, const json_value* stage) {
    auto keys = json_value::object();
    if (const auto format = loaded_role_format(*d_); !format.is_null()) keys["parameters"] = format;
    if (stage != nullptr && *stage != "") placed(keys, string_at(*stage, "teacher_deepspeed"));
    await_role(*d_, "teacher", name, v_->place("teacher_model"), keys);
  }
  void placed(json_value& keys, const std::string& name) {
    const auto shipped = swift_zero(name, false);
    if (!shipped) return d_->unmodelled_key("teacher_deepspeed", name, v_->place("teacher_deepspeed"), "read are the names of configurations that ms-swift ships");
    if (!d_->framework_is("deepspeed")) return;
    const auto& zero = (*shipped)["zero_optimization"];
    keys["stage"] = zero["stage"] == 3 ? 3 : 0;
    if (zero["stage"] == 3 && zero["offload_param"]["device"] == "cpu") keys["parameters_at"] = "cpu";
  }

  draft* d_;
  named_values* v_;
};

}  // namespace headroom::io::detail
