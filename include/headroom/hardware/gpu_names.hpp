// Distributed under the Boost Software License, Version 1.0.
// All accelerators, and the other names that they answer to: for who looks one up by its name.
#pragma once

#include <headroom/hardware/gpu.hpp>

#include <array>

namespace headroom::gpus {

// clang-format off
/// All of them.
inline constexpr auto all = std::to_array<gpu>({
    p100_pcie_16gb, v100_sxm2_16gb, v100_sxm2_32gb, t4, rtx_2080_ti, titan_rtx, quadro_rtx_8000, a10, a10g, a40, rtx_3060, rtx_3060_ti, rtx_3070,
    rtx_3070_ti, rtx_3080, rtx_3080_12gb, rtx_3080_ti, rtx_3090, rtx_4060, rtx_4060_ti_8gb, rtx_4060_ti_16gb, rtx_4070, rtx_4070_super,
    rtx_4070_ti, rtx_4070_ti_super, rtx_4080, rtx_4080_super, rtx_4090, rtx_4090_d, rtx_5060_ti_16gb, rtx_5070, rtx_5070_ti, rtx_5080, rtx_5090,
    rtx_pro_6000, rtx_pro_6000_server, rtx_a4000, rtx_a5000, rtx_a6000, rtx_6000_ada, l4, l20, l40, l40s, a30, a100_sxm_40gb, a100_sxm_80gb,
    a100_pcie_40gb, a100_pcie_80gb, a800_sxm_40gb, a800_sxm_80gb, h800_sxm_80gb, h20_96gb, h20_141gb, h100_pcie_80gb, h100_sxm_80gb,
    h100_sxm_96gb, h100_nvl_94gb, h200_sxm_141gb, h200_nvl_141gb, gh200_96gb, gh200_144gb, b200_sxm_180gb, gb200_186gb, b300_sxm_288gb,
    gb300_288gb, gb10, mi210_64gb, mi250x_128gb, mi300x_192gb, mi300a_128gb, mi325x_256gb, mi355x_288gb, gaudi2_96gb, gaudi3_128gb,
    ascend_910b_64gb, ascend_910c_64gb, tpu_v4, tpu_v5e, tpu_v5p, tpu_v6e, trainium2_96gb, cpu});

/// Another name of a GPU.
struct alias { name from; name to; };
/// The other names that are known.
inline constexpr auto aliases = std::to_array<alias>({
    {"a100-40gb", "a100-sxm-40gb"},
    {"a100-80gb", "a100-sxm-80gb"},
    {"h100-80gb", "h100-sxm-80gb"},
    {"h200", "h200-sxm-141gb"},
    {"b200", "b200-sxm-180gb"},
    {"b300", "b300-sxm-288gb"},
    {"gb200", "gb200-186gb"},
    {"gb300", "gb300-288gb"},
    {"a10g-24gb", "a10g"},
    {"rtx-8000", "quadro-rtx-8000"},
    {"rtx-4090d", "rtx-4090-d"},
    {"a800-40gb", "a800-sxm-40gb"},
    {"a800-80gb", "a800-sxm-80gb"},
    {"v100-32gb", "v100-sxm2-32gb"},
    {"v100-16gb", "v100-sxm2-16gb"},
    {"mi250x", "mi250x-128gb"},
    {"mi300x", "mi300x-192gb"},
    {"mi325x", "mi325x-256gb"},
    {"mi355x", "mi355x-288gb"},
    {"mi300a", "mi300a-128gb"},
    {"mi210", "mi210-64gb"},
    {"p100", "p100-pcie-16gb"},
    {"rtx-3060-12gb", "rtx-3060"},
    {"rtx-3080-10gb", "rtx-3080"},
    {"rtx-pro-6000-blackwell", "rtx-pro-6000"},
    {"dgx-spark", "gb10"},
    {"h20-3e", "h20-141gb"},
    {"ascend-910c", "ascend-910c-64gb"},
    {"trainium2", "trainium2-96gb"}});
/// Names that drivers report, in small letters and without the maker (io/job/hardware.hpp); read and not listed.
inline constexpr auto driver_names = std::to_array<alias>({
    {"a100-sxm4-40gb", "a100-sxm-40gb"},
    {"a100-sxm4-80gb", "a100-sxm-80gb"},
    {"a100-80gb-pcie", "a100-pcie-80gb"},
    {"a800-sxm4-40gb", "a800-sxm-40gb"},
    {"a800-sxm4-80gb", "a800-sxm-80gb"},
    {"h200-nvl", "h200-nvl-141gb"},
    {"h100-80gb-hbm3", "h100-sxm-80gb"},
    {"h100-pcie", "h100-pcie-80gb"},
    {"h100-nvl", "h100-nvl-94gb"},
    {"gh200-480gb", "gh200-96gb"},
    {"rtx-pro-6000-blackwell-workstation-edition", "rtx-pro-6000"},
    {"rtx-pro-6000-blackwell-server-edition", "rtx-pro-6000-server"}});
// clang-format on

}  // namespace headroom::gpus
