// Distributed under the Boost Software License, Version 1.0.
// What each key of a job's hardware means, with its unit (key_sentences.hpp).
#pragma once

#include <headroom/io/job/model_sentences.hpp>

#include <array>

namespace headroom::io {

// clang-format off
inline constexpr auto hardware_sentences = std::to_array<key_sentence>({
    {"hardware", "GPUs and nodes; left out: one H100"},
    {"hardware.gpu", "a name (headroom list gpus), a GPU, or a list of {\"gpu\", \"count\"} in the order of ranks"},
    {"hardware.gpu.name", "a name of the table, whose other keys are then known, or any other with memory_gib"},
    {"hardware.gpu.memory_gib", "GiB that a process can use of it, as torch's total_memory says"},
    {"hardware.gpu.compute_capability", "CUDA's, 9.0 of an H100"},
    {"hardware.gpu.bandwidth_gb_s", "10^9 bytes a second of its memory; 0: not known"},
    {"hardware.gpu.bf16_tflops", "dense peak in 10^12 FLOP a second; 0: not known"},
    {"hardware.gpu.fp16_tflops", "dense peak in 10^12 FLOP a second; 0: not known"},
    {"hardware.gpu.fp8_tflops", "dense peak in 10^12 FLOP a second; 0: no such units"},
    {"hardware.gpu.fp32_tflops", "dense peak in 10^12 FLOP a second, without tensor cores; 0: not known"},
    {"hardware.gpu.link_gb_s", "10^9 bytes a second to its neighbours in the node, all links, one direction"},
    {"hardware.gpu.pcie_generation", "of its slot"},
    {"hardware.gpu.vendor", "its maker; cpu: tensors alone are counted"},
    {"hardware.gpu.matmul_tflops", "the best 16-bit matrix multiplication measured, 10^12 FLOP a second; 0: not known"},
    {"hardware.gpu.link_domain", "GPUs that its links join, where those are more than a node's"},
    {"hardware.gpu.network_gbit", "its share of the node's network, 10^9 bits a second; 0: by its generation"},
    {"hardware.gpu.unified", "its memory is the host's, too"},
    {"hardware.nodes", "nodes"},
    {"hardware.gpus_per_node", "GPUs of a node; left out: 1, or what a list counts"},
    {"hardware.network_gbit_per_node", "10^9 bits a second that a node sends to others; 0: what nodes of its GPU usually have"},
    {"hardware.host_memory_gib", "GiB of memory of a node; 0: not judged"},
    {"hardware.nvme_gib", "GiB of NVMe of a node; 0: not judged"},
    {"hardware.taken_gib", "GiB of each GPU that others hold: a desktop, a second process"},
});
// clang-format on

}  // namespace headroom::io
