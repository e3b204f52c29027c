// Distributed under the Boost Software License, Version 1.0.
// The program of each kind of mixer: from the normalised input to what is added to the residual stream.
#pragma once

#include <headroom/block/disentangled.hpp>
#include <headroom/block/gated_convolution.hpp>
#include <headroom/block/gated_delta_net.hpp>
#include <headroom/block/kimi_delta.hpp>
#include <headroom/block/latent.hpp>
#include <headroom/block/lightning_attention.hpp>
#include <headroom/block/mamba1.hpp>
#include <headroom/block/mamba2.hpp>
#include <headroom/block/rg_lru.hpp>

namespace headroom::ops {

/// FalconH1DecoderLayer (transformers 5.16 models/falcon_h1/modeling_falcon_h1.py): what goes into each half and what comes out is scaled.
constexpr tensor attend_beside_mamba2(program& p, const scene& s, const module_set& trained, tensor x) {
  const auto scanned = scale(p, s, mamba2(p, s, trained, scale(p, s, x)));
  return add(p, scanned, scale(p, s, attend(p, s, trained, scale(p, s, x))));
}

/// The program of a kind of mixer.
constexpr tensor mix(program& p, const scene& s, mixer_kind kind, const module_set& trained, tensor x) {
  switch (kind) {
    case mixer_kind::none:
    case mixer_kind::own: break;
    case mixer_kind::attention: return s.model->position == position_kind::disentangled ? disentangled_attend(p, s, trained, x) : attend(p, s, trained, x);
    case mixer_kind::global_attention:
    case mixer_kind::shared_attention:
    case mixer_kind::shared_global_attention: {
      const auto model = attending(*s.model, kind);
      auto there = s;
      there.model = &model;
      return attend(p, there, trained, x, shares_keys(kind) ? key_source::shared : model.global.keys_as_values ? key_source::as_values : key_source::own);
    }
    case mixer_kind::latent_attention: return latent_attend(p, s, trained, x);
    case mixer_kind::sparse_attention: return latent_attend(p, s, trained, x, true);
    case mixer_kind::gated_delta_net: return gated_delta_net(p, s, trained, x);
    case mixer_kind::mamba2: return mamba2(p, s, trained, x);
    case mixer_kind::mamba1: return mamba1(p, s, trained, x);
    case mixer_kind::attention_mamba2: return attend_beside_mamba2(p, s, trained, x);
    case mixer_kind::gated_convolution: return gated_convolution(p, s, trained, x);
    case mixer_kind::lightning_attention: return lightning_attention(p, s, trained, x);
    case mixer_kind::rg_lru: return rg_lru(p, s, trained, x);
    case mixer_kind::kimi_delta: return kimi_delta(p, s, trained, x);
  }
  return x;
}

}  // namespace headroom::ops
