// Distributed under the Boost Software License, Version 1.0.
// Megatron-LM's command-line arguments, without the leading dashes (megatron/training/arguments.py): those that change what is
// allocated without being a neutral key of the job, and those that a job may repeat.
#pragma once

#include <headroom/io/options/bridge_releases.hpp>
#include <headroom/io/options/megatron_arguments.hpp>
#include <headroom/io/options/megatron_fsdp.hpp>
#include <headroom/io/options/megatron_harmless.hpp>
#include <headroom/io/options/megatron_modules.hpp>
#include <headroom/io/options/megatron_vision.hpp>
#include <headroom/io/syntax/spelling.hpp>

#include <cmath>

namespace headroom::io {

namespace detail {

inline bool takes(key_reader& k, const char* key) {
  const auto* v = k.take(key);
  return v != nullptr && flag_at(*v, k.at(key));
}
inline std::string word_of(key_reader& k, const char* key) {
  const auto* v = k.take(key);
  return v != nullptr ? string_at(*v, k.at(key)) : std::string{};
}
/// … of those that Megatron's parser takes (TransformerConfig's and ModelParallelConfig's Literal).
inline std::string one_word_of(key_reader& k, const char* key, std::initializer_list<std::string_view> accepted) {
  auto said = word_of(k, key);
  if (said.empty() || std::find(accepted.begin(), accepted.end(), said) != accepted.end()) return said;
  std::string all;
  for (const auto name : accepted)
    if (name != "none") all += (all.empty() ? "" : ", ") + std::string{name};
  fail("headroom: framework.options." + std::string{key} + " " + in_quotes(said) + " is unknown; accepted: " + all);
}

/// The formats of the optimizer and of the gradient buffer: use-precision-aware-optimizer, main-grads-dtype, main-params-dtype,
/// exp-avg-dtype, exp-avg-sq-dtype, grad-reduce-in-bf16.
inline void apply_megatron_formats(job& j, key_reader& k, const option_merger& merge) {
  const auto apply = [&](const std::string& path, number_format precision::*member, std::string_view key, const number_format& format) {
    if (!j.precision.set()) j.precision = j.framework.precision;
    const auto before = j.precision.*member;
    merge.set(j.precision.*member, format, "precision", key, path);
    if (j.precision.*member != before) j.precision.label = {};  // it is no longer the recipe of that name
  };
  const auto format_of = [&](const char* key) -> const number_format* {
    const auto* v = k.take(key);
    if (v == nullptr) return nullptr;
    const auto& word = string_at(*v, k.at(key), "\"fp32\", \"bf16\", \"fp16\" or \"fp8\"");
    for (const auto* f : {&formats::fp32, &formats::bf16, &formats::fp16, &formats::fp8})
      if (word == f->label.view()) return f;
    wrong_value(k.at(key), "\"fp32\", \"bf16\", \"fp16\" or \"fp8\"", *v);
  };
  if (const auto* v = k.take("use-precision-aware-optimizer"); v != nullptr) j.framework.optimizer.precision_aware = flag_at(*v, k.at("use-precision-aware-optimizer"));
  if (const auto* v = k.take("grad-reduce-in-bf16"); v != nullptr && flag_at(*v, k.at("grad-reduce-in-bf16"))) {  // they are reduced in the buffer that they are added up in
    apply(k.at("grad-reduce-in-bf16"), &precision::gradients, "gradients", formats::bf16);
    apply(k.at("grad-reduce-in-bf16"), &precision::reduce, "reduce", formats::bf16);
  }
  if (const auto* f = format_of("main-grads-dtype")) apply(k.at("main-grads-dtype"), &precision::gradients, "gradients", *f);
  if (const auto* f = format_of("main-params-dtype")) apply(k.at("main-params-dtype"), &precision::master, "master", *f);
  if (const auto* v = k.take("fp8-format"); v != nullptr) {
    const auto& word = string_at(*v, k.at("fp8-format"), "\"hybrid\" or \"e4m3\"");
    if (word != "hybrid" && word != "e4m3") wrong_value(k.at("fp8-format"), "\"hybrid\" or \"e4m3\"", *v);
    apply(k.at("fp8-format"), &precision::compute, "compute", formats::fp8);
  }
  if (const auto* v = k.take("fp4-format"); v != nullptr) {
    if (string_at(*v, k.at("fp4-format"), "\"e2m1\"") != "e2m1") wrong_value(k.at("fp4-format"), "\"e2m1\"", *v);
    apply(k.at("fp4-format"), &precision::compute, "compute", formats::nvfp4);
  }
  if (const auto* v = k.take("fp4-recipe"); v != nullptr && string_at(*v, k.at("fp4-recipe"), "\"nvfp4\"") != "nvfp4")
    fail("headroom: " + k.at("fp4-recipe") + " " + in_quotes(v->get<std::string>()) + " is not modelled by this version; accepted: nvfp4");
  if (const auto* v = k.take("fp8-recipe"); v != nullptr) {
    const auto& word = string_at(*v, k.at("fp8-recipe"), "\"tensorwise\", \"delayed\", \"blockwise\" or \"mxfp8\"");
    const bool whole = word == "tensorwise" || word == "delayed";
    if (!whole && word != "blockwise" && word != "mxfp8") wrong_value(k.at("fp8-recipe"), "\"tensorwise\", \"delayed\", \"blockwise\" or \"mxfp8\"", *v);
    j.framework.fp8.scaling = whole ? fp8_scaling::tensor : fp8_scaling::block;
    j.framework.fp8.names_recipe = word != "delayed";
  }
  if (const auto* v = k.take("fp8-param-gather"); v != nullptr && flag_at(*v, k.at("fp8-param-gather")))
    apply(k.at("fp8-param-gather"), &precision::parameters, "parameters", formats::fp8);
  const auto *first = format_of("exp-avg-dtype"), *second = format_of("exp-avg-sq-dtype");
  const auto& one = first != nullptr ? *first : formats::fp32;
  const auto& other = second != nullptr ? *second : formats::fp32;
  if (one != other) fail("headroom: " + k.at("exp-avg-dtype") + " and exp-avg-sq-dtype must be alike in this version; found " + std::string{one.label.view()} + " and " + std::string{other.label.view()});
  if (first != nullptr) apply(k.at("exp-avg-dtype"), &precision::state, "state", one);
}

/// Experts: their GEMM, how tokens reach them, what room they have.
inline void apply_megatron_experts(job& j, key_reader& k) {
  auto& f = j.framework;
  if (const auto* v = k.take("moe-expert-capacity-factor")) {
    const auto percent = std::llround(number_at(*v, k.at("moe-expert-capacity-factor"), 0.0, 1e6) * 100);
    auto& own = j.model.experts.capacity_factor_percent;
    if (own != 0 && own != percent) fail("headroom: " + k.at("moe-expert-capacity-factor") + " contradicts model.experts.capacity_factor; state one of them, or both alike");
    own = percent;
  }
  if (takes(k, "moe-grouped-gemm")) f.experts.gemm = expert_gemm::grouped_gemm;
  const bool deep = takes(k, "moe-enable-deepep");
  const auto dispatcher = one_word_of(k, "moe-token-dispatcher-type", {"allgather", "alltoall", "flex"}), backend = one_word_of(k, "moe-flex-dispatcher-backend", {"deepep", "hybridep", "ncclep"});
  // The arguments are a command line, whose default is allgather, or change a recipe, which keeps its own (Megatron-Bridge's models
  // are all made with alltoall: models/*/*_provider.py moe_token_dispatcher_type).
  f.experts.dispatcher = dispatcher == "flex" || deep || !backend.empty() ? token_dispatcher::flex
                         : dispatcher == "alltoall"                       ? token_dispatcher::all_to_all
                         : dispatcher.empty() && f.recipes_change         ? f.experts.dispatcher
                                                                          : token_dispatcher::all_gather;
  const auto type = one_word_of(k, "moe-router-dtype", {"fp32", "fp64", "none"});  // none: ms-swift's
  if (type == "fp32" || type == "fp64") f.experts.routes_in_fp32 = true;
}

/// What context-parallel ranks exchange, and how stages interleave.
inline void apply_megatron_exchanges(job& j, key_reader& k, const option_merger& merge) {
  auto& f = j.framework;
  if (const auto kind = word_of(k, "cp-comm-type"); !kind.empty()) {
    if (kind != "a2a" && kind != "p2p" && kind != "all_gather" && kind != "a2a+p2p")
      fail("headroom: framework.options.cp-comm-type " + in_quotes(kind) + " is unknown; accepted: p2p, a2a, all_gather, a2a+p2p");
    f.communication.exchanges_heads = kind == "a2a+p2p";
    merge.set(j.parallel.context_kind, kind == "a2a" ? context_kind::ulysses : kind == "all_gather" ? context_kind::all_gather : context_kind::ring,
              "parallel", "context_kind", k.at("cp-comm-type"));
  }
  if (const auto* v = k.take("microbatch-group-size-per-virtual-pipeline-stage"); v != nullptr)
    f.pipeline.microbatch_group = static_cast<std::int32_t>(count_at(*v, k.at("microbatch-group-size-per-virtual-pipeline-stage"), 1, 4096));
  const bool defers = takes(k, "defer-embedding-wgrad-compute");
  if (const auto* v = k.take("wgrad-deferral-limit"); v != nullptr && defers)
    f.pipeline.deferral_limit = static_cast<std::int32_t>(count_at(*v, k.at("wgrad-deferral-limit"), 0, 1024));
}

/// DeepSpeed's engine without its pipeline. ZeRO's first stage makes a bucket in each backward, which stays until gradients are reduced (deepspeed
/// runtime/zero/stage_1_and_2.py backward): of this engine it is not modelled; BF16_Optimizer, which divides states too, has none.
inline void check_without_pipeline(const job& j) {
  constexpr const char* key = "headroom: framework.options.no-pipeline-parallel";
  const auto& sums = (j.precision.set() ? j.precision : j.framework.precision).gradients;
  if (!j.framework.modules.deepspeed()) fail(std::string{key} + " is Megatron-DeepSpeed's");
  if (j.parallel.pipeline > 1) fail(std::string{key} + " goes with one stage (parallel.pipeline 1)");
  if (j.sharding.cuts(sharded_state::optimizer) && sums.width() < 4) fail(std::string{key} + " is modelled with ZeRO's stage 0, and with bf16 weights whose gradients are added up in fp32");
}

}  // namespace detail

/// Throws job_error for arguments that Megatron does not have, and for those that this version does not model.
inline void apply_megatron_options(job& j, const json_value& options, const option_merger& merge) {
  auto& f = j.framework;
  key_reader k{options, "framework.options"};
  const auto on = [&](const char* key) { return detail::takes(k, key); };
  const auto word = [&](const char* key) { return detail::word_of(k, key); };
  const bool grads_overlap = on("overlap-grad-reduce");
  for (const auto& s : detail::megatron_switches)
    if (on(s.option)) s.of(f) = s.sets;
  if (f.pipeline.none) detail::check_without_pipeline(j);
  if (const auto impl = word("transformer-impl"); !impl.empty() && !f.modules.deepspeed()) f.modules.kind = impl == "local" ? layer_modules::megatron_local : layer_modules::megatron;
  if (word("spec") == "local") f.modules.kind = layer_modules::megatron_local;  // pretrain_bert.py
  for (const auto* key : {"encoder-pipeline-model-parallel-size", "encoder-tensor-model-parallel-size"})
    if (const auto* v = k.take(key); v != nullptr && count_at(*v, k.at(key), 0, 4096) > 0)
      fail("headroom: " + k.at(key) + " is not modelled by this version; it must be 0: an encoder with ranks of its own");
  if (on("no-use-layer-wise-param-layout")) f.optimizer.muon = muon_layout::dealt_out;
  if (grads_overlap && j.optimizer.vector_moments > 0 && f.optimizer.muon == muon_layout::one_buffer) f.optimizer.muon = muon_layout::buckets;
  detail::apply_megatron_formats(j, k, merge);
  detail::apply_megatron_fsdp(j, k, merge);
  // A whole command line, one that says how large the model is, computes in fp32 unless it says otherwise.
  if (j.precision.compute.bits == 8 && options.contains("hidden-size") && !options.contains("bf16") && !options.contains("fp16")) f.fp8.rest_in_fp32 = true;
  // A worker that saves in the background sets its device, and has a context there (core/dist_checkpointing/strategies/async_utils.py,
  // PersistentAsyncCaller.async_loop; training/initialize.py starts it with the training).
  const bool saves_behind = on("async-save"), keeps_worker = on("use-persistent-ckpt-worker");
  if (saves_behind && keeps_worker) f.process.contexts = 2;
  if (on("tp-comm-overlap")) f.communication.tensor_parallel = tensor_parallel_overlap::userbuffers;
  const auto impl = detail::one_word_of(k, "cross-entropy-fusion-impl", {"native", "te"});
  if (on("cross-entropy-loss-fusion")) {
    f.loss.style = impl == "te" ? loss_style::in_place : loss_style::autocast;
    // Both fusions divide the vocabulary, too (core/fusions/fused_cross_entropy.py fused_vocab_parallel_cross_entropy).
    if (j.loss.kind == loss_kind::vocab_parallel) j.loss.kind = loss_kind::fused;
    merge.set(j.loss.kind, loss_kind::fused, "loss", "kind", k.at("cross-entropy-loss-fusion"));
    const auto& weights = (j.precision.set() ? j.precision : f.precision).parameters;
    if (!merge.given("loss", "logits")) j.loss.logits = impl != "te" ? formats::fp32 : weights.bits == 8 ? formats::bf16 : weights;
  }
  detail::apply_megatron_experts(j, k);
  detail::apply_megatron_exchanges(j, k, merge);
  const bool offloads = on("fine-grained-activation-offloading");
  detail::apply_megatron_offload(j, offloads, word("offload-modules"), merge, k.at("offload-modules"));
  detail::apply_megatron_graphs(f, k);
  for (const auto key : detail::megatron_unmodelled)
    if (k.take(key) != nullptr)
      fail("headroom: framework.options." + std::string{key} + " is not modelled by this version; leave it out to estimate the job without it");
  detail::apply_megatron_vision(j, options);
  for (const auto key : detail::megatron_neutral) k.take(key);
  for (const auto key : detail::megatron_stated) k.take(key);
  for (const auto& [key, value] : options.items())
    for (const auto names : detail::megatron_harmless)
      if (among_words(names, key)) k.take(key);
  k.finish();
}

/// The options that make `p` of the profile that the library ships.
inline json_value megatron_options_of(const profile& p, const profile& plain = frameworks::megatron) {
  json_value out = json_value::object();
  auto here = p, there = plain;
  for (const auto& s : detail::megatron_switches)
    if (s.of(here) == s.sets && s.of(there) != s.sets) out[s.option] = true;
  if (p.modules.kind != plain.modules.kind && !p.modules.deepspeed()) out["transformer-impl"] = p.modules.local() ? "local" : "transformer_engine";
  if (p.experts.gemm != plain.experts.gemm) out["moe-grouped-gemm"] = true;
  if (p.communication.tensor_parallel != plain.communication.tensor_parallel) out["tp-comm-overlap"] = true;
  if (p.loss.style != plain.loss.style) {
    out["cross-entropy-loss-fusion"] = true;
    out["cross-entropy-fusion-impl"] = p.loss.style == loss_style::in_place ? "te" : "native";
  }
  if (p.fp8.scaling != plain.fp8.scaling)
    out["fp8-recipe"] = "blockwise";
  else if (p.fp8.names_recipe != plain.fp8.names_recipe)
    out["fp8-recipe"] = p.fp8.names_recipe ? "tensorwise" : "delayed";
  if (p.fp8.rest_in_fp32) out["hidden-size"] = 0;
  if (p.optimizer.muon == muon_layout::dealt_out) out["no-use-layer-wise-param-layout"] = true;
  if (p.optimizer.muon == muon_layout::buckets) out["overlap-grad-reduce"] = true;
  if (p.optimizer.precision_aware) out["use-precision-aware-optimizer"] = true;
  if (p.process.contexts > plain.process.contexts) out["async-save"] = out["use-persistent-ckpt-worker"] = true;
  if (p.experts.routes_in_fp32) out["moe-router-dtype"] = "fp32";
  if (p.communication.exchanges_heads) out["cp-comm-type"] = "a2a+p2p";
  if (p.pipeline.microbatch_group > 0) out["microbatch-group-size-per-virtual-pipeline-stage"] = p.pipeline.microbatch_group;
  if (p.graphs.capture != graph_capture::none) out["cuda-graph-impl"] = p.graphs.capture == graph_capture::by_framework ? "local" : "transformer_engine";
  if (p.graphs.modules != 0) {
    out["cuda-graph-warmup-steps"] = 0;
    out["cuda-graph-scope"] = detail::words_of(p.graphs.modules, detail::megatron_graph_names);
  }
  if (p.checkpointing.offloaded_modules != 0) {
    out["fine-grained-activation-offloading"] = true;
    out["offload-modules"] = detail::words_of(p.checkpointing.offloaded_modules, detail::megatron_offload_names);
  }
  if (p.pipeline.deferral_limit > 0) {
    out["defer-embedding-wgrad-compute"] = true;
    out["wgrad-deferral-limit"] = p.pipeline.deferral_limit;
  }
  // Said wherever anything is: without it the arguments mean allgather.
  if (p.experts.dispatcher != plain.experts.dispatcher || !out.empty())
    out["moe-token-dispatcher-type"] = p.experts.dispatcher == token_dispatcher::flex ? "flex" : p.experts.dispatcher == token_dispatcher::all_gather ? "allgather" : "alltoall";
  return out;
}

/// A profile that the library ships, and the options that changed it. Throws job_error where they do not say all.
inline json_value megatron_to_json(const profile& p) {
  const bool bridge = p.date == frameworks::megatron_bridge.date, nemo = p.date == frameworks::nemo_2024.date, swift = p.adapters.parallel;
  if (p.modules.deepspeed()) {
    const profile& fork = *frameworks::find("megatron-deepspeed", p.date);
    json_value out = framework_to_json(fork);
    if (const auto options = megatron_options_of(p, fork); !options.empty()) out["options"] = options;
    return out;
  }
  const profile& shipped = bridge ? frameworks::megatron_bridge : nemo ? frameworks::nemo_2024 : swift ? frameworks::megatron_swift : *frameworks::find("megatron", p.date);
  json_value out = framework_to_json(bridge || nemo || swift ? frameworks::megatron : shipped);
  if (bridge) out["version"] = performance::version_of(p.recipe.release);
  if (swift) out["version"] = "Megatron-SWIFT";
  if (nemo) out["version"] = "NeMo 24";
  if (const auto options = megatron_options_of(p, shipped); !options.empty()) out["options"] = options;
  return out;
}

}  // namespace headroom::io
