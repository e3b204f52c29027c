// Distributed under the Boost Software License, Version 1.0.
// A forward of a model that does not train, beside one that does: it keeps nothing, or the inputs of its layers (TRL's precomputed logits under a
// checkpointing model). Counted layer by layer.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

#include <algorithm>

namespace test_bare_forward {

using namespace headroom;

TEST_CASE("layers of a model that does not train") {
  for (const std::int64_t layers : {1, 2, 7})
    for (const std::int64_t vocab : {256, 65'536}) {
      job j{.model = {.layers = layers, .hidden = 512, .heads = 8, .ffn = 1024, .vocab = vocab}, .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = frameworks::hf_trainer,
                  .precision = precisions::bf16, .batch = {.micro = 2, .sequence = 512}, .attention = attention::flash};
      j.trainable = {{.modules = {module::head}}};  // no layer of it
      const auto s = settle(j);
      auto sc = s.layer;
      sc.model = &s.model;
      sc.loss_program = loss_style::logits;
      const auto st = states(s, weights_of(s.model));
      const auto w = windows_of(s, st);
      const std::int64_t x = 2 * 2 * 512 * 512, angles = 2 * 2 * 512 * 64;
      const auto layer = walk_layer(sc, module_set{}, false).forward.total.count();
      const auto off = [&](const program& p) { return walk_forward(p, recording::off).peak.total.count(); };
      const auto front = with_made([&] { return embedding(sc, module_set{}); }, off), tail = with_made([&] { return detail::tail_of(sc, module_set{}, false); }, off);
      const auto nothing = detail::walk_bare(s, st, w, detail::shipped_layers{});
      CHECK(nothing.layers.count() == std::max(front, 2 * angles + layer));
      CHECK(nothing.head.count() == 2 * angles + tail);
      // The last layer's input is in what the layer needs.
      const auto inputs = detail::walk_bare(s, st, w, detail::shipped_layers{}, true);
      CHECK(inputs.layers.count() == std::max(front, 2 * angles + (layers - 1) * x + layer));
      CHECK(inputs.head.count() == 2 * angles + layers * x + tail);
    }
}

}  // namespace test_bare_forward
