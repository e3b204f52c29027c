// Distributed under the Boost Software License, Version 1.0.
// Rules of thumb that go round, and what the arithmetic says: what each technique saves, the largest model a machine trains, and the
// flow chart that chooses a plan.
#include <headroom/decide.hpp>
#include <headroom/diagnose/advise.hpp>

#include <cstdio>
#include <string>

#include "rules/rules.hpp"

using namespace headroom;
using namespace headroom::literals;

namespace {

double gib_of(bytes b) { return static_cast<double>(b.count()) / static_cast<double>(gib.count()); }
double billions(parameters p) { return static_cast<double>(p.count()) / 1e9; }
bytes activations_of(const job& j) { return estimate(j).tightest().at_phase[static_cast<std::size_t>(phase::backward)][row::activations]; }
double saved(bytes with, bytes without) { return 100.0 - 100.0 * static_cast<double>(with.count()) / static_cast<double>(without.count()); }

struct setting {
  const char* name;
  shape model;
  cluster on;
};
const setting settings[] = {{"1B, 8 A100 40G", models::llama_3_2_1b, {.gpu = gpus::a100_sxm_40gb, .gpus_per_node = 8}},
                            {"8B, 8 H100", models::llama_3_1_8b, {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}},
                            {"8B, 64 H100", models::llama_3_1_8b, {.gpu = gpus::h100_sxm_80gb, .nodes = 8, .gpus_per_node = 8}},
                            {"70B, 64 H100", models::llama_3_1_70b, {.gpu = gpus::h100_sxm_80gb, .nodes = 8, .gpus_per_node = 8}}};

job plain(const setting& s) {
  return {.model = s.model, .hardware = s.on, .framework = frameworks::deepspeed, .precision = precisions::bf16_mixed, .sharding = zero(0), .batch = {.micro = 2, .sequence = 4096}};
}

template <class Percent>
void line(const char* what, const char* rule, Percent percent) {
  std::printf("%-34s %12s", what, rule);
  for (const auto& s : settings) std::printf(" %14.0f%%", percent(s));
  std::printf("\n");
}

void savings() {
  std::printf("What a technique saves\n\n%-34s %12s", "", "the rule");
  for (const auto& s : settings) std::printf(" %15s", s.name);
  std::printf("\n");
  const auto of_fp32 = [](bytes (*part)(const job&)) {
    return [part](const setting& s) {
      auto amp = plain(s), fp32 = plain(s);
      amp.framework = fp32.framework = frameworks::hf_trainer;
      amp.sharding = fp32.sharding = ddp();
      fp32.precision = precisions::fp32;
      amp.precision = precisions::bf16_autocast;
      return saved(part(amp), part(fp32));
    };
  };
  line("AMP (autocast): the whole peak", "40%", of_fp32([](const job& j) { return estimate(j).peak(); }));
  line("  its states alone", "", of_fp32([](const job& j) { return states(j).gpu.total(); }));
  line("  its activations alone", "", of_fp32(activations_of));
  line("checkpointing: activations", "60-80%", [](const setting& s) {
    auto again = plain(s);
    again.recompute = recompute::full;
    return saved(activations_of(again), activations_of(plain(s)));
  });
  line("  time it adds to a step", "20-30%", [](const setting& s) {
    auto again = plain(s);
    again.recompute = recompute::full;
    return 100 * (cost(again).step.value / cost(plain(s)).step.value - 1);
  });
  const auto sharded = [](const sharding& how) {
    return [how](const setting& s) {
      auto j = plain(s);
      j.sharding = how;
      return saved(states(j).gpu.total(), states(plain(s)).gpu.total());
    };
  };
  line("ZeRO-1: states of a GPU", "50%", sharded(zero(1)));
  line("ZeRO-2", "70%", sharded(zero(2)));
  line("ZeRO-3", "90%", sharded(zero(3)));
  line("ZeRO-3: the whole peak", "", [](const setting& s) {
    auto j = plain(s);
    j.sharding = zero(3);
    return saved(estimate(j).peak(), estimate(plain(s)).peak());
  });
  line("FSDP: states, of DDP's", "85%", [](const setting& s) {
    auto j = plain(s), ddp_ = plain(s);
    j.framework = ddp_.framework = frameworks::hf_trainer;
    ddp_.sharding = ddp();
    j.sharding = fsdp2();
    return saved(states(j).gpu.total(), states(ddp_).gpu.total());
  });
  std::printf("%s",
              "\nAutocast keeps weights, gradients and states in fp32: of the whole it saves what activations are of it, and of those a third.\n"
              "Checkpointing keeps one tensor a layer: 95% and more; the backward's one layer and the logits stay. A quarter more time is right.\n"
              "ZeRO divides 12, 14 and all 16 bytes of a parameter by the GPUs: no percentage holds for 8 and for 64. Of the peak it saves less,\n"
              "since activations are not divided.\n");
}

struct machine_rule {
  const char* name;
  double claimed;  ///< billions
  job plan;
};

void largest() {
  const job base{.model = models::llama_2_7b, .framework = frameworks::deepspeed, .precision = precisions::bf16_mixed, .batch = {.micro = 1, .sequence = 2048}, .recompute = recompute::full};
  machine_rule all[] = {{"1 A100 80G, AMP, checkpointing", 7, base}, {"8 A100 40G, ZeRO-2, AMP", 20, base}, {"8 H100 80G, ZeRO-3, CPU offload", 70, base}, {"64 H100 80G, FSDP, AMP", 100, base}};
  all[0].plan.hardware = {.gpu = gpus::a100_sxm_80gb};
  all[1].plan.hardware = {.gpu = gpus::a100_sxm_40gb, .gpus_per_node = 8};
  all[1].plan.sharding = zero(2);
  all[2].plan.hardware = {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8, .host_memory = 2048_GiB};
  all[2].plan.sharding = zero(3);
  all[2].plan.offload = {.optimizer = place::on_cpu, .parameters = place::on_cpu};
  all[3].plan.hardware = {.gpu = gpus::h100_sxm_80gb, .nodes = 8, .gpus_per_node = 8};
  all[3].plan.framework = frameworks::hf_trainer;
  all[3].plan.sharding = fsdp2();
  std::printf("\nThe largest model of Llama's proportions that trains (micro-batch 1 of 2048, everything recomputed)\n\n%-34s %10s %10s   %s\n", "", "the rule", "fits", "the rule's model needs");
  for (const auto& r : all) {
    const auto s = solve(r.plan, rules::size, decided{});
    auto theirs = r.plan;
    rules::set_layers(theirs, 1);
    for (std::int64_t n = 16; billions(count(theirs.model).total) < r.claimed * 0.96; ++n) rules::set_layers(theirs, n);
    const auto seen = estimate(theirs);
    std::printf("%-34s %9.0fB %9.1fB   %.0f GiB of each GPU's %.0f", r.name, r.claimed, billions(count(s.job.model).total), gib_of(seen.device()), gib_of(seen.tightest().capacity));
    if (r.plan.offload.optimizer != place::on_gpu) std::printf(", %.0f GiB on each host", gib_of(seen.host.per_node));
    if (const auto way_out = advise(theirs, 1); !decided{}(theirs) && !way_out.empty()) {
      std::printf("; fits with");
      for (const auto* c : way_out.front().changes) std::printf("%s %s", c == way_out.front().changes.front() ? "" : " and", std::string{c->text}.c_str());
    }
    std::printf("\n");
  }
  std::printf("%s",
              "\n16 bytes a parameter fill 80 GB with 5B, whatever is recomputed. ZeRO-2 leaves 2 of them on every GPU, and buckets: 20B would fill\n"
              "40 GB with its weights alone. With offload the host is what ends it: 16 bytes and what pinning rounds up to. FSDP's class depends on\n"
              "how many GPUs there are.\n");
}

void flow_chart() {
  std::printf("\nThe flow chart, and the planner's choice of the same keys\n");
  const setting cases[] = {{"1B on 1 RTX 4090", models::llama_3_2_1b, {.gpu = gpus::rtx_4090}},
                           {"3B on 8 A100 40G", models::llama_3_2_3b, {.gpu = gpus::a100_sxm_40gb, .gpus_per_node = 8}},
                           {"8B on 8 H100 80G", models::llama_3_1_8b, {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}},
                           {"34B on 8 H100 80G", models::yi_34b, {.gpu = gpus::h100_sxm_80gb, .gpus_per_node = 8}}};
  for (const auto& c : cases) {
    std::printf("\n%s\n", c.name);
    const auto path = rules::follow_chart(c.model, c.on, 4096, 64);
    const auto tell = [](const job& j, const judged_plan& seen) {
      std::printf("ZeRO-%lld, batch %lld x %lld%s%s%s: %.1f GiB", static_cast<long long>(j.sharding.stage), static_cast<long long>(j.batch.micro), static_cast<long long>(j.batch.accumulation),
                  j.recompute == recompute::none ? "" : ", recompute", j.offload.optimizer == place::on_gpu ? "" : ", optimizer on the host",
                  j.offload.parameters == place::on_gpu ? "" : ", parameters on the host", gib_of(seen.device));
      if (seen.fits) std::printf(", %.1f s a step\n", seen.seconds);
      else std::printf(" of %.1f: does not fit\n", gib_of(j.hardware.gpu.memory));
    };
    for (const auto& stop : path) {
      std::printf("  chart    ");
      tell(stop.job, stop.seen);
    }
    const auto r = plan(rules::all_choices(c.model, c.on, 4096, 64), {.top = 1});
    std::printf("  planner  ");
    if (r.best.empty()) std::printf("nothing fits\n");
    else tell(r.best.front().job, r.best.front().outcome);
  }
}

}  // namespace

int main() {
  savings();
  largest();
  flow_chart();
}
