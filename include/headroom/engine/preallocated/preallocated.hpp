// Distributed under the Boost Software License, Version 1.0.
// Trainers that allocate everything before the first step. The plan of llm.c, tensor by tensor.
// Sources: karpathy/llm.c @ f1e2ace, train_gpt2.c fill_in_activation_sizes, gpt2_backward; train_gpt2.cu
// fill_in_activation_sizes (recompute r, USE_CUDNN), gpt2_allocate_state.
#pragma once

#include <headroom/settle/settle.hpp>
#include <headroom/states/states.hpp>
#include <headroom/step/timeline.hpp>

namespace headroom {

namespace detail {

/// Activations of train_gpt2.c, in elements: every layer's, nothing reused.
constexpr std::int64_t llm_c_host_activations(std::int64_t b, std::int64_t t, const shape& m) {
  const auto bt = checked::mul(b, t);
  const auto c = m.hidden;
  const auto scores = checked::mul(b, m.heads, checked::mul(t, t));
  // ln1, qkv (3), atty, attproj, residual2, ln2, fch and fch_gelu (ffn each), fcproj, residual3; ln means and deviations
  const auto layer = checked::add(checked::mul(bt, 10 * c + 2 * m.ffn + 4), checked::mul(2, scores));
  // encoded, lnf and its two statistics, logits and probabilities, losses
  return checked::add(checked::mul(m.layers, layer), checked::mul(bt, 2 * c + 3 + 2 * m.vocab));
}

/// Activations of train_gpt2.cu, in bytes. `reuse` 0: all kept; 1: the GELU's result is computed again; 2: LayerNorms too.
constexpr bytes llm_c_device_activations(std::int64_t b, std::int64_t t, const shape& m, std::int64_t width, int reuse, bool cudnn) {
  const auto bt = checked::mul(b, t);
  const auto c = m.hidden;
  const auto btc = bytes{checked::mul(bt, c, width)};
  const auto statistics = bytes{checked::mul(bt, 4)};
  const auto hidden = bytes{checked::mul(bt, m.ffn, width)};
  const auto scores = checked::mul(b, m.heads, t);
  const auto attention = cudnn ? bytes{checked::mul(scores, 4)} : bytes{checked::mul(scores, t, width)};
  bytes total = btc;                                              // encoded
  if (reuse < 2) total += m.layers * (2 * btc);                   // ln1, ln2
  total += m.layers * (4 * statistics);
  total += m.layers * (btc + attention + 2 * btc + hidden);       // atty, att, residual2, residual3 (attproj shares), fch
  total += (reuse < 1 ? m.layers : 1) * hidden;                   // fch_gelu
  total += btc + 3 * statistics;                                  // lnf with its statistics and the losses
  total += m.layers * (3 * btc);                                  // qkvr
  const auto widest = max(max(bytes{checked::mul(bt, 3 * c, width)}, bytes{checked::mul(scores, t, width)}),
                          bytes{checked::mul(bt, m.vocab, width)});
  total += widest;                                                // output: logits, and scratch of the backward
  total += 5 * btc;                                               // scratch_bt4c and scratch_btc
  return total;
}

}  // namespace detail

/// llm.c shards optimizer state with zero_stage 1 only, and only where the ranks divide the parameters; anything else it turns
/// off without a word (train_gpt2.cu, set_zero_configs).
constexpr void settle_preallocated(settled_job& s, const inventory& list) {
  const auto total = count(list, s.model.experts).total.count();
  const bool shards = s.source->sharding.by(sharder::deepspeed) && s.source->sharding.stage == 1 && total % s.data == 0;
  s.flat = true;
  s.shards = {1, 1, shards ? s.data : 1};
}

/// The one moment of such a trainer: all of it.
constexpr timeline walk_preallocated(const settled_job& s, const state_bytes& st) {
  const auto& j = *s.source;
  const auto& m = s.model;
  moment all{};
  auto& rows = all.rows;
  const auto b = s.layer.samples, t = s.layer.sequence;
  rows[row::model_parameters] = st.gpu[row::model_parameters];
  rows[row::gradients] = st.gpu[row::gradients];
  rows[row::optimizer_state] = st.gpu[row::optimizer_state];
  rows[row::master_parameters] = st.gpu[row::master_parameters];
  if (s.layer.host) {
    const bytes activations{checked::mul(detail::llm_c_host_activations(b, t, m), 4)};
    rows[row::activations] = activations + bytes{checked::mul(b, t, 8)};  // inputs and targets, int32
    rows[row::temporaries] = activations;                                               // their gradients mirror them
  } else {
    const bool cudnn = s.layer.kernel != attention::eager && s.layer.kernel != attention::math;
    const auto has = [&](recompute_module x) { return (j.recompute.modules >> static_cast<int>(x) & 1U) != 0; };
    const int reuse = j.recompute.mode == recompute_mode::none ? 0 : has(recompute_module::layernorm) ? 2 : 1;
    rows[row::activations] = detail::llm_c_device_activations(b, t, m, s.layer.width, reuse, cudnn) + bytes{checked::mul(b, t, 8)} + bytes{4};
    rows[row::workspace] = 32 * mib;  // cublasLt
  }
  all.total = rows.total();
  timeline line;
  moment weights(row::model_parameters, rows[row::model_parameters]);
  line.look(phase::load, -1, weights);
  for (const auto p : {phase::forward, phase::loss_forward, phase::backward, phase::reduce, phase::step, phase::save}) line.look(p, -1, all);
  return line;
}

}  // namespace headroom
