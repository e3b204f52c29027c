// Distributed under the Boost Software License, Version 1.0.
// One run of a block, told to several listeners: sums, blocks of the caching allocator, and a slow interpreter beside them agree to the
// byte, on programs drawn at random and on every block that a job drawn at random is made of.
#include "../estimate/draw.hpp"
#include "slow_run.hpp"

#include <both.hpp>
#include <headroom/block/embedding.hpp>
#include <headroom/block/loss.hpp>
#include <headroom/block/layer.hpp>
#include <headroom/block/megatron_layer.hpp>
#include <headroom/replay/block_trace.hpp>

namespace test_run {

using namespace headroom;

namespace {

constexpr std::int64_t unit = 4096;  // divisible by every number of pieces, and by the allocator's granule

/// Operations over what is there already, with everything that an operation may be told.
program any_program(draw::dice& dice, std::size_t operations) {
  program p(512);
  std::vector<tensor> made;
  std::vector<bool> logits;
  p.sum_out_of_place(dice.index(6) == 0);
  made.push_back(p.input(unit * dice.pick({1, 2, 4}), 1, dice.index(4) != 0));
  if (dice.index(6) == 0) p.borrow_output_gradient(true);
  for (std::size_t o = 0; o < operations; ++o) {
    if (dice.index(8) == 0) p.returns_here();
    const auto some = [&] { return made[dice.index(made.size())]; };
    tensor_set reads = made.back().bit();
    for (std::size_t n = dice.index(3); n > 0; --n) reads |= some().bit();
    tensor_set makes = 0;
    for (std::size_t n = dice.index(5) == 0 ? 2 : 1; n > 0; --n) {
      const bool again = dice.index(5) == 0;
      const auto t = again ? p.view(made.back(), p.elements(made.back())) : p.make(unit * dice.pick({1, 2, 2, 4}), 1, dice.index(5) == 0 ? row::logits : row::activations);
      makes |= t.bit();
      if (!again || n > 1) continue;
    }
    operation_details d;
    for (const auto t : each(reads | makes))
      if (dice.index(3) == 0) d.saves |= t.bit();
    if (dice.index(8) == 0) d.sticky = (*each(reads).begin()).bit();
    if (dice.index(8) == 0) d.holds = some().bit();
    if (dice.flip()) d.forward_temporary = bytes{unit * dice.pick({1, 3})};
    if (dice.flip()) d.backward_temporary = bytes{unit * dice.pick({1, 3})};
    if (dice.flip()) d.weight_gradient = bytes{unit * dice.pick({1, 2, 5})};
    d.passes_gradient = dice.index(3) == 0;
    if (dice.index(6) == 0)
      d.pieces = dice.pick({2, 4, 8});
    else if (dice.index(8) == 0)
      d.releases_first = true;
    p.step(reads, makes, d);
    for (const auto t : each(makes)) made.push_back(t);
  }
  p.set_output(made.back());
  if (dice.index(3) == 0) p.hold_in_forward(made[dice.index(made.size())]);
  if (dice.index(6) == 0) p.hold_through_backward(made[1 + dice.index(made.size() - 1)]);
  if (dice.index(6) == 0) p.recompute(made[dice.index(made.size())].bit());
  if (dice.index(6) == 0) {
    p.checkpoint();
    p.keep(p.input().bit());
    p.keep(made[dice.index(made.size())].bit());
  }
  return p;
}

/// The allocator's own count of what it was asked for.
std::int64_t allocated(const program& p, recording mode) {
  caching_allocator a({.expandable_segments = true});
  tensor_memory memory(a);
  block_trace trace(memory);
  block_tensors b;
  for (const auto t : each(p.storages(p.input().bit()) | (mode == recording::again ? p.kept() : 0))) {
    b.of[t.place()] = memory.make(p.size(t), row::activations);
    b.alive |= t.bit();
  }
  trace.forward(p, mode, b);
  return a.peak_asked();
}
std::int64_t allocated_in_backward(const program& p, bool accumulate) {
  caching_allocator a({.expandable_segments = true});
  tensor_memory memory(a);
  block_trace trace(memory);
  block_tensors b;
  for (const auto t : each(p.held() & ~(p.saved() | p.sticky()))) {
    b.of[t.place()] = memory.make(p.size(t), row::activations);
    b.alive |= t.bit();
  }
  gradient_sink sink;
  sink.accumulate = accumulate;
  trace.backward(p, b, p.needs_gradient(p.output()) ? memory.make(p.size(p.output()), row::temporaries) : tensor_memory::none, sink);
  return a.peak_asked();
}

bool in_one_piece(const program& p) {
  for (std::size_t i = 0; i < p.operations(); ++i)
    if (p[i].pieces > 1) return false;  // of a storage that was made whole the allocator frees nothing piece by piece
  return true;
}

/// The step says how long such gradients wait, where they are blocks (gradient_sink).
bool any_waits(const program& p) {
  for (std::size_t i = 0; i < p.operations(); ++i)
    if (p[i].gradient_waits) return true;
  return false;
}

void agree(const program& p, bool through_allocator) {
  slow::machine slow(p);
  for (const auto mode : {recording::on, recording::off, recording::again}) {
    CAPTURE(static_cast<int>(mode));
    const auto walked = walk_forward(p, mode);
    const auto expected = slow.forward(mode);
    handover returns;
    const auto behind = walk_forward(p, mode, &returns).peak;
    CHECK(walked.peak.total.count() == expected.peak);
    CHECK(walked.peak.rows.total() == walked.peak.total);
    CHECK(walked.saved.count() == expected.left);
    CHECK(returns.before.total.count() == expected.before_return);
    CHECK(max(returns.before.total, behind.total) == walked.peak.total);
    if (through_allocator && p.offloaded() == 0) CHECK(allocated(p, mode) == expected.peak);
  }
  for (const bool accumulate : {false, true}) {
    CAPTURE(accumulate);
    const auto walked = walk_backward(p, accumulate);
    const auto expected = slow.backward(accumulate);
    CHECK(walked.peak.total.count() == expected.peak);
    CHECK(walked.peak.rows.total() == walked.peak.total);
    CHECK(walked.weight_gradients.count() == expected.weights);
    if (through_allocator && !(accumulate && any_waits(p))) CHECK(allocated_in_backward(p, accumulate) == expected.peak);
  }
}

}  // namespace

TEST_CASE("sums, allocations and references counted one by one agree on programs drawn at random") {
  draw::dice dice(17);
  for (int i = 0; i < draw::some(20000); ++i) {
    CAPTURE(i);
    const auto p = any_program(dice, 3 + dice.index(9));
    agree(p, in_one_piece(p));
  }
}

TEST_CASE("… on programs of many tensors, too") {
  draw::dice dice(19);
  std::size_t most = 0;
  for (int i = 0; i < draw::some(300); ++i) {
    CAPTURE(i);
    const auto p = any_program(dice, 30 + dice.index(80));
    agree(p, in_one_piece(p));
    most = std::max(most, p.tensors());
  }
  CHECK(most > 128);
}

TEST_CASE("sums of tensors as large as 64 bits count are exact, or an error") {
  // x → y → z, of n bytes each. Forward holds two of them; backward, which saved y, the gradients of z and y beside it.
  const auto chain = [](std::int64_t n) {
    program p(1);
    const auto x = p.input(n, 1, true), y = p.make(n, 1), z = p.make(n, 1);
    p.step(x.bit(), y.bit(), {.saves = y.bit()});
    p.step(y.bit(), z.bit());
    p.set_output(z);
    return p;
  };
  for (const int bits : {40, 52, 53, 60}) {
    const auto n = (std::int64_t{1} << bits) - 1;
    CAPTURE(bits);
    CHECK(chain(n).near() == (bits <= 53));
    CHECK(walk_forward(chain(n)).peak.total == bytes{2 * n});
    CHECK(walk_backward(chain(n)).peak.total == bytes{3 * n});
  }
  const auto third = std::numeric_limits<std::int64_t>::max() / 3;
  CHECK(walk_backward(chain(third)).peak.total == bytes{3 * third});
#if HEADROOM_EXCEPTIONS
  CHECK(walk_forward(chain(third + 1)).peak.total == bytes{2 * (third + 1)});
  CHECK_THROWS_AS((void)walk_backward(chain(third + 1)), overflow_error);
  CHECK_THROWS_AS((void)walk_forward(chain(std::int64_t{1} << 62)), overflow_error);
#endif
}

TEST_CASE("… and on the blocks of jobs drawn at random") {
  draw::jobs jobs(18);
  int seen = 0;
  for (int i = 0; i < draw::some(4000); ++i) {
    const auto j = jobs.next();
    CAPTURE(i);
    const auto look = [&](const program& p) {
      agree(p, in_one_piece(p) && p.rounded(bytes{1}) == bytes{512});
      ++seen;
    };
    try {
      (void)estimate(j);  // refused jobs
      const auto s = settle(j);
      auto sc = s.layer;
      sc.model = &s.model;
      const auto trained = trained_modules(j, 0), outside = trained_modules(j, -1);
      // The first layer and the last: of two kinds, where dense ones come before sparse ones.
      for (const auto l : {std::int64_t{0}, s.model.layers - 1}) {
        const auto kind = s.model.kind_of(l);
        if (j.framework.modules.megatron()) {
          look(megatron::mixer_block(sc, kind, trained));
          look(megatron::feed_forward_block(sc, kind, trained));
        } else if (!kind.sparse() || experts_at_once(s.model, j.framework.experts)) {
          for (const bool flows : {false, true}) for_each_block(sc, kind, trained, flows, look);
        }
      }
      if (j.framework.modules.megatron()) {
        look(megatron::head_and_loss(sc, outside));
      } else {
        look(embedding(sc, outside));
        look(head_and_loss(sc, outside, true));
      }
    } catch (const error&) {
    }
  }
  CHECK(seen > draw::some(4000));
}

}  // namespace test_run
