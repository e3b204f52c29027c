// Distributed under the Boost Software License, Version 1.0.
// Megatron-LM's arguments as a job: those that a neutral key of a job says, with Megatron's defaults (megatron/training/arguments.py).
// Others are options of the framework and read by io/options/megatron.hpp; megatron/rules.hpp says what becomes of the rest.
#pragma once

#include <headroom/io/job/optimizer_names.hpp>
#include <headroom/io/launchers/arguments.hpp>
#include <headroom/io/launchers/megatron/contradictions.hpp>
#include <headroom/io/launchers/megatron/model.hpp>

namespace headroom::io {

namespace detail {

class megatron_arguments {
 public:
  /// `date`: yyyymm of the program, 0: today's. `validates`: the program's own parser has read them.
  megatron_arguments(draft& d, const document& from, std::int32_t date, megatron_program program, bool validates = true) : d_(&d), v_(from, most, true), date_(date), program_(program), validates_(validates), rules_(d, v_, date, program) {}

  void import() {
    rules_.refuse();
    if (validates_) refuse_contradictions(v_, date_ == 0);
    megatron_shape{*d_, v_, date_, program_}.read();
    parallel();
    training();
    formats();
    slower();
    options();
  }

 private:
  static constexpr std::int64_t most = std::int64_t{1} << 40;

  /// Says a key of the job, from the argument that gave it.
  void say(std::initializer_list<std::string_view> path, const json_value& value, std::string_view key) { d_->say(path, value, v_.place(key)); }

  void parallel() {
    const auto tensor = v_.number("tensor-model-parallel-size", 1), pipeline = v_.number("pipeline-model-parallel-size", 1), context = v_.number("context-parallel-size", 1);
    say({"parallel", "tensor"}, tensor, "tensor-model-parallel-size");
    say({"parallel", "pipeline"}, pipeline, "pipeline-model-parallel-size");
    say({"parallel", "context"}, context, "context-parallel-size");
    say({"parallel", "sequence"}, v_.on("sequence-parallel") && tensor > 1, "sequence-parallel");
    const auto expert = v_.number("expert-model-parallel-size", 1), expert_tensor = v_.number("expert-tensor-parallel-size", tensor);
    if (expert > 1 && v_.has("num-layers") && !v_.has("num-experts")) fail("headroom: " + v_.place("expert-model-parallel-size") + ": Megatron-LM ends at expert-model-parallel-size " + std::to_string(expert) + " without num-experts: say how many there are, or take it out");
    say({"parallel", "expert"}, expert, "expert-model-parallel-size");
    if (v_.has("num-experts")) say({"parallel", "expert_tensor"}, expert_tensor, "expert-tensor-parallel-size");
    for (const auto& [key, neutral] : {std::pair{"decoder-first-pipeline-num-layers", "first_stage_layers"}, {"decoder-last-pipeline-num-layers", "last_stage_layers"}})
      if (const auto n = v_.number(key, 0); n > 0) say({"parallel", neutral}, n, key);
    if (const auto n = v_.number("num-distributed-optimizer-instances", 1); n > 1) say({"parallel", "replicate"}, n, "num-distributed-optimizer-instances");
    chunks(pipeline);
  }
  /// A hybrid stack is cut where its letters have bars.
  void bars(std::int64_t pipeline) {
    const auto sizes = chunk_ends(hybrid_letters(v_));
    if (sizes.empty()) return;
    const auto n = static_cast<std::int64_t>(sizes.size());
    if (n % pipeline != 0) fail("headroom: hybrid-layer-pattern must have a multiple of pipeline-model-parallel-size parts between bars, found " + std::to_string(n));
    say({"parallel", "stage_layers"}, sizes, "hybrid-layer-pattern");
    if (n > pipeline) say({"parallel", "virtual_pipeline"}, n / pipeline, "hybrid-layer-pattern");
  }
  void chunks(std::int64_t pipeline) {
    if (program_ == megatron_program::hybrid) bars(pipeline);
    if (const auto* layout = v_.take("pipeline-model-parallel-layout")) {
      std::string text;
      for (const char c : string_at(*layout, "pipeline-model-parallel-layout"))
        if (c != '\\') text += c;  // brackets may be kept from a shell
      const auto layers = layers_of_layout(text, "pipeline-model-parallel-layout");
      const auto n = static_cast<std::int64_t>(layers.size());
      if (n % pipeline != 0) fail("headroom: pipeline-model-parallel-layout must have a multiple of pipeline-model-parallel-size parts, found " + std::to_string(n));
      say({"parallel", "stage_layers"}, layers, "pipeline-model-parallel-layout");
      if (n > pipeline) say({"parallel", "virtual_pipeline"}, n / pipeline, "pipeline-model-parallel-layout");
      return;
    }
    const auto each = v_.number("num-layers-per-virtual-pipeline-stage", 0), stages = v_.number("num-virtual-stages-per-pipeline-rank", 0);
    // The embedding and the loss may count as a layer each (core/transformer/transformer_block.py, get_num_layers_to_build).
    const bool embedding = v_.on("account-for-embedding-in-pipeline-split"), loss = v_.on("account-for-loss-in-pipeline-split");
    if (pipeline == 1 && stages > 1)
      fail("headroom: " + v_.place("num-virtual-stages-per-pipeline-rank") + ": num-virtual-stages-per-pipeline-rank " + std::to_string(stages) + " ends Megatron where pipeline-model-parallel-size is 1");  // core/parallel_state.py, initialize_model_parallel
    if (pipeline == 1) return;
    if (stages > 1) say({"parallel", "virtual_pipeline"}, stages, "num-virtual-stages-per-pipeline-rank");
    if (each == 0 && !embedding && !loss) return;
    const auto* layers = d_->find({"model", "layers"});
    if (layers == nullptr) fail("headroom: num-layers is required beside " + std::string{each > 0 ? "num-layers-per-virtual-pipeline-stage" : "account-for-embedding-in-pipeline-split"});
    const auto all = count_at(*layers, "num-layers", 1, most) + (embedding ? 1 : 0) + (loss ? 1 : 0);
    auto parts = pipeline * std::max<std::int64_t>(1, stages);
    if (each > 0) {
      if (all % checked::mul(each, pipeline) != 0) fail("headroom: num-layers-per-virtual-pipeline-stage must divide the layers of a pipeline stage, " + std::to_string(all) + " / " + std::to_string(pipeline));
      parts = all / each;
      if (parts > pipeline) say({"parallel", "virtual_pipeline"}, parts / pipeline, "num-layers-per-virtual-pipeline-stage");
    }
    if (!embedding && !loss) return;
    if (all % parts != 0 || parts > degrees::max_entries) fail("headroom: pipeline-model-parallel-size: " + std::to_string(all) + " layers, embedding and loss among them, must divide into " + std::to_string(parts) + " parts");
    std::vector<std::int64_t> list(static_cast<std::size_t>(parts), all / parts);
    list.front() -= embedding ? 1 : 0;
    list.back() -= loss ? 1 : 0;
    say({"parallel", "stage_layers"}, list, "account-for-embedding-in-pipeline-split");
  }

