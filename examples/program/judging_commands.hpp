// Distributed under the Boost Software License, Version 1.0.
// What the command line offers of commands that judge jobs.
#pragma once

#include "session.hpp"

namespace program {

inline void offer_measured(CLI::App* command, std::string& measured) {
  command->add_option("--measured", measured, "What a run of the job took, by which its numbers are corrected: allocated=61.2GiB,reserved=66GiB,step=2.3, or the run's log; where another "
                      "job of the search was run, the file's measured.of says which")
      ->check(CLI::Validator([](const std::string& text) { return text.empty() ? std::string{"give figures, such as allocated=61.2GiB, or the name of a log; found nothing"} : std::string{}; }, ""))
      ->type_name("FIGURES");
}

inline void offer_estimate(CLI::App& app, session& s) {
  const auto asked = std::make_shared<estimate_request>();
  auto* command = app.add_subcommand("estimate", "What a job occupies, where and when, and whether it fits");
  command->add_option("JOB", asked->jobs, "Job files; - reads standard input")->required();
  command->add_flag("--brief", asked->brief, "The verdict, the largest ranks and the step time in about ten lines");
  command->add_flag("--json", asked->json, "The report as JSON; of several jobs a list of {file, report}")->excludes("--brief");
  command->add_option("--html", asked->html, "Also write a page with pictures and what other settings would do")->type_name("FILE");
  command->add_option("--trace", asked->trace, "Also write the step, event by event, as a trace that Perfetto opens (ui.perfetto.dev)")->type_name("FILE");
  command->add_option("--svg", asked->svg, "Also draw the step into this file")->type_name("FILE");
  command->add_option("--confidence", asked->confidence, "Judge and give ranges with this confidence, from 0.5 to 0.999 (ranges alone: 0.95)")
      ->check(a_confidence)->type_name("SHARE");
  command->add_flag("--confined", asked->confined, "For jobs of other people: the files that the job names lie below its folder, or are refused");
  offer_measured(command, asked->measured);
  may_take(command, s);
  command->footer(use(R"(  headroom estimate examples/jobs/llama-3.1-8b-zero3.json
  headroom estimate examples/jobs/*.json --brief
  headroom estimate job.json --html step.html
  headroom estimate job.json --trace step.json
  headroom estimate job.json --confidence 0.99
  headroom estimate - --json < job.json
  headroom estimate job.json --measured allocated=61.2GiB,reserved=66GiB,step=2.3
)", verdict_status));
  command->callback([asked, &s] { s.status = run(*asked, s.io); });
}

inline void offer_compare(CLI::App& app, session& s) {
  const auto asked = std::make_shared<compare_request>();
  auto* command = app.add_subcommand("compare", "Two jobs side by side: which keys differ, and what that changes in memory and time");
  command->add_option("FIRST", asked->first, "A job file; - reads standard input")->required();
  command->add_option("SECOND", asked->second, "Another one")->required();
  command->add_flag("--json", asked->json, "Keys and numbers as JSON");
  may_take(command, s);
  command->footer(use(R"(  headroom compare before.json after.json
)", "Exit status: 0 both fit, 1 one of them does not, 2 the input is wrong."));
  command->callback([asked, &s] { s.status = run(*asked, s.io); });
}

inline void offer_fit(CLI::App& app, session& s) {
  const auto asked = std::make_shared<fit_request>();
  auto* command = app.add_subcommand("fit", "The longest sequence and the largest micro-batch of a fine-tuning, without a job file");
  command->add_option("MODEL", asked->model, "A model's name (headroom list models), a Hugging Face id, or a folder with a config.json");
  command->add_option("--config", asked->config, "The model's config.json, in place of MODEL")->type_name("FILE");
  for (const auto* method : {"qlora", "lora", "full"})
    command->add_flag_callback(std::string{"--"} + method, [asked, method] { asked->methods.emplace_back(method); },
                              method == std::string{"qlora"} ? "LoRA over a base of 4 bits" : method == std::string{"lora"} ? "LoRA over a 16-bit base" : "Every parameter trains");
  command->add_option("--gpu", asked->gpu, "The GPU's name (headroom list gpus)")->type_name("NAME");
  command->add_option("--gpus", asked->gpus, "How many of them, in one node")->check(CLI::Range(1, 1024))->capture_default_str()->type_name("N");
  command->add_option("--sequence", asked->sequence, "Tokens of the sequences of which a micro-batch is made (2048, or as many as the model has positions for)")->check(CLI::Range(1, 1 << 28))->type_name("N");
  command->add_option("--micro", asked->micro, "Sequences of a micro-batch whose longest length is looked for")->check(CLI::Range(1, 1 << 20))->capture_default_str()->type_name("N");
  command->add_option("--rank", asked->rank, "The rank of the adapters (16)")->check(CLI::Range(1, 1 << 20))->type_name("N");
  command->add_option("--taken", asked->taken, "GiB of each GPU that others hold: a desktop, a second process")->check(CLI::Range(0.0, 4096.0))->type_name("GIB");
  command->add_option("--set", asked->set, "A key of the job, e.g. --set attention=flash; last of all")->type_name("KEY=VALUE");
  command->add_option("--write", asked->write, "Also write the job file, for headroom estimate")->type_name("FILE");
  command->add_flag("--json", asked->json, "The numbers, the job and what it takes for granted as JSON");
  command->add_option("--confidence", asked->confidence, "How sure the second column is, from 0.5 to 0.999")->check(a_confidence)->capture_default_str()->type_name("SHARE");
  may_take(command, s);
  command->footer(use(R"(  headroom fit Qwen/Qwen2.5-7B --qlora --gpu rtx-3090
  headroom fit llama-3.1-8b --full --gpu h100-sxm-80gb --gpus 8 --sequence 8192
  headroom fit --config ./config.json --lora --gpu rtx-4090 --taken 1.5 --set optimizer=adamw-8bit
)", "Exit status: 0 some sequence fits, 1 none does, 2 the input is wrong."));
  command->callback([asked, &s] { s.status = run(*asked, s.io); });
}

inline void offer_solve(CLI::App& app, session& s) {
  const auto asked = std::make_shared<solve_request>();
  auto* command = app.add_subcommand("solve", "The largest micro-batch, sequence or model that fits, the fewest GPUs, the least memory");
  command->add_option("JOB", asked->job, "The job file; - reads standard input")->required();
  command->add_option("--for", asked->key, "What is looked for: batch.micro, batch.sequence, hardware.nodes, …; a wrong one lists all")
      ->required()->type_name("KEY");
  command->add_flag("--json", asked->json, "The value and the report as JSON");
  command->add_option("--confidence", asked->confidence, "Fits at the upper end of its range with this confidence, from 0.5 to 0.999")->check(a_confidence)->type_name("SHARE");
  offer_measured(command, asked->measured);
  may_take(command, s);
  command->footer(use(R"(  headroom solve job.json --for batch.micro
  headroom solve job.json --for hardware.nodes --confidence 0.95
  headroom solve job.json --for model --json
)", "Exit status: 0 a value fits, 1 none does, 2 the input is wrong."));
  command->callback([asked, &s] { s.status = run(*asked, s.io); });
}

inline void offer_plan(CLI::App& app, session& s) {
  const auto asked = std::make_shared<plan_request>();
  auto* command = app.add_subcommand("plan", "The fastest plans that fit, of all that the keys given as \"auto\" allow; several searches with \"sweep\"");
  command->add_option("JOB", asked->job, "The job file with keys that are \"auto\"; - reads standard input")->required();
  command->add_option("--top", asked->top, "How many plans to name (10)")->check(CLI::Range(1, 1000));
  command->add_option("--threads", asked->threads, "How many threads to search with (all cores)")->check(CLI::Range(1, 1024));
  command->add_option("--shard", asked->shard, "Only part I (from 0) of N of the search, for `merge`")->type_name("I/N");
  command->add_option("--write", asked->write, "Also write the fastest plan, a job file, into this file")->type_name("FILE");
  command->add_flag("--json", asked->json, "Plans, front and reasons as JSON");
  command->add_option("--confidence", asked->confidence, "Only plans that fit at the upper end of their range with this confidence, from 0.5 to 0.999")->check(a_confidence)->type_name("SHARE");
  command->add_option("--sweep", asked->sweep, "Search for each of these values of a key, e.g. hardware.gpu=h100-sxm-80gb,a100-sxm-80gb")->type_name("KEY=VALUE,…");
  command->add_option("--price", asked->prices, "What an hour of a GPU costs, e.g. h100=2.5; also names the cheapest plans")->type_name("GPU=PRICE")->delimiter(',');
  command->add_option("--tokens", asked->tokens, "Of the whole training, e.g. 15T: its days and its price")->type_name("N")->needs("--price");
  command->add_option("--days", asked->days, "The cheapest that end in so many days")->check(CLI::PositiveNumber)->type_name("DAYS")->needs("--tokens");
  command->add_option("--budget", asked->budget, "The cheapest that cost at most so much in all")->check(CLI::PositiveNumber)->type_name("PRICE")->needs("--tokens");
  offer_measured(command, asked->measured);
  may_take(command, s);
  command->footer(use(R"(  headroom plan examples/searches/llama-3.1-70b-512-gpus.json --top 5
  headroom plan search.json --price h100=2.5,a100=1.6 --sweep hardware.gpu=h100-sxm-80gb,a100-sxm-80gb --tokens 100B --days 14
  headroom plan search.json --confidence 0.95 --write job.json
  headroom plan search.json --json --shard 0/8 > part-0.json

While it searches, a terminal shows how far it is; Ctrl-C ends the search with the best so far.
)", "Exit status: 0 a plan fits (of a sweep: one for each search), 1 none does, 2 the input is wrong."));
  command->callback([asked, &s] { s.status = run(*asked, s.io); });
}

inline void offer_merge(CLI::App& app, session& s) {
  const auto asked = std::make_shared<merge_request>();
  auto* command = app.add_subcommand("merge", "Joins the parts of a search into what one run would have found");
  command->add_option("PART", asked->parts, "What `plan --shard I/N --json` wrote, all N")->required();
  command->add_flag("--json", asked->json, "The whole as JSON");
  command->footer(use(R"(  headroom merge part-*.json
  headroom merge part-*.json --json > plans.json
)", "Exit status: 0 a plan fits, 1 none does, 2 the input is wrong."));
  command->callback([asked, &s] { s.status = run(*asked, s.io); });
}

inline void offer_diagnose(CLI::App& app, session& s) {
  const auto asked = std::make_shared<diagnose_request>();
  auto* command = app.add_subcommand("diagnose", "Why a run went out of memory, which tensor it was, and what would help");
  command->add_option("JOB", asked->job, "The job file; - reads standard input")->required();
  command->add_option("--message", asked->message, "The run's log, or the message out of it; - reads standard input")
      ->required()->type_name("FILE");
  command->add_flag("--json", asked->json, "Cause, suspects and advice as JSON");
  may_take(command, s);
  command->footer(use(R"(  headroom diagnose job.json --message run.log
  tail -n 50 run.log | headroom diagnose job.json --message -
)", "Exit status: 0 by the estimate the job fits, 1 it does not, 2 the input is wrong."));
  command->callback([asked, &s] { s.status = run(*asked, s.io); });
}

}  // namespace program
