// Distributed under the Boost Software License, Version 1.0.
// What holds of every layer's program, whatever the layer: operations read what is there, make what is not, and save what they read or make; and what is
// saved for several modules that train is what is saved for each of them. One layer of each kind of every family, and of Megatron's.
#include "families.hpp"

#include <headroom/block/megatron_layer.hpp>

#include <bit>
#include <map>

namespace test_layer_programs {

using namespace families;

namespace {

using places = std::vector<bool>;
bool in(const wide_set& s, std::size_t i) { return (s.word[i / 64] >> i % 64 & 1U) != 0; }

/// What is wrong with a program by itself; empty: nothing.
std::string wrong_with(const program& p) {
  places there(p.tensors());
  if (p.input().valid()) there[p.input().place()] = true;
  // Of 0 bytes is what another layer made and holds; of 9 an index and a flag side by side.
  for (std::size_t i = 0; i < p.tensors(); ++i)
    if (const auto w = p.width(tensor::at(i)); p.elements(tensor::at(i)) < 0 || (p.one_of(tensor::at(i)) == bytes{0} && w != 0 && w != 1 && w != 2 && w != 4 && w != 8 && w != 9)) return "a tensor's element has " + std::to_string(w) + " bytes";
    else if (w == 0) there[i] = true;
  for (std::size_t o = 0; o < p.operations(); ++o) {
    const auto op = p[o];
    const wide_set reads = op.reads, makes = op.makes, saves = op.saves;
    for (std::size_t i = 0; i < p.tensors(); ++i) {
      if (in(reads, i) && !there[i]) return "operation " + std::to_string(o) + " reads what nothing has made";
      if (in(makes, i) && there[i] && p.width(tensor::at(i)) > 0) return "operation " + std::to_string(o) + " makes what is there";
    }
    for (std::size_t i = 0; i < p.tensors(); ++i)
      if (in(saves & ~p.storages(makes), i) && !there[i]) return "operation " + std::to_string(o) + " saves what nothing has made";
    if (op.recorded && (saves & ~p.saved()) != 0) return "operation " + std::to_string(o) + " saves nothing that lasts";
    if (op.forward_temporary < bytes{0} || op.backward_temporary < bytes{0} || op.weight_gradient < bytes{0}) return "operation " + std::to_string(o) + " has less than nothing";
    for (std::size_t i = 0; i < p.tensors(); ++i)
      if (in(makes, i)) there[i] = true;
  }
  for (std::size_t i = 0; i < p.tensors(); ++i)
    if (!there[i]) return "tensor " + std::to_string(i) + " is never made";
  if (!p.output().valid() || !there[p.output().place()]) return "nothing comes out";
  return {};
}

struct trained_program {
  std::size_t tensors{}, operations{};
  wide_set saved{};
  std::vector<std::int64_t> temporaries{};
};
trained_program of(const program& p) {
  trained_program r{p.tensors(), p.operations(), p.saved(), {}};
  for (std::size_t o = 0; o < p.operations(); ++o) r.temporaries.push_back(p[o].backward_temporary.count());
  return r;
}
using halves = std::vector<trained_program>;

/// Compares what a set of modules saves with what its members do; `make(trained)` gives a layer's programs.
std::string wrong_together(const auto& make) {
  const halves none = make(module_set{}), all = make(every_module());
  std::vector<wide_set> joint;
  for (const auto& h : none) joint.push_back(h.saved);
  for (int m = 0; m < module_count; ++m) {
    const halves one = make(module_set{static_cast<module>(m)});
    for (std::size_t k = 0; k < one.size(); ++k) {
      if (one[k].tensors != all[k].tensors || one[k].operations != all[k].operations) return "";  // copies of what trains alone
      joint[k] |= one[k].saved;
      if ((none[k].saved & ~one[k].saved) != 0) return "half " + std::to_string(k) + " saves less where module " + std::to_string(m) + " trains";
      for (std::size_t o = 0; o < one[k].operations; ++o)
        if (none[k].temporaries[o] > one[k].temporaries[o] || one[k].temporaries[o] > all[k].temporaries[o])
          return "operation " + std::to_string(o) + " of half " + std::to_string(k) + " takes less for a moment where more trains than module " + std::to_string(m);
    }
  }
  for (std::size_t k = 0; k < all.size(); ++k)
    if (!(all[k].saved == joint[k])) return "half " + std::to_string(k) + " saves for all modules something else than for each";
  return "";
}

halves eager_halves(const scene& sc, layer_kind kind, module_set trained) {
  halves r;
  if (kind.sparse() && !sc.habits->experts.at_once()) kind.feeds = feed_forward_kind::none;
  for_each_block(sc, kind, trained, true, [&](const program& p) { r.push_back(of(p)); });
  return r;
}
halves megatron_halves(const scene& sc, layer_kind kind, module_set trained) {
  halves r;
  megatron::for_each_half(sc, kind, trained, [&](const program& p) { r.push_back(of(p)); });
  return r;
}
std::string named(const std::string& type, layer_kind kind) { return type + ", mixer " + std::to_string(static_cast<int>(kind.mixer)) + ", feeds " + std::to_string(static_cast<int>(kind.feeds)); }

}  // namespace

TEST_CASE("programs of every family are well-formed, and save for several modules what they save for each") {
  std::map<std::string, int> wrong;
  int compared = 0;
  for (const auto& f : all())
    for (const auto kernels : {recurrence::eager, recurrence::fused})
      for (const auto* of : {&precisions::bf16, &precisions::fp32, &precisions::bf16_autocast})
        for (const std::int64_t samples : {1, 2})
          each_layer(on_cpu(f.model, *of, kernels, samples), [&](const settled_job&, const scene& sc, std::int64_t, layer_kind kind) {
            ++compared;
            const auto note = [&](const std::string& what) {
              // DeBERTa's layers read a table that another program has made, and what is saved of it for two modules is saved for neither alone.
              if (!what.empty() && f.model.position != position_kind::disentangled) ++wrong[named(f.type, kind) + ", " + std::string(of->label.view()) + (kernels == recurrence::fused ? ", fused: " : ": ") + what];
            };
            auto before = kind;
            if (kind.sparse() && !sc.habits->experts.at_once()) before.feeds = feed_forward_kind::none;
            for (const auto trained : {module_set{}, every_module(), module_set{module::norm}, module_set{module::mixer}, module_set{module::mixer_in, module::q_proj}})
              for (const bool flows : {false, true}) for_each_block(sc, before, trained, flows, [&](const program& p) { note(wrong_with(p)); });
            note(wrong_together([&](module_set trained) { return eager_halves(sc, kind, trained); }));
          });
  for (const auto& w : wrong) FAIL_CHECK(w.first << ", " << w.second << " times");
  CHECK(compared > 2000);
}

TEST_CASE("Megatron's programs are well-formed, and save for several modules what they save for each") {
  std::map<std::string, int> wrong;
  int compared = 0;
  for (const auto& f : all())
    for (const std::int64_t tensor : {1, 2})
      for (const std::int64_t context : {1, 2})
        for (const std::int64_t samples : {1, 2}) {
          auto j = on_cpu(f.model, frameworks::megatron.precision, recurrence::fused, samples);
          j.framework = frameworks::megatron;
          j.framework.gradients.fused_accumulation = false;
          j.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = tensor * context};
          j.parallel = {.data = 1, .tensor = tensor, .context = context};
          j.attention = attention::te;
          if (objection_to(j)) continue;
          each_layer(j, [&](const settled_job&, const scene& sc, std::int64_t, layer_kind kind) {
            ++compared;
            const auto note = [&](const std::string& what) {
              if (!what.empty()) ++wrong[named(f.type, kind) + ": " + what];
            };
            for (const auto trained : {module_set{}, every_module()}) megatron::for_each_half(sc, kind, trained, [&](const program& p) { note(wrong_with(p)); });
            note(wrong_together([&](module_set trained) { return megatron_halves(sc, kind, trained); }));
          });
        }
  for (const auto& w : wrong) FAIL_CHECK(w.first << ", " << w.second << " times");
  CHECK(compared > 100);
}

