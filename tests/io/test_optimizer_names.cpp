// Distributed under the Boost Software License, Version 1.0.
// What other programs call an optimizer.
#include <headroom/io/job/optimizer_names.hpp>

#include <doctest/doctest.h>

#include <set>

namespace test_optimizer_names {

using namespace headroom;
using namespace headroom::io;

namespace {

constexpr auto all_namers = {optimizer_namer::trainer, optimizer_namer::deepspeed, optimizer_namer::megatron, optimizer_namer::torchtitan, optimizer_namer::torch_class, optimizer_namer::axolotl};

}  // namespace

TEST_CASE("every optimizer has one entry") {
  std::set<std::string_view> seen;
  for (const auto& e : io::detail::optimizer_entries) seen.insert(e.is->label.view());
  CHECK(seen.size() == io::detail::optimizer_entries.size());
  for (const auto& o : optimizers::all) CHECK(seen.contains(o.label.view()));
}

TEST_CASE("a name is one optimizer's alone, and what is written is read back") {
  for (const auto who : all_namers) {
    std::set<std::string_view> seen;
    for (const auto text : optimizer_names_of(who)) {
      CAPTURE(text);
      CHECK(seen.insert(text).second);
      CHECK(optimizer_called(who, text).is != nullptr);
    }
    for (const auto& o : optimizers::all)
      if (const auto text = name_of_optimizer(who, o); !text.empty()) CHECK(*optimizer_called(who, text).is == o);
  }
}

TEST_CASE("names in the sources of the programs") {
  CHECK(*optimizer_called(optimizer_namer::deepspeed, "ADAMW").is == optimizers::adamw);  // runtime/config.py: .lower()
  CHECK(*optimizer_called(optimizer_namer::megatron, "adam").is == optimizers::adamw);    // optimizer/__init__.py: decoupled weight decay
  CHECK(*optimizer_called(optimizer_namer::megatron, "sgd").is == optimizers::sgd_momentum);
  CHECK(*optimizer_called(optimizer_namer::megatron, "dist_muon").is == optimizers::muon);
  CHECK(optimizer_called(optimizer_namer::megatron, "ADAM").is == nullptr);
  CHECK(optimizer_called(optimizer_namer::trainer, "adamw_torch").how == implementation::unset);
  CHECK(optimizer_called(optimizer_namer::trainer, "adamw_torch_fused").how == implementation::fused);
  CHECK(*optimizer_called(optimizer_namer::trainer, "adamw_bnb_8bit").is == optimizers::adamw_8bit);
  CHECK(optimizer_called(optimizer_namer::torchtitan, "").is == nullptr);
}

// transformers training_args.py OptimizerNames of version 5, in its order: each is read, or refused by its name.
TEST_CASE("the Trainer's optimizers, all of them") {
  struct said {
    std::string_view text;
    const optimizer* is;
  };
  using namespace optimizers;
  const said all_of_them[] = {{"adamw_torch", &adamw}, {"adamw_torch_fused", &adamw}, {"adamw_torch_xla", nullptr}, {"adamw_torch_npu_fused", nullptr}, {"adafactor", &adafactor},
                              {"adamw_anyprecision", &anyprecision_adamw}, {"adamw_torch_4bit", &adamw_torchao_4bit}, {"adamw_torch_8bit", &adamw_torchao_8bit}, {"ademamix", &ademamix},
                              {"sgd", &sgd}, {"adagrad", &adagrad}, {"adamw_bnb_8bit", &adamw_8bit}, {"adamw_8bit", &adamw_8bit}, {"ademamix_8bit", &ademamix_8bit},
                              {"lion_8bit", &lion_8bit}, {"lion_32bit", &lion}, {"paged_adamw_32bit", &paged_adamw}, {"paged_adamw_8bit", &paged_adamw_8bit},
                              {"paged_ademamix_32bit", &paged_ademamix}, {"paged_ademamix_8bit", &paged_ademamix_8bit}, {"paged_lion_32bit", &paged_lion}, {"paged_lion_8bit", &paged_lion_8bit},
                              {"rmsprop", &rmsprop}, {"rmsprop_bnb", &rmsprop_bnb}, {"rmsprop_bnb_8bit", &rmsprop_8bit}, {"rmsprop_bnb_32bit", &rmsprop_bnb}, {"galore_adamw", &galore},
                              {"galore_adamw_8bit", &galore_8bit}, {"galore_adafactor", &galore_adafactor}, {"galore_adamw_layerwise", &galore}, {"galore_adamw_8bit_layerwise", &galore_8bit},
                              {"galore_adafactor_layerwise", nullptr}, {"lomo", &lomo}, {"adalomo", &adalomo}, {"grokadamw", &optimizers::grokadamw}, {"schedule_free_radam", &schedule_free_adamw},
                              {"schedule_free_adamw", &schedule_free_adamw}, {"schedule_free_sgd", &schedule_free_sgd}, {"apollo_adamw", &apollo}, {"apollo_adamw_layerwise", &apollo},
                              {"stable_adamw", &stable_adamw}};
  for (const auto& o : all_of_them) {
    CAPTURE(o.text);
    CHECK(optimizer_called(optimizer_namer::trainer, o.text).is == o.is);
    CHECK(optimizer_called(optimizer_namer::trainer, o.text).in_backward == o.text.ends_with("_layerwise") * (o.is != nullptr));
    if (o.is != nullptr) continue;
    const auto word = std::string{o.text};
    CHECK_THROWS_WITH_AS(refuse_optimizer(optimizer_namer::trainer, "optim", word), doctest::Contains(("optim \"" + word + "\" is not modelled by this version").c_str()), job_error);
  }
  CHECK_THROWS_WITH_AS(refuse_optimizer(optimizer_namer::trainer, "optim", "adamw_torhc"), doctest::Contains("adamw_torch"), job_error);
}

// deepspeed runtime/config.py DEEPSPEED_OPTIMIZERS.
TEST_CASE("DeepSpeed's optimizers, all of them") {
  using namespace optimizers;
  for (const auto& [text, is] : {std::pair<const char*, const optimizer*>{"adagrad", &adagrad}, {"adam", &adam}, {"adamw", &adamw}, {"lion", &lion}, {"muon", &muon}, {"lamb", &lamb}})
    CHECK(optimizer_called(optimizer_namer::deepspeed, text).is == is);
  for (const std::string text : {"onebitadam", "onebitlamb", "zerooneadam", "muadam", "muadamw", "musgd"}) {
    CHECK(optimizer_called(optimizer_namer::deepspeed, text).is == nullptr);
    CHECK_THROWS_WITH_AS(refuse_optimizer(optimizer_namer::deepspeed, "optimizer.type", text), doctest::Contains("is not modelled by this version"), job_error);
  }
}

}  // namespace test_optimizer_names
