// Distributed under the Boost Software License, Version 1.0.
// The updates of optimizers that go through the weights one after another, each read off its own code. Digits are the names of that code, in
// the order in which it gives them; 5 and more are results that have none.
#pragma once

#include <headroom/recipe/update.hpp>

#include <initializer_list>

namespace headroom::updates {

/// One kernel for each tensor: bitsandbytes optim/optimizer.py update_step (csrc/kernels.cu kOptimizer…), and the fused kernels that DeepSpeed
/// and apex have.
inline constexpr update_program one_kernel{};

/// transformers optimization.py Adafactor.step, without a first moment. Names: grad 0, p_data_fp32 1, update 2.
inline constexpr update_program adafactor = [] {
  using enum update_format;
  using enum update_extent;
  update_program p;
  p.matrix = {forget(0), widen(0, gradient), forget(1), widen(1, weight),
              make(5), make(6), forget(5), rename(2, 6),                                               // grad**2, + eps
              make(5, fp32, rows), forget(5), make(5, fp32, columns), forget(5),                       // means
              make(5, fp32, rows), make(6, fp32, columns), make(7), forget(5), forget(6), rename(2, 7),  // _approx_sq_grad
              make(5), forget(5)};                                                                     // -update
  p.plain = {forget(0), widen(0, gradient), forget(1), widen(1, weight),
             make(5), make(6), forget(5), rename(2, 6),
             make(5), rename(2, 5),                                                                    // rsqrt
             make(5), forget(5)};
  return p;
}();

/// lomo_optim lomo.py fuse_update: grad_fp32 and p_fp32, for each gradient as it comes.
inline constexpr update_program lomo{{}, {widen(0, update_format::gradient), widen(1, update_format::weight)}, true};

/// lomo_optim adalomo.py fuse_update: Adafactor's, with p_fp32 made last.
inline constexpr update_program adalomo = [] {
  using enum update_format;
  using enum update_extent;
  update_program p;
  p.matrix = {widen(0, gradient), make(5), make(6), forget(5), rename(2, 6), make(5, fp32, rows), forget(5), make(5, fp32, columns), forget(5),
              make(5, fp32, rows), make(6, fp32, columns), make(7), forget(5), forget(6), rename(2, 7), widen(1, weight)};
  p.plain = {widen(0, gradient), make(5), make(6), forget(5), rename(2, 6), make(5), rename(2, 5), widen(1, weight)};
  p.in_calls = true;
  return p;
}();

/// galore_torch adamw.py AdamW.step and galore_projector.py, in a step that makes new projections: the singular value decomposition works on a
/// copy (aten BatchLinearAlgebra.cpp _linalg_svd). Its library's workspace is left out. Names: grad 0, denom 1, norm_grad 2.
inline constexpr update_program galore = [] {
  using enum update_format;
  using enum update_extent;
  update_program p;
  p.matrix = {forget(0), widen(3, gradient), make(4), make(5), make(6, fp32, square), forget(4), forget(5), forget(6), forget(3),
              make(5, gradient, low_rank), rename(0, 5), make(5, state, low_rank), rename(1, 5), make(5, state, low_rank), rename(2, 5),
              make(5, state), make(6, state), forget(5), rename(2, 6)};  // project_back, * scale
  p.plain = {forget(0), make(5, state), rename(1, 5), make(5, state), rename(2, 5)};
  return p;
}();

/// … adamw8bit.py AdamW8bit.step: the weight is copied, and its place taken by a tensor of low rank, until the kernel is done. The gradient,
/// whose place is taken likewise and stays so, counts until the step's end. Names: grad 0.
inline constexpr update_program galore_8bit = [] {
  using enum update_format;
  using enum update_extent;
  update_program p;
  p.matrix = {widen(3, gradient), make(4), make(5), make(6, fp32, square), forget(4), forget(5), forget(6), forget(3),
              make(0, gradient, low_rank), make(1, weight), make(2, weight, low_rank), forget(1),
              make(5, weight), make(6, weight), forget(5), forget(6), forget(2), forget(0)};  // project_back, * scale
  return p;
}();

/// … adafactor.py Adafactor.step: Adafactor's of a projected gradient. Names: grad 0, p_data_fp32 1, update 2.
inline constexpr update_program galore_adafactor = [] {
  using enum update_format;
  using enum update_extent;
  update_program p;
  p.matrix = {forget(0), widen(0, gradient), make(4), make(5), make(6, fp32, square), forget(4), forget(5), forget(6),
              make(5, fp32, low_rank), rename(0, 5), forget(1), widen(1, weight),
              make(5, fp32, low_rank), make(6, fp32, low_rank), forget(5), rename(2, 6), make(5, fp32, low_rank), rename(2, 5),
              make(5), make(6), forget(5), rename(2, 6), make(5), forget(5)};  // project_back, * scale; -update
  p.plain = adafactor.plain;
  return p;
}();

/// apollo_torch apollo.py AdamW.step and random_projector.py, in a step that draws new projections. Names: grad 0, denom 1, norm_grad 2, scaled_grad 3.
inline constexpr update_program apollo = [] {
  using enum update_format;
  using enum update_extent;
  update_program p;
  p.matrix = {forget(0), widen(4, gradient), make(5, fp32, projection), make(6, fp32, projection), forget(5), forget(6), forget(4),
              make(5, gradient, low_rank), rename(0, 5), make(5, state, low_rank), rename(1, 5), make(5, state, low_rank), rename(2, 5),
              make(5, gradient), rename(3, 5), make(5, gradient), rename(3, 5), forget(2)};  // scaled, / limiter
  p.plain = {forget(0), make(5, state), rename(1, 5), make(5, state), rename(2, 5)};
  return p;
}();

/// LLaMA-Factory third_party/muon/muon.py Muon.step, as Jordan's: Newton-Schulz iterations in bf16, of which the first two hold what the others
/// do. Embeddings, head and vectors have its lines of AdamW. Names: g 0, u 1, A 2, B 3, X 4.
inline constexpr update_program muon = [] {
  using enum update_format;
  using enum update_extent;
  update_program p;
  const auto add = [&](std::initializer_list<update_step> steps) {
    for (const auto& s : steps) p.matrix.list[static_cast<std::size_t>(p.matrix.size++)] = s;
  };
  add({forget(0), make(5, gradient), rename(0, 5), narrow(4, gradient), make(5, bf16), rename(4, 5)});
  for (int i = 0; i < 2; ++i) {
    add({make(5, bf16, square), rename(2, 5), make(5, bf16, square), make(6, bf16, square), make(7, bf16, square), forget(6), make(6, bf16, square), forget(5), forget(7), rename(3, 6)});
    add({make(5, bf16), make(6, bf16), make(7, bf16), forget(5), forget(6), rename(4, 7)});
  }
  add({rename(1, 4), forget(2), forget(3)});
  p.plain = {forget(0), make(5, gradient), forget(5), make(5, state), make(6, state), forget(5), make(7, state), forget(6), rename(0, 7)};
  return p;
}();

/// adam_mini.py Adam_mini.step: grad * grad, update, -update. Names: update 2.
inline constexpr update_program adam_mini = [] {
  using enum update_format;
  update_program p;
  p.matrix = {make(5, gradient), forget(5), make(5, state), rename(2, 5), make(5, state), forget(5)};
  p.plain = p.matrix;
  return p;
}();

/// came_pytorch CAME.py CAME.step. Names: grad 0, update 2, res 3, res_approx (which update is then) 4.
inline constexpr update_program came = [] {
  using enum update_format;
  using enum update_extent;
  update_program p;
  p.matrix = {forget(0), widen(0, gradient), make(5), make(6), forget(5), rename(2, 6),
              make(5, fp32, rows), make(6, fp32, columns), make(7), forget(5), forget(6), rename(2, 7),
              make(5), make(6), forget(5), make(7), forget(6), rename(3, 7),                                        // (update - exp_avg)**2 + eps
              make(5, fp32, rows), make(6, fp32, columns), make(7), forget(5), forget(6), rename(4, 7), forget(2),  // res_approx
              make(5), forget(5)};
  p.plain = {forget(0), widen(0, gradient), make(5), make(6), forget(5), rename(2, 6), make(5), rename(2, 5),
             make(5), make(6), forget(5), make(7), forget(6), rename(3, 7), make(5), rename(2, 5), make(5), forget(5)};
  return p;
}();

/// prodigyopt prodigy.py Prodigy.step: p0 - p, |s|, and in a second loop denom 1.
inline constexpr update_program prodigy{{}, {make(5, update_format::weight), forget(5), make(5, update_format::weight), forget(5), make(5, update_format::weight), rename(1, 5)}};

/// torchdistx anyprecision_optimizer.py AnyPrecisionAdamW.step: sqrt, its quotient. Names: centered_variance 0.
inline constexpr update_program anyprecision{{}, {make(5, update_format::state), make(6, update_format::state), forget(5), rename(0, 6)}};

/// grokadamw grokadamw.py GrokAdamW._update_group: copies of the state, which lies in host memory. Names: exp_avg 0, exp_avg_sq 1, grok_ema 2,
/// grok_grad 3.
inline constexpr update_program grokadamw = [] {
  using enum update_format;
  update_program p;
  p.plain = {make(5, state), make(6, state), rename(0, 5), rename(1, 6), make(2, state),
             make(5, state), make(6, gradient), forget(5), rename(3, 6), make(5, state), forget(5)};  // grad + lamb * grok_ema, sqrt
  return p;
}();

/// flashoptim optimizers.py _ensure_state_initialized, in the first step; then one kernel for each tensor.
inline constexpr update_program flash{{}, {make(0, update_format::weight), forget(0)}};

/// nikhilvyas/SOAP soap.py SOAP.step in a step with a QR decomposition (get_orthogonal_matrix_QR). What takes a state's place counts until the
/// name lets go of what was the state. Names: grad_projected 0, exp_avg 1, denom 2, norm_grad 3, exp_avg_sq 4, outer_product 6, o 7,
/// power_iter 8, Q 9 and 11, _ 10.
inline constexpr update_program soap = [] {
  using enum update_format;
  using enum update_extent;
  update_program p;
  p.matrix = {make(5, fp32, through_rows), make(5, fp32, through_columns), rename(0, 5), forget(1), forget(4),
              make(5), forget(5), make(2),                                                                      // square, sqrt
              make(5), make(5, fp32, through_rows), make(5, fp32, through_columns), rename(3, 5),               // exp_avg / denom, projected back
              make(5, fp32, through_rows), make(5, fp32, through_columns), rename(1, 5),
              make(6, fp32, rows_squared), make(6, fp32, columns_squared),
              make(7, fp32, rows_squared), make(8, fp32, rows_squared), forget(7), forget(8),                   // o.T @ m @ o
              make(4, fp32, through_rows), make(7, fp32, rows_squared), make(8, fp32, rows_squared), make(9, fp32, rows_squared), make(10, fp32, rows_squared), forget(7),
              make(7, fp32, columns_squared), make(11, fp32, columns_squared), forget(7), forget(11),
              make(4, fp32, through_columns), make(7, fp32, columns_squared), make(8, fp32, columns_squared), make(11, fp32, columns_squared), make(10, fp32, columns_squared),
              forget(7), forget(8), forget(9), forget(10), forget(11),
              make(5, fp32, through_rows), make(5, fp32, through_columns), forget(5), forget(6)};
  p.plain = {forget(0), forget(1), forget(4), make(5), forget(5), make(2), make(5), rename(3, 5)};
  return p;
}();

/// optimi adam.py _single_param_adam, where foreach and Triton are off: the denominator, which has no name.
inline constexpr update_program optimi{{}, {make(5, update_format::state), forget(5)}};

/// torchao optim/adam.py single_param_adam, compiled by itself: three fp32 copies of the tensor, which is what torchtune's row with AdamW8bit
/// says (framework/torchtune.hpp).
inline constexpr update_program torchao{{}, {make(0), make(1), make(2)}, true};

}  // namespace headroom::updates
