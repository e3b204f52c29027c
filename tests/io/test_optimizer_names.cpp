// Distributed under the Boost Software License, Version 1.0.
// What other programs call an optimizer.
#include <headroom/io/job/optimizer_names.hpp>

#include <doctest/doctest.h>

#include <set>

using namespace headroom;
using namespace headroom::io;

namespace {

constexpr auto all_namers = {optimizer_namer::trainer, optimizer_namer::deepspeed, optimizer_namer::megatron, optimizer_namer::torchtitan};

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
