// Distributed under the Boost Software License, Version 1.0.
// Memory of a GPU beside its tensors: library workspaces inside the allocator, context and communicators outside it.
#pragma once

#include <headroom/rollout/engine_memory.hpp>
#include <headroom/settle/settle.hpp>

namespace headroom {

/// One layer's cos and sin where each layer keeps its own.
constexpr bytes rotary_caches(const settled_job& s) {
  if (s.model.position != position_kind::rope) return bytes{0};
  const auto width = s.layer.base.quantised() ? 4 : s.precision.parameters.width();
  return bytes{checked::mul(2 * s.model.max_positions, s.model.head_width(), width)};
}

/// cuBLAS workspace of one handle and stream, which lies in the caching allocator: 4096 KiB × 2 + 16 KiB × 8, and 32 MiB with
/// compute capability 9.x, with 10.x and 12.x since 2026-02, which is PyTorch 2.12 (aten/src/ATen/cuda/CublasHandlePool.cpp,
/// parseChosenWorkspaceSize; pytorch pull request 175344); 32 MiB on AMD.
constexpr bytes cublas_workspace(const settled_job& s) {
  const auto& j = *s.source;
  const auto& g = *s.on;
  if (g.maker == vendor::cpu) return bytes{0};
  if (j.environment.cublas_workspace >= bytes{0}) return j.environment.cublas_workspace;
  const auto torch = j.environment.torch;
  const bool recent = torch > 0 ? torch >= 212 : j.framework.date >= 202602;
  if (g.maker == vendor::amd || g.compute_capability / 10 == 9 || (g.compute_capability >= 100 && recent)) return 32 * mib;
  return 8'519'680 * bytes{1};
}

/// The buffer into which Unsloth's forward dequantises matrices, and that of their blocks' scales in fp32: of the largest one's size, to the end
/// (unsloth kernels/utils.py fast_dequantize, WEIGHT_BUFFERS and ABSMAX_BUFFERS). The buffers to which checkpoints come back from the host
/// (unsloth_zoo gradient_checkpointing.py GPU_BUFFERS since 5572cc46, 2025-01-07, beside which the last layer's input stays; two since 510d987f, 2026-05-04).
constexpr bytes unsloth_buffers(const settled_job& s) {
  const auto& j = *s.source;
  const auto& m = s.model;
  if (j.framework.adapters.functions != adapter_functions::accumulate) return bytes{0};
  const auto largest = checked::mul(m.hidden, m.ffn > m.query_width() ? m.ffn : m.query_width());
  const auto input = bytes{checked::mul(s.layer.tokens, m.hidden, s.layer.width)};
  const bool leaves = j.offload.activations != place::on_gpu && input > 2 * mib;  // MINIMUM_SIZE
  const auto weights = j.adapter.base.quantised() ? bytes{checked::mul(largest, s.layer.width)} + bytes{checked::mul(checked::ceil_div(largest, 64), 4)} : bytes{0};
  return weights + (leaves ? (j.framework.date >= 202605 ? 2 : 1) * input : bytes{0});
}

/// CUDA context with its kernels. Calibrated, not derived: 300 to 400 MiB with lazily loaded modules in public reports
/// (426 MiB on an RTX 6000 Ada with torch 2.10; 287 MB lazily and 667 MB eagerly loaded with torch 1.13).
/// Loaded whole, they took 1,343 MiB on a V100 with torch 1.10 (transformers, guide to training on one GPU: before the model). On Hopper with
/// torch 2.11 and CUDA 13.0, 767 MiB (766.8 in each of three runs of tests/accuracy/measured_here.jsonl, driver 580).
constexpr bytes context_of(const job& j, const gpu& g, bool loads_all_kernels = false) {
  if (g.maker == vendor::cpu) return bytes{0};
  const bool measured = g.maker == vendor::nvidia && g.compute_capability / 10 == 9 && j.environment.torch >= 211;
  return (loads_all_kernels ? 1343 : measured ? 767 : 400) * mib;
}

/// What NCCL has for one channel and peer: 10 MiB to receive from it (Simple, LL and LL128 together, in pages of 2 MiB) and 2 MiB to send to it
/// (src/init.cc computeBuffSizes, transport/p2p.cc; blocks of these sizes are in the log of NCCL issue 1685). RCCL has fewer threads: 6 MiB and 2
/// (ROCm/rccl src/include/device.h NCCL_MAX_NTHREADS, NCCL_LL128_ELEMS_PER_THREAD at 0cbce2a7, 2024-10-24).
constexpr bytes nccl_peer(const settled_job& s) {
  const bytes simple = s.source->environment.nccl_buffsize >= bytes{0} ? s.source->environment.nccl_buffsize : 4 * mib;
  return round_up(simple + bytes{s.on->maker == vendor::amd ? 8 * 256 * 8 * 16 + 28 * 256 * 8 * 8 : 8 * 512 * 8 * 16 + 120 * 640 * 8 * 8}, 2 * mib) + 2 * mib;
}

/// Channels of a communicator, `near` of whose ranks share a node, and of what is sent to one rank of the node. NCCL: 24 within a node of A100 or H100 (nccl-tests issue 100,
/// NCCL issue 1259), 16 with fewer links and across nodes (NCCL issue 892); 32 to a rank of the node. RCCL, as on MI300X (src/graph/rome_models.cc
/// rome_model_79, src/init.cc, src/graph/connect.cc ncclTopoPostset, src/graph/paths.cc ncclTopoComputeP2pChannels at 0cbce2a7): eight for each link to another
/// GPU of the node, 32 between two, 64 across nodes (16, as NCCL's, where a node has fewer than eight of the ranks: no table of rings is for them); eight to a rank of the node.
constexpr std::int64_t nccl_channels(const gpu& g, std::int64_t ranks, std::int64_t near) {
  if (g.maker == vendor::amd) return near < ranks ? (near < 8 ? 16 : 64) : ranks == 2 ? 32 : 8 * (ranks - 1);
  return near == ranks && g.link_gb_s >= 300 ? 24 : 16;
}
constexpr std::int64_t peer_channels(const gpu& g) { return g.maker == vendor::amd ? 8 : 32; }

/// Of a group's ranks, which lie `apart` ranks from each other, those on one node.
constexpr std::int64_t near_ranks(const settled_job& s, std::int64_t ranks, std::int64_t apart) {
  const auto node = s.source->hardware.gpus_per_node / apart;
  return node < 1 ? 1 : (node < ranks ? node : ranks);
}

/// A communicator. A ring receives from one neighbour and sends to the other, and the tree over the same ranks of a node, a chain, goes both ways
/// between them. Where multicast passes large tensors, from 9.0, a buffer of 1 MiB (up to 2.21, torch 2.6, with 2 MiB beside it) in either direction
/// for each of 16 channels, 24 from 10.0, and each rank of the node (transport/nvls.cc ncclNvlsBufferSetup).
constexpr bytes communicator(const settled_job& s, std::int64_t ranks, std::int64_t apart, bool passes_much = true) {
  if (ranks <= 1) return bytes{0};
  const auto near = near_ranks(s, ranks, apart);
  const auto& g = *s.on;
  const bool switched = g.link_gb_s >= 300 && near > 1;
  const auto rings = nccl_channels(g, ranks, near) * (near > 2 && g.link_gb_s >= 100 ? 2 : 1) * nccl_peer(s);
  if (!passes_much || !switched || near <= 2 || g.compute_capability < 90) return rings;
  const auto torch = s.source->environment.torch;
  const bool beside = torch > 0 ? torch < 207 : s.source->framework.date < 202504;
  return rings + checked::mul(2 * (g.compute_capability >= 100 ? 24 : 16), near) * (beside ? 3 : 1) * mib;
}

/// GPUs of the node with which a rank exchanges experts' tokens: each sends to each, where a ring has one neighbour on either side.
/// Expert-parallel ranks lie next to each other, those of one expert's tensor-parallel group nearer still.
constexpr std::int64_t token_peers(const settled_job& s) {
  const auto& d = s.source->parallel;
  if (!s.model.sparse() || d.expert <= 1) return 0;
  const auto near = s.source->hardware.gpus_per_node / d.expert_tensor;
  const auto together = d.expert < near ? d.expert : near;
  return together > 2 ? together - 1 : 1;  // other nodes share the buffers of a network card: as much as one peer
}

/// NCCL's buffers: a communicator for each kind of group of more than one rank, opened at its first use (Megatron-LM core/parallel_state.py
/// initialize_model_parallel; torch.distributed.device_mesh, a group for each dimension). Copies between the GPUs of one process need none; what
/// is sent to one rank of the node alone has channels of its own. Little passes the group of all ranks beside Megatron's and DeepSpeed's own
/// (megatron/training/training.py start_time_tensor; deepspeed/utils/groups.py _clone_world_group), and that of Megatron's gradient norm
/// (core/optimizer/__init__.py grad_stats_parallel_group).
constexpr bytes nccl_of(const settled_job& s) {
  if (s.on->maker == vendor::cpu) return bytes{0};
  const auto& d = s.source->parallel;
  const auto& z = s.source->sharding;
  const auto& modules = s.source->framework.modules;
  const auto replicas = checked::mul(s.data, d.context), stage = checked::mul(replicas, d.tensor);
  const bool twice = s.shards.secondary > 1, mics = z.mics_shard_size > 0 && z.mics_shard_size < s.data;
  const auto shards = twice ? s.shards.secondary : mics ? z.mics_shard_size : replicas / d.replicate;
  bytes all = communicator(s, shards, d.tensor) + communicator(s, d.tensor, 1) + communicator(s, d.context, d.tensor);  // gradients, whatever is sharded
  if (twice) all = all + communicator(s, replicas, d.tensor);  // hpZ: weights are gathered in a node, gradients reduced among all
  else if (shards < replicas) all = all + communicator(s, replicas / shards, d.tensor * shards);  // the same shards of other groups
  std::int64_t stages = 1;
  if (d.pipeline > 1 && !properties_of(d.schedule).one_process) {
    stages = d.pipeline;
    all = all + (near_ranks(s, stages, stage) > 1 ? peer_channels(*s.on) * (stages > 2 ? 2 : 1) : 16) * nccl_peer(s);
  }
  if (const auto experts = s.model.sparse() ? checked::mul(d.expert, d.expert_tensor) : 1; experts > 1)
    all = all + communicator(s, d.expert_tensor, 1) + communicator(s, stage / experts, experts);  // … gradients of the same experts
  const auto world = checked::mul(stage, stages);
  if (modules.megatron() && !modules.nanotron())
    all = all + communicator(s, world, 1, false) + communicator(s, z.by(sharder::megatron) ? world : checked::mul(d.tensor, stages), 1, false);
  else if (z.by(sharder::deepspeed)) all = all + communicator(s, world, 1, false);
  return all + checked::mul(peer_channels(*s.on), token_peers(s)) * nccl_peer(s);
}

namespace detail {

/// Processes beside the trainer's on this GPU. verl's vLLM is one since weights pass through a buffer (workers/rollout/vllm_rollout, 2026-01-24), its
/// SGLang always (workers/rollout/sglang_rollout, _launch_subprocesses); OpenRLHF's engine, reference, reward model and critic are one each (openrlhf/trainer/ray/launcher.py RayActorGroup).
constexpr std::int64_t processes_beside(const job& j) {
  const auto& o = j.objective;
  if (o.code == method_code::verl) return j.rollout.engine == engine_kind::sglang || j.rollout.sync_bucket_mib != 0 ? 1 : 0;
  if (o.code == method_code::nemo_rl) return 1;  // an actor of Ray's (nemo_rl/models/generation/vllm/vllm_worker.py)
  if (o.code != method_code::openrlhf) return 0;
  return 1 + (other_model_of(j) == other_weights::own ? 1 : 0) + (o.has_reward() ? 1 : 0) + (o.critic.given() ? 1 : 0);
}

/// Of an engine on this GPU: its graphs; a ring where it divides the model; contexts of processes of their own.
constexpr bytes engine_outside(const settled_job& s) {
  const auto& r = s.source->rollout;
  if (!r.shares_gpus()) return bytes{0};
  return graphs_of(r) + communicator(s, r.tensor, 1) + processes_beside(*s.source) * context_of(*s.source, *s.on);
}

constexpr outside_allocator outside_of(const settled_job& s) {
  const auto& process = s.source->framework.process;
  return {process.contexts * context_of(*s.source, *s.on, process.loads_all_kernels), nccl_of(s), engine_outside(s)};
}

/// All that is used of a GPU whose allocator has reserved so much.
constexpr bytes device_of(const settled_job& s, bytes reserved) {
  const auto o = outside_of(s);
  return reserved + o.total();
}

}  // namespace detail

}  // namespace headroom