// Gated DeltaNet repeats queries and keys for the heads that share them; where none are shared eager code takes parts of what the convolution made, and
// kernels, which take tensors without gaps, have copies all the same (Qwen3NextGatedDeltaNet.forward: repeat_interleave, torch.split; fla's input_guard).
TEST_CASE("queries and keys of Gated DeltaNet are tensors of their own where heads share them, and for kernels") {
  const auto storages = [](std::int64_t groups, recurrence kernels) {
    shape m{.layers = 1, .hidden = 256, .heads = 4, .ffn = 512, .vocab = 100};
    m.ssm = {.heads = 4, .head_dim = 32, .state = 16, .groups = groups, .conv = 4};
    m.pattern.add({mixer_kind::gated_delta_net, feed_forward_kind::none});
    int n = 0;
    each_layer(on_cpu(m, precisions::bf16, kernels, 2), [&](const settled_job&, const scene& sc, std::int64_t, layer_kind kind) {
      for_each_block(sc, kind, every_module(), true, [&](const program& p) {
        for (std::size_t i = 0; i < p.tensors(); ++i) n += p.storages(tensor::at(i).bit()) == wide_set(tensor::at(i).bit()) ? 1 : 0;
      });
    });
    REQUIRE(n > 10);
    return n;
  };
  CHECK(storages(4, recurrence::fused) == storages(2, recurrence::fused));
  CHECK(storages(4, recurrence::eager) == storages(2, recurrence::eager) - 2);
}