  void training() {
    const bool distributed = v_.on("use-distributed-optimizer"), fsdp = given(v_.all(), "use-megatron-fsdp");
    if (!fsdp) d_->replace("sharding", distributed ? "megatron-distributed-optimizer" : "ddp", v_.place("use-distributed-optimizer"));
    say({"batch", "micro"}, v_.number("micro-batch-size", 1), "micro-batch-size");
    const auto* length = program_ == megatron_program::t5 ? "decoder-seq-length" : "seq-length";
    if (program_ == megatron_program::vlm)
      say({"batch", "sequence"}, text_and_image(v_), v_.has("dataloader-seq-length") ? "dataloader-seq-length" : "seq-length");
    else if (v_.take(length) != nullptr)
      say({"batch", "sequence"}, v_.number(length, 0), length);
    if (v_.take("global-batch-size") != nullptr) d_->know(d_->global_batch, "global-batch-size", v_.number("global-batch-size", 0), v_.place("global-batch-size"));

    schedule_of_batches();
    // HybridDeviceOptimizer; how copies overlap, and whether they are pinned, is a matter of time.
    for (const auto* key : {"overlap-cpu-optimizer-d2h-h2d", "no-pin-cpu-grads", "no-pin-cpu-params"}) v_.take(key);
    const auto fraction = v_.share("optimizer-offload-fraction", 1.0);
    if (v_.on("optimizer-cpu-offload") && fraction > 0) d_->replace("offload", {{"optimizer", "cpu"}, {"optimizer_fraction", fraction}}, v_.place("optimizer-cpu-offload"));

    const auto said = v_.word("recompute-granularity", "none");
    const std::string granularity = v_.on("recompute-activations") ? "selective" : said;  // whatever else is said (training/arguments.py, validate_args)
    json_value r = {{"mode", granularity}};
    const auto method = v_.word("recompute-method", "");
    const auto each = v_.number("recompute-num-layers", 0, 0);
    if (granularity == "full" && method.empty() && !v_.has("checkpoint-activations"))  // core/transformer/transformer_config.py; model/transformer.py before
      fail("headroom: " + v_.place("recompute-granularity") + ": Megatron-LM ends at recompute-granularity full without recompute-method: say uniform or block, and recompute-num-layers");
    if (granularity == "selective" && said == "full" && each > 0)
      fail("headroom: " + v_.place("recompute-activations") + ": recompute-activations makes recompute-granularity selective, with which Megatron-LM ends at recompute-num-layers: take one of them out");
    if (granularity != "none" && !method.empty()) r["method"] = method;
    if (granularity != "none" && each > 0) r["layers"] = each;
    const auto modules = v_.word("recompute-modules", "");
    if (granularity == "selective") {
      r["modules"] = json_value::array();
      for_each_word(modules.empty() ? "core_attn" : std::string_view{modules}, [&](std::string_view m) { r["modules"].push_back(m); });
    }
    // The keys of a job say it with Megatron's words.
    read_recompute(granularity == "none" || granularity == "full" || granularity == "selective" ? r : r["mode"], "recompute-granularity");
    d_->replace("recompute", r, v_.place("recompute-granularity"));

    const auto backend = v_.word("attention-backend", "auto");
    const bool flash = v_.on("use-flash-attn");
    if (backend != "auto" && backend != "flash" && backend != "fused" && backend != "unfused" && backend != "local")
      fail("headroom: attention-backend " + in_quotes(backend) + " is unknown; accepted: auto, flash, fused, unfused, local");
    d_->replace("attention", backend == "flash" || (flash && backend == "auto") ? "flash" : backend == "unfused" || rules_.local_attention() ? "eager" : "te", v_.place("attention-backend"));
    const auto hidden = v_.share("hidden-dropout", 0.1), attention = v_.share("attention-dropout", 0.1);
    d_->replace("dropout", json_value{{"hidden", hidden}, {"attention", attention}, {"embedding", hidden}}, v_.place("hidden-dropout"));
    const auto update = v_.word("optimizer", "adam");
    const auto* known = optimizer_called(optimizer_namer::megatron, update).is;
    if (known == nullptr) refuse_optimizer(optimizer_namer::megatron, "optimizer", update);
    d_->replace("optimizer", known->label.view(), v_.place("optimizer"));
  }

