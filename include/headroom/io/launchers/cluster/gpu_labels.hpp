// Distributed under the Boost Software License, Version 1.0.
// What clusters call GPUs: labels of nodes, types of machines, accelerators of SkyPilot; a row each.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace headroom::io::detail {

/// `from`: the label, or how it begins where it ends in "*". `to`: a name of the table of GPUs.
struct gpu_label {
  std::string_view from, to;
};

// clang-format off

/// Labels of Kubernetes' nodes. nvidia.com/gpu.product is the name that the driver gives, with hyphens for blanks (NVIDIA/k8s-device-plugin,
/// internal/lm/resource.go); cloud.google.com/gke-accelerator is Google's (cloud.google.com/kubernetes-engine, GPUs).
inline constexpr auto node_gpu_labels = std::to_array<gpu_label>({
    {"NVIDIA-H100-80GB-HBM3", "h100-sxm-80gb"}, {"NVIDIA-H100-PCIe", "h100-pcie-80gb"}, {"NVIDIA-H100-NVL", "h100-nvl-94gb"},
    {"NVIDIA-H200", "h200-sxm-141gb"}, {"NVIDIA-H800", "h800-sxm-80gb"}, {"NVIDIA-H20", "h20-96gb"}, {"NVIDIA-B200", "b200-sxm-180gb"},
    {"NVIDIA-B300-SXM6-AC", "b300-sxm-288gb"}, {"NVIDIA-GB200", "gb200-186gb"}, {"NVIDIA-GB300", "gb300-288gb"},
    {"NVIDIA-A100-SXM4-80GB", "a100-sxm-80gb"}, {"NVIDIA-A100-SXM4-40GB", "a100-sxm-40gb"}, {"A100-SXM4-40GB", "a100-sxm-40gb"},
    {"NVIDIA-A100-80GB-PCIe", "a100-pcie-80gb"}, {"NVIDIA-A100-PCIE-40GB", "a100-pcie-40gb"}, {"NVIDIA-A800-SXM4-80GB", "a800-sxm-80gb"},
    {"NVIDIA-A40", "a40"}, {"NVIDIA-A30", "a30"}, {"NVIDIA-A10G", "a10g"}, {"NVIDIA-L4", "l4"}, {"NVIDIA-L20", "l20"}, {"NVIDIA-L40", "l40"}, {"NVIDIA-L40S", "l40s"},
    {"NVIDIA-RTX-A6000", "rtx-a6000"}, {"NVIDIA-RTX-6000-Ada-Generation", "rtx-6000-ada"}, {"NVIDIA-GeForce-RTX-3090", "rtx-3090"},
    {"NVIDIA-GeForce-RTX-4090", "rtx-4090"}, {"NVIDIA-GeForce-RTX-5090", "rtx-5090"}, {"Tesla-V100-SXM2-16GB", "v100-sxm2-16gb"},
    {"Tesla-V100-SXM2-32GB", "v100-sxm2-32gb"}, {"Tesla-T4", "t4"}, {"Tesla-P100-PCIE-16GB", "p100-pcie-16gb"},
    {"nvidia-tesla-p100", "p100-pcie-16gb"}, {"nvidia-tesla-t4", "t4"}, {"nvidia-tesla-v100", "v100-sxm2-16gb"}, {"nvidia-tesla-a100", "a100-sxm-40gb"},
    {"nvidia-a100-80gb", "a100-sxm-80gb"}, {"nvidia-l4", "l4"}, {"nvidia-h100-80gb", "h100-sxm-80gb"}, {"nvidia-h100-mega-80gb", "h100-sxm-80gb"},
    {"nvidia-h200-141gb", "h200-sxm-141gb"}, {"nvidia-b200", "b200-sxm-180gb"}, {"nvidia-gb200", "gb200-186gb"},
});

