// Distributed under the Boost Software License, Version 1.0.
// How a number is stored. Block-wise formats carry their scales, so that a tensor's bytes are exact.
#pragma once

#include <headroom/name.hpp>
#include <headroom/units/quantity.hpp>

#include <array>

namespace headroom {

/// `bits` per element; one scale of `scale_bits` for every started `block` elements; one outer scale of `outer_bits` for
/// every started `outer_block` scales (double quantisation); `column_bits` for each input feature of a matrix (GPTQ's
/// group index); `row_bits` for each output feature; `table` bytes of a look-up table and `offset` bytes of a mean for each tensor.
struct number_format {
  short_name label{};
  std::int32_t bits{};
  std::int32_t block{};
  std::int32_t scale_bits{};
  std::int32_t outer_block{};
  std::int32_t outer_bits{};
  std::int32_t column_bits{};
  std::int32_t row_bits{};
  std::int32_t table{};
  std::int32_t offset{};

  /// False for a format that was left open: the framework's default takes its place.
  [[nodiscard]] constexpr bool set() const { return !label.empty(); }
  [[nodiscard]] constexpr bool present() const { return bits > 0; }
  /// Whether it packs numbers into fewer than 16 bits with metadata beside them, and is dequantised before a matrix multiplication.
  [[nodiscard]] constexpr bool quantised() const { return block > 0 || column_bits > 0 || row_bits > 0; }
  /// Bytes of one element of a plain format.
  [[nodiscard]] constexpr std::int64_t width() const { return bits / 8; }
  [[nodiscard]] constexpr bytes_per_parameter density() const { return bytes_per_parameter::of_bits(bits); }

  /// Bytes of a rows × columns tensor, with its metadata.
  [[nodiscard]] constexpr bytes storage(std::int64_t rows, std::int64_t columns = 1) const {
    const auto n = checked::mul(rows, columns);
    return bytes{checked::add(checked::ceil_div(checked::mul(n, bits), 8), metadata(rows, columns).count())};
  }
  /// What storage() holds beside the elements: scales, tables, indices; each a tensor, whose bytes are a multiple of `granule`, a power of two.
  [[nodiscard]] constexpr bytes metadata(std::int64_t rows, std::int64_t columns = 1, std::int64_t granule = 1) const {
    if (!quantised()) return bytes{0};
    std::int64_t total = 0;
    const auto add = [&](std::int64_t n, std::int64_t of_bits) {
      total = checked::add(total, checked::add(checked::ceil_div(checked::mul(n, of_bits), 8), granule - 1) & -granule);
    };
    add(table, 8);
    add(offset, 8);
    if (block > 0) {
      const auto scales = checked::ceil_div(checked::mul(rows, columns), block);
      add(scales, scale_bits);
      if (outer_block > 0) add(checked::ceil_div(scales, outer_block), outer_bits);
    }
    add(columns, column_bits);
    add(rows, row_bits);
    return bytes{total};
  }

  friend constexpr bool operator==(const number_format& a, const number_format& b) {  // first what differs most
    return a.bits == b.bits && a.block == b.block && a.scale_bits == b.scale_bits && a.outer_block == b.outer_block && a.outer_bits == b.outer_bits &&
           a.column_bits == b.column_bits && a.row_bits == b.row_bits && a.table == b.table && a.offset == b.offset && a.label == b.label;
  }
};

/// Number formats. A new one is one value here, or anywhere else: nothing looks them up by name but the readers.
namespace formats {
inline constexpr number_format none{.label = "none"};
inline constexpr number_format fp32{.label = "fp32", .bits = 32};
inline constexpr number_format tf32{.label = "tf32", .bits = 32};  // stored as fp32; only the multiplication is shorter
inline constexpr number_format bf16{.label = "bf16", .bits = 16};
inline constexpr number_format fp16{.label = "fp16", .bits = 16};
inline constexpr number_format fp8{.label = "fp8", .bits = 8};
inline constexpr number_format int8{.label = "int8", .bits = 8, .row_bits = 32};  // LLM.int8(): one fp32 scale a row
inline constexpr number_format int4{.label = "int4", .bits = 4};
inline constexpr number_format nvfp4{.label = "nvfp4", .bits = 4};  // of multiplications: their operands are cast for each (TransformerEngine NVFP4BlockScaling)
/// bitsandbytes, functional.py quantize_4bit: blocks of 64 with an fp32 absmax, and a 16-entry fp32 code book.
inline constexpr number_format nf4{.label = "nf4", .bits = 4, .block = 64, .scale_bits = 32, .table = 64};
/// … with the absmax quantised to 8 bits in blocks of 256 (QLoRA paper, section 3), less their mean, which is kept. The table of 256 numbers behind these
/// bytes is one for all tensors (functional.py quantize_blockwise, name2qmap["dynamic"]); a checkpoint that is quantised already has one for each.
inline constexpr number_format nf4_double{
    .label = "nf4-double", .bits = 4, .block = 64, .scale_bits = 8, .outer_block = 256, .outer_bits = 32, .table = 64, .offset = 4};
/// … with the other code book of quantize_4bit (get_4bit_type "fp4"), which is as long: BitsAndBytesConfig's own where nothing is said.
inline constexpr number_format fp4 = [] {
  auto f = nf4;
  f.label = "fp4";
  return f;
}();
inline constexpr number_format fp4_double = [] {
  auto f = nf4_double;
  f.label = "fp4-double";
  return f;
}();
/// AutoGPTQ, group size 128: fp16 scales, 4-bit (8-bit) zeros, an int32 group index for each input feature.
inline constexpr number_format gptq_int4{.label = "gptq-int4", .bits = 4, .block = 128, .scale_bits = 16 + 4, .column_bits = 32};
inline constexpr number_format gptq_int8{.label = "gptq-int8", .bits = 8, .block = 128, .scale_bits = 16 + 8, .column_bits = 32};
/// AutoAWQ modules/linear/gemm.py WQLinear_GEMM, group size 128: fp16 scales and 4-bit zeros, packed in int32, without an index.
inline constexpr number_format awq_int4{.label = "awq-int4", .bits = 4, .block = 128, .scale_bits = 16 + 4};
/// State of an 8-bit optimizer: blocks of 256 with an fp32 absmax (bitsandbytes, optim/optimizer.py init_state).
inline constexpr number_format int8_blockwise{.label = "int8-blockwise", .bits = 8, .block = 256, .scale_bits = 32};
/// torchao optim/subclass_8bit.py, subclass_4bit.py, subclass_fp8.py: an fp32 scale a block, and for integers a code book in fp32 for each tensor.
inline constexpr number_format int8_torchao{.label = "int8-torchao", .bits = 8, .block = 256, .scale_bits = 32, .table = 1024};
inline constexpr number_format int4_torchao{.label = "int4-torchao", .bits = 4, .block = 128, .scale_bits = 32, .table = 64};
/// flashoptim optimizers.py quantize: an fp16 scale for 32 numbers.
inline constexpr number_format int8_flash{.label = "int8-flash", .bits = 8, .block = 32, .scale_bits = 16};
inline constexpr number_format fp8_torchao{.label = "fp8-torchao", .bits = 8, .block = 256, .scale_bits = 32};

inline constexpr std::array<number_format, 16> all{none, fp32, tf32, bf16, fp16, fp8, nvfp4, int8, int4, nf4, nf4_double, fp4, fp4_double, gptq_int4, gptq_int8, awq_int4};
}  // namespace formats

}  // namespace headroom