  /// "0:16 2.4B:320 12B:1536": the samples of a step change after so many tokens. The last are those of most of the training, and the most.
  void schedule_of_batches() {
    const auto schedule = v_.word("step-batch-size-schedule", "");
    if (schedule.empty()) return;
    const auto last = schedule.substr(schedule.find_last_of(": ") + 1);
    const auto place = v_.place("step-batch-size-schedule");
    d_->know(d_->global_batch, "global-batch-size", count_at(typed(last), "the last of step-batch-size-schedule", 1, most), place);
    d_->notes.push_back(place + ": a step is one of the last of step-batch-size-schedule, of " + last + " samples");
  }

  /// bf16 is what the framework's profile says; gradients of fp16 weights are added up in fp16 unless asked otherwise.
  void formats() {
    const bool half = v_.on("fp16"), wide = v_.on("accumulate-allreduce-grads-in-fp32"), brain = v_.on("bf16");
    if (half && brain) fail("headroom: fp16 and bf16 must not both be given");
    if (half) {
      const auto* sums = wide ? "fp32" : "fp16";
      d_->replace("precision", json_value{{"parameters", "fp16"}, {"compute", "fp16"}, {"gradients", sums}, {"reduce", sums}, {"master", "fp32"}, {"state", "fp32"}}, v_.place("fp16"));
    } else if (!brain && !v_.has("fp8-format") && !v_.has("fp4-format")) {
      d_->replace("precision", "fp32", v_.source());
    }
  }

  /// What keeps the same tensors, and takes longer: deterministic kernels (training/determinism.py), a cache that is emptied in each step
  /// (training/training.py, train_step).
  void slower() {
    const auto say_so = [&](std::string_view key, const char* how) {
      d_->notes.push_back(v_.place(key) + ": " + std::string{key} + how + ", by how much is not modelled: a step takes longer than predicted");
    };
    if (v_.number("empty-unused-memory-level", 0, 0) > 0) say_so("empty-unused-memory-level", " gives freed memory back in each step, and slows it down");
    if (!v_.on("deterministic-mode")) return;
    say_so("deterministic-mode", " slows kernels down");
    // It sets CUBLAS_WORKSPACE_CONFIG itself since 2026-07 (3ab71eeb3e), where the environment does not.
    if ((date_ == 0 || date_ > 202607) && !d_->has({"environment", "cublas_workspace"})) d_->say({"environment", "cublas_workspace"}, ":4096:8", v_.place("deterministic-mode"));
  }

  /// What is left: options that count, options that do not, and names that Megatron does not have.
  void options() {
    auto& keep = d_->job["framework"];
    if (!keep.contains("options")) keep["options"] = json_value::object();
    rules_.rest();
    // A command line that says nothing of it means allgather; only experts are dispatched.
    if (v_.has("num-experts") && !v_.has("moe-token-dispatcher-type")) d_->say({"framework", "options", "moe-token-dispatcher-type"}, "allgather", v_.source());
    if (keep["options"].empty()) keep.erase("options");
  }

  draft* d_;
  named_values v_;
  std::int32_t date_;
  megatron_program program_;
  bool validates_;
  megatron_rules rules_;
};

}  // namespace detail

/// `validates`: Megatron-LM's own parser reads them; others that build its layers from a configuration do not call it.
inline void import_megatron(draft& d, const document& from, megatron_program program = megatron_program::gpt, bool validates = true) {
  with_places(from, [&] {
    if (!from.root.is_object()) wrong_value("Megatron's arguments", "an object", from.root);
    d.framework_is("megatron", from.source);
    const auto date = detail::megatron_date(d, from);
    const auto now = detail::in_todays_words(from);
    with_places(now, [&] { detail::megatron_arguments{d, now, date, program, validates}.import(); });
  });
}

}  // namespace headroom::io