/// Types of machines that have one kind of GPU (docs.aws.amazon.com/ec2, accelerated computing; learn.microsoft.com, GPU sizes;
/// cloud.google.com/compute, GPU machine types).
inline constexpr auto machine_gpu_labels = std::to_array<gpu_label>({
    {"p3dn.24xlarge", "v100-sxm2-32gb"}, {"p3.*", "v100-sxm2-16gb"}, {"p4d.24xlarge", "a100-sxm-40gb"}, {"p4de.24xlarge", "a100-sxm-80gb"}, {"p5.*", "h100-sxm-80gb"},
    {"p5e.*", "h200-sxm-141gb"}, {"p5en.*", "h200-sxm-141gb"}, {"p6-b200.*", "b200-sxm-180gb"}, {"g4dn.*", "t4"}, {"g5.*", "a10g"}, {"g6.*", "l4"}, {"g6e.*", "l40s"},
    {"Standard_ND96isr_H100_v5", "h100-sxm-80gb"}, {"Standard_ND96isr_H200_v5", "h200-sxm-141gb"}, {"Standard_ND96amsr_A100_v4", "a100-sxm-80gb"}, {"Standard_ND96asr_v4", "a100-sxm-40gb"},
    {"Standard_NC24ads_A100_v4", "a100-pcie-80gb"}, {"Standard_NC48ads_A100_v4", "a100-pcie-80gb"}, {"Standard_NC96ads_A100_v4", "a100-pcie-80gb"},
    {"Standard_NC40ads_H100_v5", "h100-nvl-94gb"}, {"Standard_NC80adis_H100_v5", "h100-nvl-94gb"}, {"a2-highgpu-*", "a100-sxm-40gb"}, {"a2-megagpu-*", "a100-sxm-40gb"}, {"a2-ultragpu-*", "a100-sxm-80gb"},
    {"a3-highgpu-*", "h100-sxm-80gb"}, {"a3-megagpu-*", "h100-sxm-80gb"}, {"a3-ultragpu-*", "h200-sxm-141gb"}, {"a4-highgpu-*", "b200-sxm-180gb"}, {"g2-standard-*", "l4"},
});

/// Accelerators of SkyPilot (sky show-gpus; docs.skypilot.co, compute). Where clouds have a card in two boards under one name, that of the
/// larger machines: memory is the same.
inline constexpr auto skypilot_gpu_labels = std::to_array<gpu_label>({
    {"P100", "p100-pcie-16gb"}, {"V100", "v100-sxm2-16gb"}, {"V100-32GB", "v100-sxm2-32gb"}, {"T4", "t4"}, {"A10G", "a10g"}, {"A40", "a40"}, {"L4", "l4"}, {"L40", "l40"}, {"L40S", "l40s"},
    {"RTX3090", "rtx-3090"}, {"RTX4090", "rtx-4090"}, {"RTX5090", "rtx-5090"}, {"RTXA6000", "rtx-a6000"}, {"A6000", "rtx-a6000"}, {"RTX6000-Ada", "rtx-6000-ada"},
    {"A100", "a100-sxm-40gb"}, {"A100-80GB", "a100-sxm-80gb"}, {"A100-80GB-SXM", "a100-sxm-80gb"}, {"H100", "h100-sxm-80gb"}, {"H100-SXM", "h100-sxm-80gb"}, {"H100-80GB", "h100-sxm-80gb"}, {"H100-MEGA-80GB", "h100-sxm-80gb"},
    {"H100-NVL", "h100-nvl-94gb"}, {"H200", "h200-sxm-141gb"}, {"H200-SXM", "h200-sxm-141gb"}, {"B200", "b200-sxm-180gb"}, {"B300", "b300-sxm-288gb"}, {"GB200", "gb200-186gb"}, {"MI300X", "mi300x-192gb"},
});
// clang-format on

/// The GPU that a label names; empty for a label that is not in the table.
template <std::size_t N>
constexpr std::string_view gpu_of_label(const std::array<gpu_label, N>& table, std::string_view label) {
  for (const auto& row : table)
    if (row.from == label || (row.from.ends_with('*') && label.starts_with(row.from.substr(0, row.from.size() - 1)))) return row.to;
  return {};
}

}  // namespace headroom::io::detail
