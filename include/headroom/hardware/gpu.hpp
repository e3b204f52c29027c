// Distributed under the Boost Software License, Version 1.0.
// Accelerators as data. A new one is one value; anything that is a `gpu` can be put into a job.
#pragma once

#include <headroom/hardware/accelerator.hpp>

namespace headroom {

/// Sources: vendors' data sheets for rates and links (NVIDIA's architecture white papers of GA102, AD102 and GB202 for GeForce cards: dense, with
/// accumulation in fp32); `memory` from torch's out-of-memory messages and device properties in public issues (driver dependent, about 0.2 GiB
/// either way), among them, in GiB: RTX 2080 Ti 10.76 (JDAI-CV/image-captioning 11), RTX 8000 47.27 (nv-tlabs/cosmos-transfer1-diffusion-renderer 11),
/// RTX A4000 15.61 (DengKaiCQ/VGGT-Long 6), 3060 11.75 (Kunhao-Liu/StyleGaussian 12), 3070 7.78
/// (akshitac8/OW-DETR 46), 3080 9.78 (zai-org/CogVideo 34), 4070 Ti 11.73 (OpenLMLab/LOMO 17), 4080 Super 15.60 (shanice-l/UNOPose 4), 16 GB of
/// GDDR7 15.45 (Luce-Org/lucebox 407), RTX PRO 6000 94.97 (antirez/ds4 431), A30 23.53 (google/RB-Modulation 5), L20 44.53
/// (Tencent-Hunyuan/HunyuanCustom 36), GB10 119.67 (leptonai/gpud 1170; 121.69 with later systems), a die of the Ascend 910C 61.27
/// (sgl-project/sglang 29838). Cards with as much memory of the same generation have the same. Of an MI300A's 128 GiB HIP allocates 96 unless its
/// driver is told otherwise (ROCm, system optimization of MI300A). TPUs and Trainium have what their makers' documents say.
// clang-format off
namespace gpus {
// name, usable memory, compute capability, GB/s, TFLOP/s x 10 in bf16, fp16, fp8, fp32, link GB/s, PCIe generation, maker, best
// measured matrix multiplication (stas00/ml-engineering compute/accelerator/README.md at 744d01e, MAMF; of the
// 96 GB H100, which runs at 500 W, the 80 GB one's by the root of the power: an
// assumption that torchtitan's runs were looked at for; of the H20, torch 2.7 at 10,240: zzc0721/torch-performance-test-data issue 77; A800 and H800 are A100 and H100 with fewer links), GPUs of an NVLink domain
inline constexpr gpu p100_pcie_16gb{"p100-pcie-16gb", 16280 * mib, 60, 732, 0, 187, 0, 93, 16, 3, vendor::nvidia};
inline constexpr gpu v100_sxm2_16gb{"v100-sxm2-16gb", 16159 * mib, 70, 900, 0, 1250, 0, 157, 150, 3, vendor::nvidia};
inline constexpr gpu v100_sxm2_32gb{"v100-sxm2-32gb", 32512 * mib, 70, 900, 0, 1250, 0, 157, 150, 3, vendor::nvidia};
inline constexpr gpu t4{"t4", 15114 * mib, 75, 320, 0, 650, 0, 81, 16, 3, vendor::nvidia};
inline constexpr gpu rtx_2080_ti{"rtx-2080-ti", 11019 * mib, 75, 616, 0, 538, 0, 134, 50, 3, vendor::nvidia};
inline constexpr gpu titan_rtx{"titan-rtx", 24217 * mib, 75, 672, 0, 1305, 0, 163, 50, 3, vendor::nvidia};
inline constexpr gpu quadro_rtx_8000{"quadro-rtx-8000", 48404 * mib, 75, 672, 0, 1305, 0, 163, 50, 3, vendor::nvidia};
inline constexpr gpu a10{"a10", 22733 * mib, 86, 600, 1250, 1250, 0, 312, 31, 4, vendor::nvidia};
inline constexpr gpu a10g{"a10g", 22733 * mib, 86, 600, 700, 700, 0, 350, 31, 4, vendor::nvidia};
inline constexpr gpu a40{"a40", 45629 * mib, 86, 696, 1497, 1497, 0, 374, 56, 4, vendor::nvidia};
inline constexpr gpu rtx_3060{"rtx-3060", 12032 * mib, 86, 360, 255, 255, 0, 127, 31, 4, vendor::nvidia};
inline constexpr gpu rtx_3060_ti{"rtx-3060-ti", 7967 * mib, 86, 448, 324, 324, 0, 162, 31, 4, vendor::nvidia};
inline constexpr gpu rtx_3070{"rtx-3070", 7967 * mib, 86, 448, 406, 406, 0, 203, 31, 4, vendor::nvidia};
inline constexpr gpu rtx_3070_ti{"rtx-3070-ti", 7967 * mib, 86, 608, 435, 435, 0, 217, 31, 4, vendor::nvidia};
inline constexpr gpu rtx_3080{"rtx-3080", 10015 * mib, 86, 760, 595, 595, 0, 298, 31, 4, vendor::nvidia};
inline constexpr gpu rtx_3080_12gb{"rtx-3080-12gb", 12032 * mib, 86, 912, 613, 613, 0, 306, 31, 4, vendor::nvidia};
inline constexpr gpu rtx_3080_ti{"rtx-3080-ti", 12032 * mib, 86, 912, 682, 682, 0, 341, 31, 4, vendor::nvidia};
inline constexpr gpu rtx_3090{"rtx-3090", 24259 * mib, 86, 936, 710, 710, 0, 356, 56, 4, vendor::nvidia};
inline constexpr gpu rtx_4060{"rtx-4060", 7936 * mib, 89, 272, 302, 302, 605, 151, 16, 4, vendor::nvidia};
inline constexpr gpu rtx_4060_ti_8gb{"rtx-4060-ti-8gb", 7936 * mib, 89, 288, 441, 441, 882, 221, 16, 4, vendor::nvidia};
inline constexpr gpu rtx_4060_ti_16gb{"rtx-4060-ti-16gb", 15974 * mib, 89, 288, 441, 441, 882, 221, 16, 4, vendor::nvidia};
inline constexpr gpu rtx_4070{"rtx-4070", 12011 * mib, 89, 504, 583, 583, 1166, 291, 31, 4, vendor::nvidia};
inline constexpr gpu rtx_4070_super{"rtx-4070-super", 12011 * mib, 89, 504, 710, 710, 1419, 355, 31, 4, vendor::nvidia};
inline constexpr gpu rtx_4070_ti{"rtx-4070-ti", 12011 * mib, 89, 504, 802, 802, 1603, 401, 31, 4, vendor::nvidia};
inline constexpr gpu rtx_4070_ti_super{"rtx-4070-ti-super", 15974 * mib, 89, 672, 882, 882, 1764, 441, 31, 4, vendor::nvidia};
inline constexpr gpu rtx_4080{"rtx-4080", 15974 * mib, 89, 717, 975, 975, 1949, 487, 31, 4, vendor::nvidia};
inline constexpr gpu rtx_4080_super{"rtx-4080-super", 15974 * mib, 89, 736, 1044, 1044, 2088, 522, 31, 4, vendor::nvidia};
inline constexpr gpu rtx_4090{"rtx-4090", 24207 * mib, 89, 1008, 1652, 1652, 3303, 826, 31, 4, vendor::nvidia};
inline constexpr gpu rtx_4090_d{"rtx-4090-d", 24207 * mib, 89, 1008, 1471, 1471, 2942, 735, 31, 4, vendor::nvidia};
inline constexpr gpu rtx_5060_ti_16gb{"rtx-5060-ti-16gb", 15816 * mib, 120, 448, 474, 474, 949, 237, 31, 5, vendor::nvidia};
inline constexpr gpu rtx_5070{"rtx-5070", 11766 * mib, 120, 672, 617, 617, 1235, 309, 63, 5, vendor::nvidia};
inline constexpr gpu rtx_5070_ti{"rtx-5070-ti", 15816 * mib, 120, 896, 879, 879, 1758, 439, 63, 5, vendor::nvidia};
inline constexpr gpu rtx_5080{"rtx-5080", 15816 * mib, 120, 960, 1126, 1126, 2251, 563, 63, 5, vendor::nvidia};
inline constexpr gpu rtx_5090{"rtx-5090", 32113 * mib, 120, 1792, 2095, 2095, 4190, 1048, 63, 5, vendor::nvidia};
inline constexpr gpu rtx_pro_6000{"rtx-pro-6000", 97249 * mib, 120, 1792, 5038, 5038, 10076, 1260, 63, 5, vendor::nvidia};
inline constexpr gpu rtx_pro_6000_server{"rtx-pro-6000-server", 97249 * mib, 120, 1597, 0, 0, 0, 0, 63, 5, vendor::nvidia};
inline constexpr gpu rtx_a4000{"rtx-a4000", 15985 * mib, 86, 448, 767, 767, 0, 192, 31, 4, vendor::nvidia};
inline constexpr gpu rtx_a5000{"rtx-a5000", 24259 * mib, 86, 768, 1111, 1111, 0, 278, 56, 4, vendor::nvidia};
inline constexpr gpu rtx_a6000{"rtx-a6000", 48681 * mib, 86, 768, 1548, 1548, 0, 387, 56, 4, vendor::nvidia};
inline constexpr gpu rtx_6000_ada{"rtx-6000-ada", 48640 * mib, 89, 960, 3642, 3642, 7285, 911, 31, 4, vendor::nvidia};
inline constexpr gpu l4{"l4", 22702 * mib, 89, 300, 1210, 1210, 2420, 303, 31, 4, vendor::nvidia};
inline constexpr gpu l20{"l20", 45598 * mib, 89, 864, 1195, 1195, 2390, 598, 31, 4, vendor::nvidia};
inline constexpr gpu l40{"l40", 45568 * mib, 89, 864, 1810, 1810, 3620, 905, 31, 4, vendor::nvidia};
inline constexpr gpu l40s{"l40s", 45466 * mib, 89, 864, 3620, 3620, 7330, 916, 31, 4, vendor::nvidia};
inline constexpr gpu a30{"a30", 24094 * mib, 80, 933, 1650, 1650, 0, 103, 100, 4, vendor::nvidia};
inline constexpr gpu a100_sxm_40gb{"a100-sxm-40gb", 40335 * mib, 80, 1555, 3120, 3120, 0, 195, 300, 4, vendor::nvidia, 2712};
inline constexpr gpu a100_sxm_80gb{"a100-sxm-80gb", 81050 * mib, 80, 2039, 3120, 3120, 0, 195, 300, 4, vendor::nvidia, 2712};
inline constexpr gpu a100_pcie_40gb{"a100-pcie-40gb", 40335 * mib, 80, 1555, 3120, 3120, 0, 195, 300, 4, vendor::nvidia, 2529};
inline constexpr gpu a100_pcie_80gb{"a100-pcie-80gb", 81050 * mib, 80, 1935, 3120, 3120, 0, 195, 300, 4, vendor::nvidia, 2529};
inline constexpr gpu a800_sxm_40gb{"a800-sxm-40gb", 40335 * mib, 80, 1555, 3120, 3120, 0, 195, 200, 4, vendor::nvidia, 2712};
inline constexpr gpu a800_sxm_80gb{"a800-sxm-80gb", 81254 * mib, 80, 2039, 3120, 3120, 0, 195, 200, 4, vendor::nvidia, 2712};
inline constexpr gpu h800_sxm_80gb{"h800-sxm-80gb", 81009 * mib, 90, 3350, 9890, 9890, 19790, 670, 200, 5, vendor::nvidia, 7945};
inline constexpr gpu h20_96gb{"h20-96gb", 97280 * mib, 90, 4000, 1480, 1480, 2960, 440, 450, 5, vendor::nvidia, 1422};
inline constexpr gpu h20_141gb{"h20-141gb", 143165 * mib, 90, 4800, 1480, 1480, 2960, 440, 450, 5, vendor::nvidia, 1422};
inline constexpr gpu h100_pcie_80gb{"h100-pcie-80gb", 81009 * mib, 90, 2039, 7560, 7560, 15130, 510, 300, 5, vendor::nvidia};
inline constexpr gpu h100_sxm_96gb{"h100-sxm-96gb", 97270 * mib, 90, 2400, 9890, 9890, 19790, 670, 450, 5, vendor::nvidia, 6710};
inline constexpr gpu h100_nvl_94gb{"h100-nvl-94gb", 95334 * mib, 90, 3938, 8350, 8350, 16710, 600, 300, 5, vendor::nvidia};
inline constexpr gpu h200_sxm_141gb{"h200-sxm-141gb", 143165 * mib, 90, 4800, 9890, 9890, 19790, 670, 450, 5, vendor::nvidia, 7945};
inline constexpr gpu h200_nvl_141gb{"h200-nvl-141gb", 143165 * mib, 90, 4800, 8350, 8350, 16710, 600, 450, 5, vendor::nvidia};
inline constexpr gpu gh200_96gb{"gh200-96gb", 96768 * mib, 90, 4000, 9890, 9890, 19790, 670, 450, 5, vendor::nvidia, 8286};
inline constexpr gpu gh200_144gb{"gh200-144gb", 143155 * mib, 90, 4800, 9890, 9890, 19790, 670, 450, 5, vendor::nvidia, 8286};
inline constexpr gpu b200_sxm_180gb{"b200-sxm-180gb", 182630 * mib, 100, 8000, 22500, 22500, 45000, 800, 900, 5, vendor::nvidia, 17450};
inline constexpr gpu gb200_186gb{"gb200-186gb", 188416 * mib, 100, 8000, 25000, 25000, 50000, 800, 900, 5, vendor::nvidia, 18220, 72};
inline constexpr gpu b300_sxm_288gb{"b300-sxm-288gb", 274432 * mib, 103, 8000, 22500, 22500, 45000, 800, 900, 6, vendor::nvidia, 17690};
inline constexpr gpu gb300_288gb{"gb300-288gb", 283648 * mib, 103, 8000, 25000, 25000, 50000, 800, 900, 6, vendor::nvidia, 0, 72};
inline constexpr gpu gb10{"gb10", 122548 * mib, 121, 273, 0, 0, 0, 0, 0, 5, vendor::nvidia, 0, 0, 0, true};
inline constexpr gpu mi210_64gb{"mi210-64gb", 65515 * mib, 0, 1638, 1810, 1810, 0, 226, 150, 4, vendor::amd};
inline constexpr gpu mi250x_128gb{"mi250x-128gb", 131031 * mib, 0, 3277, 3830, 3830, 0, 479, 350, 4, vendor::amd};
inline constexpr gpu mi300x_192gb{"mi300x-192gb", 196291 * mib, 0, 5300, 13070, 13070, 26150, 1634, 448, 5, vendor::amd, 6684};
inline constexpr gpu mi300a_128gb{"mi300a-128gb", 98304 * mib, 0, 5300, 9806, 9806, 19612, 1226, 384, 5, vendor::amd, 0, 0, 0, true};
inline constexpr gpu mi325x_256gb{"mi325x-256gb", 262124 * mib, 0, 6000, 13070, 13070, 26150, 1634, 448, 5, vendor::amd, 7849};
inline constexpr gpu mi355x_288gb{"mi355x-288gb", 294892 * mib, 0, 8000, 25000, 25000, 50000, 1573, 536, 5, vendor::amd, 15650};
inline constexpr gpu gaudi2_96gb{"gaudi2-96gb", 96870 * mib, 0, 2460, 4320, 4320, 8650, 0, 262, 4, vendor::intel, 4187};
inline constexpr gpu gaudi3_128gb{"gaudi3-128gb", 129536 * mib, 0, 3700, 16770, 4590, 16770, 2290, 525, 5, vendor::intel, 12430};
inline constexpr gpu ascend_910b_64gb{"ascend-910b-64gb", 62433 * mib, 0, 1600, 3130, 3130, 0, 750, 196, 5, vendor::huawei};
// One of the two dies of a package, which torch_npu sees as a device.
inline constexpr gpu ascend_910c_64gb{"ascend-910c-64gb", 62740 * mib, 0, 1600, 0, 0, 0, 0, 0, 5, vendor::huawei};
inline constexpr gpu tpu_v4{"tpu-v4", 32768 * mib, 0, 1200, 2750, 0, 0, 0, 300, 0, vendor::google};
inline constexpr gpu tpu_v5e{"tpu-v5e", 16384 * mib, 0, 820, 1970, 0, 0, 0, 200, 0, vendor::google};
inline constexpr gpu tpu_v5p{"tpu-v5p", 97280 * mib, 0, 2765, 4590, 0, 0, 0, 600, 0, vendor::google};
inline constexpr gpu tpu_v6e{"tpu-v6e", 32768 * mib, 0, 1640, 9180, 0, 0, 0, 400, 0, vendor::google};
inline constexpr gpu trainium2_96gb{"trainium2-96gb", 98304 * mib, 0, 2900, 6670, 6670, 12990, 1810, 0, 5, vendor::amazon};

/// A processor: tensors cost exactly their bytes, no context, no library workspaces. For counting, not for capacity.
inline constexpr gpu cpu{.label = "cpu", .memory = 1024 * 1024 * mib, .maker = vendor::cpu};
}  // namespace gpus
// clang-format on

}  // namespace headroom
