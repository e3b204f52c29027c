// Distributed under the Boost Software License, Version 1.0.
// headroom fit MODEL --qlora --gpu NAME: the longest sequence and the largest micro-batch of a fine-tuning, for who has no job file yet.
#include <headroom/decide.hpp>
#include <headroom/io/diagnosis_text.hpp>
#include <headroom/io/import.hpp>
#include <headroom/io/report_json.hpp>
#include <headroom/solve/solve.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <ostream>

#include "jobs.hpp"
#include "program.hpp"

namespace program {
namespace {

using namespace headroom;
using namespace headroom::io;

/// A key of the job that the command fills in, and what it means to who fine-tunes.
struct taken_for_granted {
  std::string key;
  json_value value;
  std::string_view means;
};

const json_value in_bf16 = {{"parameters", "bf16"}, {"compute", "bf16"}, {"gradients", "fp32"}, {"reduce", "fp32"}, {"master", "none"}, {"state", "fp32"}};

/// PEFT's adapters on routed experts and a base of few bits under them are known of transformers before 5, where experts are linear layers.
const json_value over_linear_experts = {{"name", "hf-trainer"}, {"version", "2025-12"}};

std::vector<taken_for_granted> defaults_of(const std::string& method, bool alone, bool sparse) {
  std::vector<taken_for_granted> all;
  const bool full = method == "full";
  if (full && !alone) {
    all.push_back({"framework", "deepspeed", "Hugging Face Trainer over DeepSpeed"});
    all.push_back({"sharding", "zero3", "ZeRO-3: parameters, gradients and states are divided"});
    all.push_back({"precision", "bf16-mixed", "bf16 weights beside an fp32 copy"});
  } else {
    if (sparse && !full)
      all.push_back({"framework", over_linear_experts, "Hugging Face Trainer with PEFT, over transformers before 5"});
    else
      all.push_back({"framework", "hf-trainer", full ? "Hugging Face Trainer" : "Hugging Face Trainer with PEFT"});
    if (!alone) all.push_back({"sharding", "ddp", "every GPU has the whole model"});
    if (full)
      all.push_back({"precision", "bf16-autocast", "fp32 weights, computed with in bf16: a model loaded in fp32, bf16=True"});
    else
      all.push_back({"precision", in_bf16, method == "qlora" ? "what is not quantised is bf16, adapters are fp32" : "frozen weights are bf16, adapters fp32"});
  }
  if (!full) {
    json_value adapter = {{"kind", "lora"}, {"rank", 16}, {"targets", "all-linear"}, {"format", "fp32"}};
    if (method == "qlora") adapter["base"] = "nf4-double", adapter["base_skips"] = {"lm_head"};
    all.push_back({"adapter", adapter, method == "qlora" ? "LoRA on every linear layer, over 4 bits of bitsandbytes" : "LoRA on every linear layer"});
  }
  all.push_back({"optimizer", "adamw", "optim adamw_torch"});
  all.push_back({"recompute", "full", "gradient_checkpointing is on"});
  all.push_back({"attention", "sdpa", "a fused kernel; scores are not written out"});
  return all;
}

/// Whether the job still says of a key what was filled in.
bool stands(const json_value& said, const json_value& value) {
  if (!value.is_object() || !said.is_object()) return said == value;
  return std::all_of(value.items().begin(), value.items().end(), [&](const auto& at) { return said.contains(at.key()) && said[at.key()] == at.value(); }) && said.size() == value.size();
}

struct found {
  std::int64_t predicted{}, sure{};  ///< 0: none
};
found solved_twice(const job& j, const unknown& u, confidence sure, const deadline& until) {
  const auto most = solve(j, u, decided{{}, until});
  return {most.value, most ? solve(j, u, decided{sure, until}).value : 0};
}

constexpr bool quantise(job& j) {
  if (!j.adapter.active() || j.adapter.base.quantised()) return false;
  j.adapter.base = formats::nf4_double;
  j.adapter.base_skips = {module::head};
  return true;
}

/// What makes a longer sequence fit on the same GPUs.
std::vector<advice> for_more(job j, std::int64_t sequence, const deadline& until) {
  static const auto list = [] {
    std::vector<change> all{{"adapter.base nf4-double", quantise}};
    for (const auto& c : changes::all)
      if (!c.text.starts_with("batch.") && !c.text.starts_with("hardware.")) all.push_back(c);
    return all;
  }();
  j.batch.sequence = sequence;
  return advise(j, [&](const job& k) {
    until.check();
    return judged(k, [&](const job& l) { return decide(l, {}, until); });
  }, 8, list);
}

draft drafted(const fit_request& asked) {
  if (asked.model.empty() == asked.config.empty()) fail("headroom: fit needs one of a model's name and --config config.json");
  if (asked.methods.size() != 1) fail("headroom: fit needs one of --qlora, --lora and --full" + std::string{asked.methods.empty() ? "" : ", not several"});
  if (asked.rank > 0 && asked.methods[0] == "full") fail("headroom: --rank is of adapters: --lora or --qlora");
  if (asked.gpu.empty()) fail("headroom: fit needs the GPU, --gpu NAME; headroom list gpus names them");
  draft d;
  const auto model = read_model_named(asked.model.empty() ? asked.config : asked.model, asked.model.empty() ? "--config" : "MODEL", file_base::anywhere_from("."));
  d.replace("model", model_to_json(model), "MODEL");
  d.say({"hardware", "gpu"}, asked.gpu, "--gpu");
  if (asked.gpus > 1) d.say({"hardware", "gpus_per_node"}, asked.gpus, "--gpus");
  if (asked.taken > 0) d.say({"hardware", "taken_gib"}, asked.taken, "--taken");
  for (const auto& k : defaults_of(asked.methods[0], asked.gpus == 1, model.sparse())) d.say({k.key}, k.value, "fit");
  d.say({"batch", "micro"}, asked.micro, "--micro");
  d.say({"batch", "sequence"}, asked.sequence, "--sequence");
  if (asked.rank > 0) d.say({"adapter", "rank"}, asked.rank, "--rank");
  for (const auto& s : asked.set) say_key(d, s);
  return d;
}

/// "hf-trainer: Hugging Face Trainer"; of an object what it means, and its rank.
std::string shown(const taken_for_granted& k) {
  if (k.value.is_string()) return k.value.get<std::string>() + ": " + std::string{k.means};
  return std::string{k.means} + (k.value.contains("rank") ? ", rank " + k.value["rank"].dump() : "");
}

/// What was filled in comes first: the numbers below are of these settings alone.
void print_granted(std::ostream& out, const palette& ink, const job& j, const draft& d, const std::vector<taken_for_granted>& kept) {
  const auto& on = j.hardware.accelerator();
  out << ink.bold(std::string{j.model.label.view()}) << ", " << count_text(count(j.model).total.count()) << " parameters, " << j.hardware.gpus() << " x " << on.label.view() << ", of each "
      << gib_text(j.hardware.left_of(on)) << (j.hardware.taken > bytes{0} ? " left by others" : "") << "\n";
  out << ink.bold("Taken for granted") << ink.dim(" (--set KEY=VALUE says otherwise)") << "\n";
  for (const auto& k : kept) out << "  " << left(k.key, 11) << shown(k) << "\n";
  for (const auto& note : d.notes) out << "  " << note << "\n";
}

void print_numbers(std::ostream& out, const palette& ink, const job& j, const found& longest, const found& largest, confidence sure) {
  const auto cell = [](std::int64_t n) { return right(n > 0 ? grouped(n) : "none fits", 15); };
  out << "\n" << std::string(44, ' ') << right("as predicted", 15) << right(fixed(sure.share() * 100, 0) + " % sure", 15) << "\n";
  out << left("longest sequence, micro-batch " + grouped(j.batch.micro), 44) << ink.bold(cell(longest.predicted) + cell(longest.sure)) << "\n";
  out << left("largest micro-batch of " + grouped(j.batch.sequence) + " tokens", 44) << ink.bold(cell(largest.predicted) + cell(largest.sure)) << "\n";
  if (j.model.max_positions > 0 && longest.predicted > j.model.max_positions) out << "The model is made for " << grouped(j.model.max_positions) << " tokens.\n";
}

}  // namespace

int run(const fit_request& asked, const streams& io) {
  const auto d = drafted(asked);
  const job j = read_job(d.job, ".");
  auto kept = defaults_of(asked.methods[0], asked.gpus == 1, j.model.sparse());
  std::erase_if(kept, [&](const taken_for_granted& k) { return !d.job.contains(k.key) || !stands(d.job[k.key], k.value); });
  const confidence sure{asked.confidence};
  const auto longest = solved_twice(j, unknowns::sequence, sure, io.until), largest = solved_twice(j, unknowns::micro_batch, sure, io.until);
  const auto more = longest.predicted > 0 ? 2 * longest.predicted : j.batch.sequence;
  const auto help = for_more(j, more, io.until);
  if (!asked.write.empty()) {
    std::ofstream file{asked.write, std::ios::binary};
    file << d.job.dump(2) << '\n';
    file.close();
    if (!file) fail("headroom: " + asked.write + " could not be written");
  }
  const auto number = [](std::int64_t n) { return n > 0 ? nlohmann::ordered_json(n) : nlohmann::ordered_json(nullptr); };
  if (asked.json) {
    auto granted = nlohmann::ordered_json::object();
    for (const auto& k : kept) granted[k.key] = {{"value", k.value}, {"means", std::string{k.means}}};
    io.out << nlohmann::ordered_json{{"job", d.job},
                                     {"granted", granted},
                                     {"confidence", sure.share()},
                                     {"longest_sequence", {{"micro", j.batch.micro}, {"predicted", number(longest.predicted)}, {"sure", number(longest.sure)}}},
                                     {"largest_micro", {{"sequence", j.batch.sequence}, {"predicted", number(largest.predicted)}, {"sure", number(largest.sure)}}},
                                     {"more", {{"sequence", more}, {"advice", headroom::io::to_json(help)}}}}
                  .dump(2)
           << '\n';
  } else {
    const palette ink{io.colour};
    print_granted(io.out, ink, j, d, kept);
    print_numbers(io.out, ink, j, longest, largest, sure);
    io.out << "\nFor " << grouped(more) << " tokens" << (longest.predicted > 0 ? ", twice as many:\n" : ":\n") << advice_text(help, ink);
  }
  return longest.predicted > 0 ? 0 : 1;
}

}  // namespace program
