// Distributed under the Boost Software License, Version 1.0.
// torchtitan's own options (config/job_config.py, docs/float8.md): those that change what is allocated without being a neutral key of
// the job, and those that a job may repeat.
#pragma once

#include <headroom/io/job/framework.hpp>

#include <cctype>

namespace headroom::io {

namespace detail {

/// A float8 recipe: the first word of what is said of it. Tensorwise scaling is set up with FSDP's float8 all-gather
/// (train_configs/llama3_405b.toml), the others gather 16-bit weights.
inline void read_float8(profile& f, const std::string& said, const std::string& path) {
  std::string word;
  for (const char c : said) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') break;
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (word == "tensorwise") {
    f.sharding.gathers_in_fp8 = true;
    return;
  }
  if (word != "rowwise" && word != "rowwise_with_gw_hp" && word != "mxfp8")
    fail("headroom: " + path + " " + in_quotes(said) + " is not modelled by this version; accepted: tensorwise, rowwise, rowwise_with_gw_hp, mxfp8");
  f.fp8.scaling = word == "mxfp8" ? fp8_scaling::block : fp8_scaling::row;
}

/// activation_checkpoint.mode and selective_ac_option: "op", or every n-th layer whole, which is none where there are fewer
/// (distributed/activation_checkpoint.py _apply_layer_sac).
inline recompute checkpointing_of(const job& j, const std::string& mode, const std::string& option, const std::string& path) {
  if (mode == "none") return recompute::none;
  if (mode == "full") return recompute::full;
  if (mode != "selective") fail("headroom: " + path + " must be \"none\", \"full\" or \"selective\", found " + in_quotes(mode));
  if (option == "op") return {.mode = recompute_mode::selective, .policy = recompute_policy::every_other_matmul};
  std::int64_t every = 0;
  for (const char c : option) every = every >= 0 && c >= '0' && c <= '9' && every < 1'000'000 ? every * 10 + (c - '0') : -1;
  if (every < 1) fail("headroom: framework.options.activation_checkpoint.selective_ac_option must be \"op\" or a number of layers, found " + in_quotes(option));
  if (every > j.model.layers) return recompute::none;
  return {.mode = recompute_mode::full, .method = recompute_method::block, .layers = j.model.layers / every};
}

}  // namespace detail

/// Throws job_error for options that torchtitan does not have, and for values that this version does not model.
inline void apply_torchtitan_options(job& j, const json_value& options, const option_merger& merge) {
  auto& f = j.framework;
  key_reader k{options, "framework.options"};
  const auto on = [&](const char* key, bool otherwise) {
    const auto* v = k.take(key);
    return v != nullptr ? flag_at(*v, k.at(key)) : otherwise;
  };
  const auto word = [&](const char* key, const char* otherwise) {
    const auto* v = k.take(key);
    return v != nullptr ? string_at(*v, k.at(key)) : std::string{otherwise};
  };
  if (const auto recipe = word("float8", ""); !recipe.empty()) detail::read_float8(f, recipe, k.at("float8"));
  f.sharding.gathers_in_fp8 = on("float8.enable_fsdp_float8_all_gather", f.sharding.gathers_in_fp8);
  if (const auto method = word("context_parallel_rotate_method", ""); !method.empty()) {
    if (method != "allgather" && method != "alltoall")
      fail("headroom: framework.options.context_parallel_rotate_method must be \"allgather\" or \"alltoall\", found " + in_quotes(method));
    merge.set(j.parallel.context_kind, method == "allgather" ? context_kind::all_gather : context_kind::ring, "parallel", "context_kind",
              k.at("context_parallel_rotate_method"));
  }
  if (const auto* v = k.take("disable_loss_parallel"); v != nullptr && j.parallel.tensor > 1) {
    const bool whole = flag_at(*v, k.at("disable_loss_parallel"));
    merge.set(j.loss.kind, whole ? loss_kind::full : loss_kind::vocab_parallel, "loss", "kind", k.at("disable_loss_parallel"));
  }
  if (const auto* v = k.take("compile.components")) {
    if (!v->is_array()) wrong_value(k.at("compile.components"), "a list of \"model\" and \"loss\"", *v);
    f.compile.layers = f.compile.loss = false;
    for (const auto& item : *v) {
      const auto& name = string_at(item, k.at("compile.components"));
      if (name != "model" && name != "loss") wrong_value(k.at("compile.components"), "a list of \"model\" and \"loss\"", item);
      (name == "model" ? f.compile.layers : f.compile.loss) = true;
    }
  }
  const auto option = word("activation_checkpoint.selective_ac_option", "op");
  if (const auto mode = word("activation_checkpoint.mode", ""); !mode.empty())
    merge.set(j.recompute, detail::checkpointing_of(j, mode, option, k.at("activation_checkpoint.mode")), "recompute", {}, k.at("activation_checkpoint.mode"));
  if (const auto* v = k.take("enable_async_tensor_parallel")) 
    f.communication.tensor_parallel = flag_at(*v, k.at("enable_async_tensor_parallel")) ? tensor_parallel_overlap::in_pieces : tensor_parallel_overlap::none;
  // A neutral key says the schedule.
  k.take("pipeline_parallel_schedule");
  k.finish();
}

/// A profile that the library ships, and the options that changed it. Throws job_error where they do not say all.
inline json_value torchtitan_to_json(const profile& p) {
  profile plain = p;
  json_value options = json_value::object();
  for (const auto& shipped : frameworks::known) {
    if (shipped.label != p.label || shipped.date != p.date) continue;
    plain.sharding.gathers_in_fp8 = shipped.sharding.gathers_in_fp8;
    plain.fp8.scaling = shipped.fp8.scaling;
    plain.compile.layers = shipped.compile.layers;
    plain.compile.loss = shipped.compile.loss;
    plain.communication.tensor_parallel = shipped.communication.tensor_parallel;
  }
  if (p.communication.tensor_parallel != plain.communication.tensor_parallel)
    options["enable_async_tensor_parallel"] = p.communication.tensor_parallel != tensor_parallel_overlap::none;
  if (p.fp8.scaling != plain.fp8.scaling) options["float8"] = p.fp8.scaling == fp8_scaling::row ? "rowwise" : "mxfp8";
  if (p.sharding.gathers_in_fp8 != plain.sharding.gathers_in_fp8) options["float8.enable_fsdp_float8_all_gather"] = p.sharding.gathers_in_fp8;
  if (p.compile.layers != plain.compile.layers || p.compile.loss != plain.compile.loss) {
    auto& components = options["compile.components"] = json_value::array();
    if (p.compile.layers) components.push_back("model");
    if (p.compile.loss) components.push_back("loss");
  }
  json_value out = framework_to_json(plain);
  if (!options.empty()) out["options"] = options;
  return out;
}

}  // namespace headroom::io
