// Distributed under the Boost Software License, Version 1.0.
// Jobs that contradict themselves are refused here, before anything is counted. What cannot be walked is refused by who would walk it
// (objection.hpp).
#pragma once

#include <headroom/settle/check_evaluation.hpp>
#include <headroom/settle/check_lengths.hpp>
#include <headroom/settle/check_loss.hpp>
#include <headroom/settle/check_objective.hpp>
#include <headroom/settle/check_rollout.hpp>
#include <headroom/settle/layer.hpp>

namespace headroom {

namespace detail {

constexpr objection check_model(const shape& m, const auto& no) {
  if (const auto why = check(m, no)) return why;
  if (m.layers < 1 || m.layers > (std::int64_t{1} << 16)) return no("headroom: model.layers must be a whole number from 1 to 2^16", m.layers);
  if (!within(m.vocab_multiple, 1)) return no("headroom: model.vocab_multiple must be a whole number from 1 to 2^40", m.vocab_multiple);
  return {};
}

/// Positions that a model has learned end with their table: torch's embedding has no row for a later one. In packed documents they begin anew.
constexpr objection check_positions(const job& j, const auto& no) {
  const auto& m = j.model;
  if (m.vision.kind != vision_kind::none && m.vision.layers == 0) return {};  // the main stack reads patches, and no text
  const auto longest = j.batch.lengths.given() ? j.batch.lengths.longest_within(j.batch.sequence) : j.batch.sequence;
  if (m.position == position_kind::learned && m.max_positions > 0 && longest > m.max_positions && !j.batch.packed)
    return no("headroom: batch.sequence must be at most model.max_positions, the positions that this model has learned; they are", m.max_positions);
  const auto rows = m.encoder.max_positions > 0 ? m.encoder.max_positions : m.position == position_kind::learned ? m.max_positions : 0;
  if (m.encoder.layers > 0 && rows > 0 && m.encoder.sequence > rows)
    return no("headroom: model.encoder.sequence must be at most the positions that the encoder has learned; they are", rows);
  return {};
}

/// Whether parallel.stage_layers has an entry for each chunk, or none. Where `chunks` does not say how many there are, the entry behind the last
/// chunk's must be empty.
constexpr bool entries_match(const degrees& d) {
  const auto chunks = checked::mul(d.pipeline, d.virtual_pipeline);
  return d.chunks > 0 ? d.chunks == chunks : chunks >= degrees::max_entries || d.stage_layers[chunks] == 0;
}

/// Whether it is known what a process can use of each kind of GPU, and each can run the job's kernels.
constexpr objection check_gpus(const job& j, const auto& no) {
  if (j.hardware.taken < bytes{0}) return no("headroom: hardware.taken_gib must not be negative; in bytes", j.hardware.taken.count());
  const auto& o = j.offload;
  const bool moves = o.optimizer != place::on_gpu || o.activations != place::on_gpu || place_of_parameters(j) != place::on_gpu;
  for (std::size_t i = 0; i < j.hardware.kinds(); ++i) {
    const auto& g = j.hardware.accelerator(i);
    if (compiles_whole_programs(g))
      return no("headroom: programs for TPUs and Trainium are laid out as a whole by a compiler, whose memory this version does not model; "
                "{\"name\", \"vendor\": \"cpu\"} counts the tensors that PyTorch would make, and nothing else; hardware.gpu", g.label);
    if (g.memory < bytes{1}) return no("headroom: this GPU's memory is not known; hardware.gpu must be another of the table, or {\"name\", \"memory_gib\"} with a positive number", g.label);
    if (j.precision.compute == formats::fp8 && g.maker == vendor::nvidia && g.compute_capability > 0 && g.compute_capability < 89)
      return no("headroom: TransformerEngine and torchao compute in fp8 on GPUs of compute capability 8.9 and later alone; hardware.gpu", g.label);
    const bool flash = j.attention == attention::flash || j.attention == attention::flash3;
    if (flash && !j.framework.modules.megatron() && g.maker == vendor::nvidia && g.compute_capability > 0 && g.compute_capability < 80)
      return no("headroom: flash attention runs on GPUs of compute capability 8.0 and later alone; attention may be sdpa or eager; hardware.gpu", g.label);
    if (g.unified && moves) return no("headroom: offload frees nothing where the GPU's memory is the host's, too; leave it out on hardware.gpu", g.label);
  }
  return {};
}

/// LLaMA-Factory's second trainer (hiyouga/LLaMA-Factory ff6d4d12 of 2026-08-18 src/llamafactory/v1): core/model_engine.py _init_model takes no encoder-decoder
/// and makes what trains whole fp32; plugins/trainer_plugins/distributed/fsdp2.py get_mp_policy alone has another format compute; core/base_trainer.py
/// compute_log_probs reads logits, which a fused head does not make.
template <class No>
constexpr objection check_second_trainer(const job& j, const No& no) {
  const bool units = j.sharding.kind == sharding_kind::fsdp2;
  const auto& p = j.precision;
  const auto wide = [](const number_format& f) { return !f.set() || f == formats::fp32; };
  if (j.adapter.active() || !j.trainable.all() || j.model.encoder.layers > 0 || j.model.bidirectional || j.parallel.context > 1)
    return no("headroom: LLaMA-Factory's second trainer is modelled for decoders that train whole, without context parallelism; model", j.model.label);
  if (p.autocasts() || !wide(p.parameters) || !wide(p.gradients) || !wide(p.reduce) || !(wide(p.compute) || p.compute == formats::tf32 || (units && p.compute == formats::bf16)))
    return no("headroom: LLaMA-Factory's second trainer keeps weights and gradients in fp32, and computes so, or under FSDP2 in bf16; precision must say that, or be left out");
  if ((j.loss.kind != loss_kind::unset && j.loss.kind != loss_kind::full) || !wide(j.loss.logits))
    return no("headroom: LLaMA-Factory's second trainer computes its loss of all logits in fp32; loss must be left out");
  return {};
}

/// Sharding that a framework's own program does not set up: torchtitan distributed/parallel_dims.py and models/*/infra/parallelize.py, torchtune
/// recipes/*_distributed.py, litgpt finetune/*.py and pretrain.py, fsdp_qlora train.py. One process has none, whoever runs it.
constexpr objection check_offered(const job& j, const auto& no) {
  const auto& offered = j.framework.sharding;
  if (j.framework.loading.whole_on_gpu)
    if (const auto why = check_second_trainer(j, no)) return why;
  if (j.sharding.root != root_units::unset && (j.sharding.kind != sharding_kind::fsdp2 || offered.no_others))
    return no("headroom: sharding.root says how FSDP2 is set up over transformers' modules: sharding.kind must be \"fsdp2\", and framework a trainer that leaves it open; framework", j.framework.label);
  if (!offered.no_others || j.sharding.kind == sharding_kind::none || offered.offers(j.sharding.kind)) return {};
  return no("headroom: this framework's own program does not shard so; sharding.kind must be ddp or fsdp2 with torchtitan and llama-factory-v1, fsdp1 or fsdp2 with torchtune before 2024-09 and fsdp2 since, "
            "ddp or fsdp1 with litgpt and fsdp-qlora, or none; framework", j.framework.label);
}

constexpr objection check_layout(const job& j, const auto& no) {
  const auto& p = j.parallel;
  if (const auto why = check_offered(j, no)) return why;
  if (j.sharding.loads_once && !j.sharding.gathers_units()) return no("headroom: sharding.loads_once is FSDP's, whose first rank hands the weights on; sharding.kind must be fsdp1 or fsdp2; sharding.stage", j.sharding.stage);
  if (!within(j.hardware.nodes, 1)) return no("headroom: hardware.nodes must be a whole number from 1 to 2^40", j.hardware.nodes);
  if (!within(j.hardware.gpus_per_node, 1)) return no("headroom: hardware.gpus_per_node must be a whole number from 1 to 2^40", j.hardware.gpus_per_node);
  for (std::size_t i = 0; i < j.hardware.kinds(); ++i)
    if (j.hardware.count(i) < 1)
      return no("headroom: the counts of a mixed cluster's GPUs must be positive and add up to hardware.nodes × gpus_per_node; one is", j.hardware.count(i));
  if (const auto why = check_gpus(j, no)) return why;
  if (!within(p.data, 0)) return no("headroom: parallel.data must be 0 (what the GPUs leave) or a whole number up to 2^40", p.data);
  if (!within(p.replicate, 1)) return no("headroom: parallel.replicate must be a whole number from 1 to 2^40", p.replicate);
  if (p.expert_imbalance_percent < 100 || p.expert_imbalance_percent > 100'000)
    return no("headroom: parallel.expert_imbalance must be from 1 (an even share) to 1000; in percent", p.expert_imbalance_percent);
  if (!within(j.batch.micro, 1)) return no("headroom: batch.micro must be a whole number from 1 to 2^40", j.batch.micro);
  if (!within(j.batch.sequence, 1)) return no("headroom: batch.sequence is required: a whole number from 1 to 2^40", j.batch.sequence);
  if (!within(j.batch.accumulation, 1)) return no("headroom: batch.accumulation must be a whole number from 1 to 2^40", j.batch.accumulation);
  if (j.sharding.stage < 0 || j.sharding.stage > 3) return no("headroom: sharding.stage must be 0, 1, 2 or 3", j.sharding.stage);
  const auto hpz = j.sharding.zero_hpz_partition_size, mics = j.sharding.mics_shard_size;
  if ((hpz > 1 || mics > 0) && !(j.sharding.by(sharder::deepspeed) && j.sharding.cuts(sharded_state::weights)))
    return no("headroom: sharding.zero_hpz_partition_size and mics_shard_size need sharding.kind \"zero\" and stage 3; stage", j.sharding.stage);
  if (checked::mul(p.pipeline, p.virtual_pipeline) > 65'536) return no("headroom: parallel.pipeline × virtual_pipeline must be at most 65536; they are", checked::mul(p.pipeline, p.virtual_pipeline));
  const auto others = checked::mul(p.tensor, p.pipeline, p.context);
  const auto gpus = j.hardware.gpus();
  if (p.data == 0 && gpus % others != 0) return no("headroom: parallel.tensor × pipeline × context must divide the GPUs, hardware.nodes × gpus_per_node; the product", others);
  const auto data = p.data > 0 ? p.data : gpus / others;
  if (mics > 0 && data % mics != 0) return no("headroom: the data-parallel ranks must be a multiple of sharding.mics_shard_size; mics_shard_size", mics);
  if (hpz > 1 && data % hpz != 0) return no("headroom: the data-parallel ranks must be a multiple of sharding.zero_hpz_partition_size; zero_hpz_partition_size", hpz);
  if (checked::mul(data, p.context) % p.replicate != 0)
    return no("headroom: parallel.data × context must be a multiple of parallel.replicate; replicate", p.replicate);
  if (p.chunks < 0 || p.chunks > degrees::max_entries) return no("headroom: parallel.stage_layers must have at most 256 entries; it has", p.chunks);
  if (!entries_match(p)) return no("headroom: parallel.stage_layers must have an entry for each chunk, as many as parallel.pipeline × virtual_pipeline; they are", checked::mul(p.pipeline, p.virtual_pipeline));
  const auto& order = properties_of(p.schedule);
  if (p.pipeline > 1 && order.chunks > 1 && p.virtual_pipeline != order.chunks)
    return no("headroom: parallel.virtual_pipeline must be the number of chunks into which the schedule cuts a stage (zero-bubble-v, v-half, v-min: 2)", p.virtual_pipeline);
  if (p.pipeline > 1 && j.batch.accumulation < checked::mul(order.least_rounds, p.pipeline))
    return no("headroom: this schedule needs at least as many micro-batches as there are stages, parallel.pipeline; batch.accumulation", j.batch.accumulation);
  if (p.data > 0 && checked::mul(p.data, others) != gpus)
    return no("headroom: parallel.data × tensor × pipeline × context must be the GPUs, hardware.nodes × gpus_per_node; the product", checked::mul(p.data, others));
  return {};
}

/// Formats that a trainer computes and updates in. A frozen base of fewer bits is the adapters' matter.
constexpr objection check_formats(const job& j, const auto& no) {
  const auto& p = j.precision;
  for (const auto* f : {&p.parameters, &p.compute, &p.gradients, &p.reduce, &p.master, &p.frozen})
    if (f->quantised() || (f->present() && f->bits < 8 && !(f == &p.compute && *f == formats::nvfp4)))
      return no("headroom: precision.parameters, compute, gradients, reduce, master and frozen must be fp32, tf32, bf16, fp16 or fp8, and compute may be nvfp4; adapter.base says in what a frozen base is packed; found", f->label);
  for (const auto* f : {&p.state, &j.optimizer.state, &j.adapter.format, &j.adapter.base, &j.adapter.rest, &j.adapter.rest_experts, &j.loss.logits, &j.rollout.format, &j.rollout.kv_format, &j.objective.reference_format, &j.objective.frozen.parameters, &j.objective.critic.parameters})
    if (*f == formats::nvfp4) return no("headroom: nvfp4 is a format of precision.compute alone by this version");
  if (const auto& rest = j.adapter.rest; rest.set() && (rest.quantised() || rest.bits < 16)) return no("headroom: adapter.rest is the format of weights that a base leaves as they are: it must be fp32, bf16 or fp16", rest.label);
  if (p.set() && (!p.parameters.present() || (p.compute.set() && !p.compute.present()))) return no("headroom: precision.parameters and compute must not be none");
  return {};
}

/// Optimizers that need whole matrices, or gradients as they are made, where these are not to be had.
constexpr objection check_optimizer(const job& j, const auto& no) {
  const auto& o = j.optimizer;
  const bool low_rank = o.extent == state_extent::low_rank;
  if (low_rank)
    if (!within(o.rank, 1)) return no("headroom: optimizer.rank must be a whole number from 1 to 2^40", o.rank);
  if (o.blocks < 0) return no("headroom: optimizer.blocks must not be negative", o.blocks);
  // jiaweizzhao/GaLore issues 2, 23 and 47 (IndexError under DeepSpeed's stages 0 to 3 and FSDP, whose weights are vectors); LLaMA-Factory parser.py.
  if (low_rank && (j.sharding.flat() || j.sharding.gathers_units()))
    return no("headroom: optimizers that project gradients (GaLore, APOLLO) need whole matrices, which DeepSpeed and FSDP take apart: sharding.kind must be none or ddp; optimizer", o.label);
  // soap.py: torch.tensordot(grad, mat) and lerp_ want one format, and GG is fp32.
  if (o.extent == state_extent::preconditioned) {
    const auto& p = j.precision.set() ? j.precision : j.framework.precision;
    if (j.sharding.flat() || j.sharding.gathers_units()) return no("headroom: SOAP preconditions whole matrices, which DeepSpeed, FSDP and Megatron take apart: sharding.kind must be none or ddp; optimizer", o.label);
    if ((p.gradients.set() ? p.gradients : p.parameters).bits != 32)
      return no("headroom: SOAP multiplies gradients by fp32 matrices, and torch refuses two formats: precision must have fp32 gradients (fp32 or bf16-autocast); optimizer", o.label);
  }
  // transformers optimization.py, came_pytorch CAME.py: the statistics are plain tensors, the gradients DTensors ("got mixed torch.Tensor and DTensor").
  if (o.extent == state_extent::factored && j.sharding.cuts_tensors())
    return no("headroom: factored optimizers (Adafactor, CAME) add plain tensors to FSDP2's sharded gradients, which torch refuses: sharding.kind must not be fsdp2; optimizer", o.label);
  if (o.on_host && j.sharding.cuts_tensors()) return no("headroom: optimizers that keep their state in host memory (GrokAdamW) are not modelled under FSDP2 by this version; optimizer", o.label);
  // deepspeed runtime/zero/utils.py ZERO_SUPPORTED_OPTIMIZERS; runtime/fp16/unfused_optimizer.py step_fused_lamb.
  if (o.label == "lamb" && j.sharding.by(sharder::deepspeed))
    return no("headroom: DeepSpeed's LAMB runs under ZeRO as an untested optimizer alone, and without it in FP16_UnfusedOptimizer, which are not modelled by this version; optimizer", o.label);
  // transformers trainer_optimizer.py _setup_low_rank_optimizer, torchtune recipes/full_finetune_distributed.py, lomo_optim lomo.py: gradients are gone before others could be added.
  if (o.in_backward && j.batch.accumulation > 1 && j.framework.modules.eager()) return no("headroom: an update in backward leaves no gradients to add up: batch.accumulation must be 1 with optimizer.in_backward; it is", j.batch.accumulation);
  if (low_rank && o.in_backward && j.sharding.kind == sharding_kind::ddp) return no("headroom: layer-wise GaLore and APOLLO do not run under DDP (transformers trainer_optimizer.py, NotImplementedError); optimizer", o.label);
  return {};
}

constexpr objection check_recipe(const job& j, const auto& no) {
  if (const auto why = check_formats(j, no)) return why;
  if (j.adapter.active()) {
    if (!within(j.adapter.rank, 1)) return no("headroom: adapter.rank must be a whole number from 1 to 2^40", j.adapter.rank);
    if (const auto& base = j.adapter.base; base.set() && base.bits < 16 && !base.quantised())
      return no("headroom: adapter.base is a format without the scales that a quantised weight has; accepted: nf4, nf4-double, fp4, fp4-double, int8, gptq-int4, gptq-int8, awq-int4, bf16, fp16, fp32; its bits", base.bits);
    if (j.adapter.targets.has(module::embedding)) return no("headroom: adapters on a table of embeddings are not modelled by this version: adapter.targets must be without embed_tokens");
    if (j.adapter.targets.empty()) return no("headroom: adapter.targets must name modules (q_proj, v_proj, …) or be \"all-linear\"");
  }
  if (const auto why = check_optimizer(j, no)) return why;
  for (std::int32_t i = 0; i < j.trainable.size; ++i) {
    const auto& s = j.trainable.list[i];
    if (s.last_layer < 0 ? s.first_layer != 0 : s.first_layer < 0 || s.first_layer > s.last_layer || s.last_layer >= j.model.layers)
      return no("headroom: trainable.layers must be [first, last] within the model's layers; last", s.last_layer);
    constexpr module_set outside{module::embedding, module::position, module::head, module::mtp, module::encoder, module::vision, module::projector};
    if (s.last_layer >= 0 && !s.modules.empty() && (s.modules.bits & ~outside.bits) == 0)
      return no("headroom: trainable.layers names layers of the stack, and these modules lie outside it, so that nothing trains: leave layers out, or name modules of a layer; last", s.last_layer);
  }
  // torch's named_parameters() lists a parameter once: programs that go by names find it as the embedding's, and train nothing for the head's.
  if (const auto named = named_modules(j, -1); j.framework.modules.eager() && !j.adapter.active() && named.has(module::head) && !named.has(module::embedding) && ties_head(j))
    return no("headroom: a tied head trains as embed_tokens, which trainable.modules must name, too, or leave lm_head out; model", j.model.label);
  return {};
}

}  // namespace detail

/// Refuses a job that contradicts itself, or what `no` does instead. States can be counted for every job that passes.
template <class No = refusing>
constexpr objection check(const job& j, const No& no = {}) {
  if (const auto why = detail::check_model(j.model, no)) return why;
  if (const auto why = detail::check_layout(j, no)) return why;
  if (const auto why = detail::check_positions(j, no)) return why;
  if (const auto why = detail::check_recipe(j, no)) return why;
  if (const auto why = detail::check_loss(j, no)) return why;
  if (const auto why = detail::check_lengths(j, no)) return why;
  if (const auto why = detail::check_objective(j, no)) return why;
  if (const auto why = detail::check_rollout(j, no)) return why;
  return detail::check_evaluation(j, no);
}

}  // namespace headroom