// modeling_recurrent_gemma.py _rnn_scan: of each position the gate and the state before it, both in fp32, where the gate is not in fp32 as it is; the first
// position reads no state. Backward has a gradient as large as the sequence for what it reads of gate and input, and for what it wrote.
TEST_CASE("RecurrentGemma's scan saves a gate and a state for each position, and makes three gradients for each") {
  shape m{.layers = 1, .hidden = 256, .heads = 4, .ffn = 512, .vocab = 100};
  m.ssm = {.heads = 4, .head_dim = 64, .groups = 4, .conv = 4, .conv_bias = true};
  m.pattern.add({mixer_kind::rg_lru, feed_forward_kind::none});
  for (const auto* of : {&precisions::bf16, &precisions::fp32, &precisions::bf16_autocast}) {
    CAPTURE(std::string(of->label.view()));
    const auto j = on_cpu(m, *of, recurrence::eager, 2);
    const std::int64_t n = 2 * 32 * 256, width = of == &precisions::fp32 ? 4 : 2;
    int scans = 0;
    REQUIRE(each_layer(j, [&](const settled_job&, const scene& sc, std::int64_t, layer_kind kind) {
      for_each_block(sc, kind, every_module(), true, [&](const program& p) {
        for (std::size_t o = 0; o < p.operations(); ++o) {
          if (p[o].temporary_block == bytes{0}) continue;
          ++scans;
          CHECK(p[o].temporary_block == bytes{n * width});
          CHECK(p[o].backward_temporary == bytes{3 * n * width});
          std::int64_t made = 0;
          for (std::size_t i = 0; i < p.tensors(); ++i)
            if (in(wide_set(p[o].makes), i)) made += p.size(tensor::at(i)).count();
          CHECK(made == (of == &precisions::bf16 ? 4 * (n - n / 32) : 0) + 4 * n);  // under autocast the parameter is in fp32, and so is what it is multiplied by
        }
      });
    }));
    CHECK(scans == 1);
  }
}

// Mamba-2's last product with a weight, in fp32, saves its other factor where the weight trains, and makes a product for that weight's gradient.
TEST_CASE("Mamba-2's gated norm keeps what its weight is multiplied by where that trains") {
  shape m{.layers = 1, .hidden = 256, .heads = 4, .ffn = 512, .vocab = 100};
  m.ssm = {.heads = 8, .head_dim = 64, .state = 16, .groups = 2, .conv = 4, .chunk = 16};
  m.pattern.add({mixer_kind::mamba2, feed_forward_kind::none});
  const std::int64_t tokens = 64, scaled = tokens * 512 * 4;
  const auto j = on_cpu(m, precisions::bf16, recurrence::eager, 2);
  std::int64_t saved[2]{}, temporaries[2]{};
  for (const int trains : {0, 1})
    each_layer(j, [&](const settled_job&, const scene& sc, std::int64_t, layer_kind kind) {
      for_each_block(sc, kind, trains != 0 ? module_set{module::mixer} : module_set{}, true, [&](const program& p) {
        saved[trains] += p.sum(p.saved()).count();
        for (std::size_t o = 0; o < p.operations(); ++o) temporaries[trains] += p[o].backward_temporary.count();
      });
    });
  // Beside it: exp(A_log) and its negative, of 8 heads, which the sums of steps save in any case.
  CHECK(saved[1] - saved[0] == scaled);
  CHECK(temporaries[1] - temporaries[0] == scaled);
}

// One sample needs no copies around Mamba-2's scan, but where context parallelism exchanges positions for heads (core/ssm/mamba_mixer.py _ssm_training).
TEST_CASE("Megatron's Mamba-2 copies into and out of its scan for several samples, or for several ranks of a context") {
  const auto tensors = [](std::int64_t samples, std::int64_t context) {
    shape m{.layers = 2, .hidden = 256, .heads = 4, .ffn = 512, .vocab = 128};
    m.ssm = {.heads = 8, .head_dim = 32, .state = 16, .groups = 2, .conv = 4, .conv_bias = true};
    for (int i = 0; i < 2; ++i) m.pattern.add({mixer_kind::mamba2, feed_forward_kind::none});
    auto j = on_cpu(m, frameworks::megatron.precision, recurrence::fused, samples);
    j.framework = frameworks::megatron;
    j.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = context};
    j.parallel = {.data = 1, .context = context};
    j.attention = attention::te;
    std::size_t n = 0;
    each_layer(j, [&](const settled_job&, const scene& sc, std::int64_t, layer_kind kind) {
      megatron::for_each_half(sc, kind, every_module(), [&](const program& p) { n += p.tensors(); });
    });
    REQUIRE(n > 4);
    return n;
  };
  CHECK(tensors(2, 1) == tensors(1, 1) + 2);
  CHECK(tensors(1, 2) == tensors(1, 1) + 2);
  CHECK(tensors(2, 2) == tensors(1, 1) + 2);
}

}  // namespace test_layer_programs
