// Distributed under the Boost Software License, Version 1.0.
// headroom fit MODEL --qlora --gpu NAME: the longest sequence and the largest micro-batch of a fine-tuning, for who has no job file yet.
#include <headroom/io/diagnosis_text.hpp>
#include <headroom/io/report_text.hpp>
#include <headroom/io/report/text_table.hpp>
#include <headroom/io/syntax/json_value.hpp>
#include <headroom/model/inventory.hpp>

#include <fstream>
#include <ostream>
#include <tuple>

#include "../calls/answers.hpp"
#include "jobs.hpp"
#include "program.hpp"

namespace program {
namespace {

using namespace headroom;
using namespace headroom::io;

using calls::taken_for_granted;

/// What the command line says of a fine-tuning. Throws job_error where it says too little or too much.
calls::fit_request request_of(const fit_request& asked) {
  if (asked.model.empty() == asked.config.empty()) fail("headroom: fit needs one of a model's name and --config config.json");
  if (asked.methods.size() != 1)
    fail("headroom: fit needs one of --qlora, --lora and --full" + std::string{asked.methods.empty() ? ": adapters over 4 bits, over 16 bits, or every parameter trains" : ", not several"});
  if (asked.gpu.empty()) fail("headroom: fit needs the GPU, --gpu NAME; headroom list gpus names them");
  return {.model = asked.model.empty() ? asked.config : asked.model, .model_place = asked.model.empty() ? "--config" : "MODEL", .method = asked.methods[0], .gpu = asked.gpu, .gpus = asked.gpus, .micro = asked.micro,
          .sequence = asked.sequence, .rank = asked.rank, .taken = asked.taken, .set = asked.set, .confidence = asked.confidence};
}

/// "hf-trainer: Hugging Face Trainer"; of an object what it means, and its rank.
std::string shown(const taken_for_granted& k) {
  if (k.value.is_string()) return k.value.get<std::string>() + ": " + k.means;
  return k.means + (k.value.contains("rank") ? ", rank " + k.value["rank"].dump() : "");
}

/// What was filled in comes first: the numbers below are of these settings alone.
void print_granted(std::ostream& out, const palette& ink, const calls::fit_answer& a) {
  const auto& j = a.job;
  const auto& on = j.hardware.accelerator();
  out << ink.bold(std::string{j.model.label.view()}) << ", " << count_text(count(j.model).total.count()) << " parameters, " << j.hardware.gpus() << " x " << on.label.view() << ", of each "
      << gib_text(j.hardware.left_of(on)) << (j.hardware.taken > bytes{0} ? " left by others" : "") << "\n";
  out << ink.bold("Taken for granted") << ink.dim(" (--set KEY=VALUE says otherwise)") << "\n";
  for (const auto& k : a.granted) out << "  " << left(k.key, 11) << shown(k) << "\n";
  if (const auto images = headroom::io::detail::images_text(j); !images.empty())
    out << "  " << left("images", 11) << images.substr(2) << " in each sample; --set batch.images.none=true where samples are text alone\n";
  for (const auto& note : a.notes) out << "  " << note << "\n";
}

void print_numbers(std::ostream& out, const palette& ink, const calls::fit_answer& a, confidence sure) {
  const auto& [j, longest, largest] = std::tie(a.job, a.longest, a.largest);
  const auto cell = [](std::int64_t n) { return right(n > 0 ? grouped(n) : "none fits", 15); };
  out << "\n" << std::string(44, ' ') << right("as predicted", 15) << right(fixed(sure.share() * 100, 0) + " % sure", 15) << "\n";
  out << left("longest sequence, micro-batch " + grouped(j.batch.micro), 44) << ink.bold(cell(longest.predicted) + cell(longest.sure)) << "\n";
  out << left("largest micro-batch of " + grouped(j.batch.sequence) + " tokens", 44) << ink.bold(cell(largest.predicted) + cell(largest.sure)) << "\n";
  if (j.model.max_positions > 0 && longest.predicted > j.model.max_positions) out << "The model is made for " << grouped(j.model.max_positions) << " tokens.\n";
}

/// What would help: for longer sequences or, where none fits, at all.
void print_help(std::ostream& out, const palette& ink, const calls::fit_answer& a) {
  const auto& on = a.job.hardware.accelerator();
  if (a.more <= a.longest.predicted) {
    out << "\nThe model has positions for " << grouped(a.more) << " tokens, and no more.\n";
    return;
  }
  out << "\nFor " << grouped(a.more) << " tokens" << (a.longest.predicted > 0 && a.more == 2 * a.longest.predicted ? ", twice as many:\n" : ":\n");
  if (a.longest.predicted == 0 && a.needs > a.job.hardware.left_of(on))
    out << "It takes " << gib_text(a.needs) << " of each GPU, " << gib_text(a.needs - a.job.hardware.left_of(on)) << " more than there is.\n";
  out << advice_text(a.help, ink);
  if (a.instead.empty()) return;
  out << ink.bold("What fits in its place") << ink.dim(": the longest sequence as predicted, and what is sure of it") << "\n";
  for (const auto& o : a.instead) out << "  " << left(o.option, 18) << right(grouped(o.longest.predicted), 9) << right(o.longest.sure > 0 ? grouped(o.longest.sure) : "none fits", 12) << "\n";
}

}  // namespace

int run(const fit_request& asked, const streams& io) {
  const auto a = calls::fitted(request_of(asked), file_base::anywhere_from("."), io.until);
  const confidence sure{asked.confidence};
  if (!asked.write.empty()) {
    std::ofstream file{asked.write, std::ios::binary};
    file << a.written.dump(2) << '\n';
    file.close();
    if (!file) fail("headroom: " + asked.write + " could not be written");
  }
  if (asked.json) {
    io.out << calls::fit_json(a, sure).dump(2) << '\n';
  } else {
    const palette ink{io.colour};
    print_granted(io.out, ink, a);
    print_numbers(io.out, ink, a, sure);
    print_help(io.out, ink, a);
  }
  return a.longest.predicted > 0 ? 0 : 1;
}

}  // namespace program
