// Distributed under the Boost Software License, Version 1.0.
// The program: headroom estimate | fit | solve | plan | merge | diagnose | import | export | count | list | schema | validate. Each command is one file of program/.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <headroom/error.hpp>
#include <headroom/io/syntax/printable.hpp>
#include <headroom/io/syntax/spelling.hpp>
#include <headroom/version.hpp>
#include <iostream>
#include <sstream>

#include "program/program.hpp"
#include "program/time_limit.hpp"

namespace {

constexpr auto first_steps = R"(Examples:
  headroom list gpus h100
  headroom fit Qwen/Qwen2.5-7B --qlora --gpu rtx-3090
  headroom estimate examples/jobs/llama-3.1-8b-zero3.json
  headroom solve examples/jobs/llama-3.1-8b-zero3.json --for batch.micro
  headroom plan examples/searches/llama-3.1-70b-512-gpus.json --top 5

headroom COMMAND --help says more of each, with examples; examples/jobs has job files to start from.
Exit status: 0 it fits, 1 it does not fit, 2 the input is wrong, 3 not decided within --seconds.)";

/// https://no-color.org: any non-empty NO_COLOR means no colours.
bool wants_colour() {
  const char* refused = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (refused == nullptr || *refused == '\0');
}

/// A share of the CLI's, refused in the library's words.
const CLI::Validator a_confidence(
    [](const std::string& text) {
      char* end = nullptr;
      const double share = std::strtod(text.c_str(), &end);
      return end != text.c_str() && *end == '\0' && share >= 0.5 && share <= 0.999 ? std::string{} : "a confidence must be a share from 0.5 to 0.999 (0.95 is 95 %), found \"" + text + "\"";
    },
    "");

std::string with_guess(std::string sentence, const std::string& found, const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  if (const auto meant = headroom::io::closest(found, views); !meant.empty()) sentence += "; did you mean \"" + std::string{meant} + "\"?";
  return sentence + (sentence.back() == '?' ? " accepted: " : "; accepted: ") + headroom::io::listed(views);
}

/// What is wrong with a command line, in one sentence.
std::string sentence_of(const CLI::App& app, const CLI::ParseError& wrong, const std::vector<std::string>& words) {
  std::vector<std::string> names;
  if (app.get_subcommands().empty()) {
    const bool option = !words.empty() && words[0].starts_with("-");
    if (option) return with_guess("headroom: there is no option " + words[0], words[0], {"--help", "--version"});
    for (const auto* c : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(c->get_name());
    return words.empty() ? with_guess("headroom: a command is required", "", names) : with_guess("headroom: there is no command " + words[0], words[0], names);
  }
  const auto* command = app.get_subcommands().front();
  for (const auto* o : command->get_options())
    if (o->nonpositional()) names.push_back("--" + o->get_lnames().front());
  for (const auto& word : words) {
    const auto flag = word.substr(0, word.find('='));
    if (flag.size() > 1 && flag.starts_with("-") && flag.find_first_not_of("-.0123456789") != std::string::npos && command->get_option_no_throw(flag) == nullptr)
      return with_guess("headroom: " + command->get_name() + " has no option " + flag, flag, names);
  }
  return "headroom: " + std::string{wrong.what()} + "; see headroom " + command->get_name() + " --help";
}

/// What the help of a command says below its options.
std::string use(const std::string& examples, const std::string& status) { return "Examples:\n" + examples + "\n" + status; }

constexpr auto verdict_status = "Exit status: 0 it fits (with --confidence: at the upper end of its range), 1 it does not fit, 2 the input is wrong.";
constexpr auto written_status = "Exit status: 0 it was written, 2 the input is wrong.";

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"headroom: the memory of an LLM training job, before it is launched", "headroom"};
  app.footer(first_steps);
  app.set_version_flag("--version", std::to_string(HEADROOM_VERSION_MAJOR) + "." + std::to_string(HEADROOM_VERSION_MINOR) +
                                        "." + std::to_string(HEADROOM_VERSION_PATCH));
  app.require_subcommand(1);
  std::ostringstream answer;
  program::streams io{std::cin, answer, wants_colour()};
  program::time_limit limit;
  int status = 0;
  const auto may_take = [&](CLI::App* command) {
    command->add_option_function<double>("--seconds", [&](const double& wait) { io.until = limit.start(wait); },
                                         "Answer within so many seconds, or that it is not decided: exit status 3")
        ->check(CLI::Range(0.0, 1e9))->type_name("S");
  };

  program::estimate_request estimate;
  auto* on_estimate = app.add_subcommand("estimate", "What one job occupies, where and when, and whether it fits");
  on_estimate->add_option("JOB", estimate.job, "The job file; - reads standard input")->required();
  on_estimate->add_flag("--json", estimate.json, "The report as JSON");
  on_estimate->add_option("--html", estimate.html, "Also write a page with pictures and what other settings would do")->type_name("FILE");
  on_estimate->add_option("--trace", estimate.trace, "Also write the step, event by event, as a trace that Perfetto opens (ui.perfetto.dev)")->type_name("FILE");
  on_estimate->add_option("--svg", estimate.svg, "Also draw the step into this file")->type_name("FILE");
  on_estimate->add_option("--confidence", estimate.confidence, "Judge and give ranges with this confidence, from 0.5 to 0.999 (ranges alone: 0.95)")
      ->check(a_confidence)->type_name("SHARE");
  on_estimate->add_flag("--confined", estimate.confined, "For jobs of other people: the files that the job names lie below its folder, or are refused");
  may_take(on_estimate);
  on_estimate->footer(use(R"(  headroom estimate examples/jobs/llama-3.1-8b-zero3.json
  headroom estimate job.json --html step.html
  headroom estimate job.json --trace step.json
  headroom estimate job.json --confidence 0.99
  headroom estimate - --json < job.json
)", verdict_status));
  on_estimate->callback([&] { status = program::run(estimate, io); });

  program::fit_request fit;
  auto* on_fit = app.add_subcommand("fit", "The longest sequence and the largest micro-batch of a fine-tuning, without a job file");
  on_fit->add_option("MODEL", fit.model, "A model's name (headroom list models), a Hugging Face id, or a folder with a config.json");
  on_fit->add_option("--config", fit.config, "The model's config.json, in place of MODEL")->type_name("FILE");
  for (const auto* method : {"qlora", "lora", "full"})
    on_fit->add_flag_callback(std::string{"--"} + method, [&fit, method] { fit.methods.emplace_back(method); },
                              method == std::string{"qlora"} ? "LoRA over a base of 4 bits" : method == std::string{"lora"} ? "LoRA over a 16-bit base" : "Every parameter trains");
  on_fit->add_option("--gpu", fit.gpu, "The GPU's name (headroom list gpus)")->type_name("NAME");
  on_fit->add_option("--gpus", fit.gpus, "How many of them, in one node")->check(CLI::Range(1, 1024))->capture_default_str()->type_name("N");
  on_fit->add_option("--sequence", fit.sequence, "Tokens of the sequences of which a micro-batch is made")->check(CLI::Range(1, 1 << 28))->capture_default_str()->type_name("N");
  on_fit->add_option("--micro", fit.micro, "Sequences of a micro-batch whose longest length is looked for")->check(CLI::Range(1, 1 << 20))->capture_default_str()->type_name("N");
  on_fit->add_option("--rank", fit.rank, "Of the adapters (16)")->check(CLI::Range(1, 1 << 20))->type_name("N");
  on_fit->add_option("--taken", fit.taken, "GiB of each GPU that others hold: a desktop, a second process")->check(CLI::Range(0.0, 4096.0))->type_name("GIB");
  on_fit->add_option("--set", fit.set, "A key of the job, e.g. --set attention=flash; last of all")->type_name("KEY=VALUE");
  on_fit->add_option("--write", fit.write, "Also write the job file, for headroom estimate")->type_name("FILE");
  on_fit->add_flag("--json", fit.json, "The numbers, the job and what it takes for granted as JSON");
  on_fit->add_option("--confidence", fit.confidence, "Of the second column, from 0.5 to 0.999")->check(a_confidence)->capture_default_str()->type_name("SHARE");
  may_take(on_fit);
  on_fit->footer(use(R"(  headroom fit Qwen/Qwen2.5-7B --qlora --gpu rtx-3090
  headroom fit llama-3.1-8b --full --gpu h100-sxm-80gb --gpus 8 --sequence 8192
  headroom fit --config ./config.json --lora --gpu rtx-4090 --taken 1.5 --set optimizer=adamw-8bit
)", "Exit status: 0 some sequence fits, 1 none does, 2 the input is wrong."));
  on_fit->callback([&] { status = program::run(fit, io); });

  program::solve_request solve;
  auto* on_solve = app.add_subcommand("solve", "The largest micro-batch, sequence or model that fits, the fewest GPUs, the least memory");
  on_solve->add_option("JOB", solve.job, "The job file; - reads standard input")->required();
  on_solve->add_option("--for", solve.key, "What is looked for: batch.micro, batch.sequence, hardware.nodes, …; a wrong one lists all")
      ->required()->type_name("KEY");
  on_solve->add_flag("--json", solve.json, "The value and the report as JSON");
  on_solve->add_option("--confidence", solve.confidence, "Fits at the upper end of its range with this confidence, from 0.5 to 0.999")->check(a_confidence)->type_name("SHARE");
  may_take(on_solve);
  on_solve->footer(use(R"(  headroom solve job.json --for batch.micro
  headroom solve job.json --for hardware.nodes --confidence 0.95
  headroom solve job.json --for model --json
)", "Exit status: 0 a value fits, 1 none does, 2 the input is wrong."));
  on_solve->callback([&] { status = program::run(solve, io); });

  program::plan_request plan;
  auto* on_plan = app.add_subcommand("plan", "The fastest plans that fit, of all that the keys given as \"auto\" allow; several searches with \"sweep\"");
  on_plan->add_option("JOB", plan.job, "The job file with keys that are \"auto\"; - reads standard input")->required();
  on_plan->add_option("--top", plan.top, "How many plans to name (10)")->check(CLI::Range(1, 1000));
  on_plan->add_option("--threads", plan.threads, "How many threads to search with (all cores)")->check(CLI::Range(1, 1024));
  on_plan->add_option("--shard", plan.shard, "Only part I (from 0) of N of the search, for `merge`")->type_name("I/N");
  on_plan->add_option("--write", plan.write, "Also write the fastest plan, a job file, into this file")->type_name("FILE");
  on_plan->add_flag("--json", plan.json, "Plans, front and reasons as JSON");
  on_plan->add_option("--confidence", plan.confidence, "Only plans that fit at the upper end of their range with this confidence, from 0.5 to 0.999")->check(a_confidence)->type_name("SHARE");
  may_take(on_plan);
  on_plan->footer(use(R"(  headroom plan examples/searches/llama-3.1-70b-512-gpus.json --top 5
  headroom plan search.json --confidence 0.95 --write job.json
  headroom plan search.json --json --shard 0/8 > part-0.json

While it searches, a terminal shows how far it is; Ctrl-C ends the search with the best so far.
)", "Exit status: 0 a plan fits (of a sweep: one for each search), 1 none does, 2 the input is wrong."));
  on_plan->callback([&] { status = program::run(plan, io); });

  program::merge_request merge;
  auto* on_merge = app.add_subcommand("merge", "Joins the parts of a search into what one run would have found");
  on_merge->add_option("PART", merge.parts, "What `plan --shard I/N --json` wrote, all N")->required();
  on_merge->add_flag("--json", merge.json, "The whole as JSON");
  on_merge->footer(use(R"(  headroom merge part-*.json
  headroom merge part-*.json --json > plans.json
)", "Exit status: 0 a plan fits, 1 none does, 2 the input is wrong."));
  on_merge->callback([&] { status = program::run(merge, io); });

  program::diagnose_request diagnose;
  auto* on_diagnose = app.add_subcommand("diagnose", "Why a run went out of memory, which tensor it was, and what would help");
  on_diagnose->add_option("JOB", diagnose.job, "The job file; - reads standard input")->required();
  on_diagnose->add_option("--message", diagnose.message, "The run's log, or the message out of it; - reads standard input")
      ->required()->type_name("FILE");
  on_diagnose->add_flag("--json", diagnose.json, "Cause, suspects and advice as JSON");
  may_take(on_diagnose);
  on_diagnose->footer(use(R"(  headroom diagnose job.json --message run.log
  tail -n 50 run.log | headroom diagnose job.json --message -
)", "Exit status: 0 by the estimate the job fits, 1 it does not, 2 the input is wrong."));
  on_diagnose->callback([&] { status = program::run(diagnose, io); });

  program::import_request import;
  auto* on_import = app.add_subcommand("import", "A job file from the files of other programs: config.json, DeepSpeed, accelerate, Megatron-LM, torchtitan, LLaMA-Factory, launch scripts");
  on_import->add_option("FILE", import.files, "What people already have, in any order; - reads standard input")->required();
  on_import->add_option("--as", import.as, "What the files are, where that cannot be seen")->type_name("KIND");
  on_import->add_option("--model", import.model, "The model: a name, or the path of a config.json")->type_name("MODEL");
  on_import->add_option("--gpu", import.gpu, "The GPU's name")->type_name("NAME");
  on_import->add_option("--auto", import.automatic, "Who fills in DeepSpeed's \"auto\": trainer or deepspeed, which drops such keys")->capture_default_str()->type_name("HOST");
  on_import->add_option("--program", import.program, "Whose arguments a script's program takes, where its name is not known")->type_name("NAME");
  on_import->add_option("--line", import.line, "Of a script that starts several trainings, the line of the one that is meant")->type_name("N");
  on_import->add_option("--env", import.env, "A value of the environment a script is started in; NAME is 1, 2, … for its own arguments")->type_name("NAME=VALUE");
  on_import->add_option("--ignore", import.ignore, "A key of the files that is passed over, though it may change what is allocated")->type_name("KEY");
  on_import->add_option("--set", import.set, "A key of the job, e.g. --set batch.sequence=4096; last of all")->type_name("KEY=VALUE");
  may_take(on_import);
  on_import->footer(use(R"(  headroom import ds_config.json run.sh --model llama-3.1-8b --gpu h100-sxm-80gb > job.json
  headroom import pretrain.sh --gpu h100-sxm-80gb --set hardware.nodes=16 > job.json
)", written_status));
  on_import->callback([&] { status = program::run(import, io); });

  program::export_request out;
  auto* on_export = app.add_subcommand("export", "A job in the files of other programs");
  on_export->add_option("JOB", out.job, "The job file; - reads standard input")->required();
  on_export->add_option("--to", out.to, "deepspeed, accelerate, megatron, torchtitan, torchrun or sbatch")->required()->type_name("TARGET");
  on_export->footer(use(R"(  headroom export examples/jobs/llama-3.1-8b-zero3.json --to deepspeed > ds_config.json
  headroom export job.json --to sbatch > train.sbatch
)", written_status));
  on_export->callback([&] { status = program::run(out, io); });

  program::count_request count;
  auto* on_count = app.add_subcommand("count", "Exact parameter counts of models, by component");
  on_count->add_option("MODEL", count.models, "Names of the model zoo, or paths of config.json files or their folders")
      ->required();
  on_count->add_flag("--json", count.json, "The counts as JSON");
  on_count->footer(use(R"(  headroom count llama-3.1-8b mixtral-8x7b
  headroom count ./my-model/config.json --json
)", written_status));
  on_count->callback([&] { status = program::run(count, io); });

  program::list_request list;
  auto* on_list = app.add_subcommand("list", "The names that a job file may use: models, gpus, frameworks, optimizers or precisions");
  on_list->add_option("WHAT", list.what, "models, gpus, frameworks, optimizers or precisions")->required();
  on_list->add_option("PART", list.part, "Only names that contain this");
  on_list->footer(use(R"(  headroom list gpus
  headroom list models llama
)", written_status));
  on_list->callback([&] { status = program::run(list, io); });

  program::schema_request schema;
  auto* on_schema = app.add_subcommand("schema", "A JSON Schema of job files, by which editors complete and check them");
  on_schema->add_flag("--markdown", schema.markdown, "The same as a page: a table of keys for each section");
  on_schema->footer(use(R"(  headroom schema > job.schema.json
  headroom schema --markdown > JOB.md
)", written_status));
  on_schema->callback([&] { status = program::run(schema, io); });

  program::validate_request validate;
  auto* on_validate = app.add_subcommand("validate", "Estimates every measured record of a file and shows the errors");
  on_validate->add_option("MEASURED", validate.records, "Records, one JSON object a line; - reads standard input")
      ->required();
  on_validate->add_flag("--json", validate.json, "Records and summary as JSON");
  on_validate->add_option("--by", validate.by, "Group the printed summary by this alone")
      ->check(CLI::IsMember({"family", "metric", "grade"}));
  on_validate->add_option("--confidence", validate.confidence, "Of the ranges that measured values are compared with, from 0.5 to 0.999")
      ->capture_default_str()->check(a_confidence)
      ->type_name("SHARE");
  on_validate->footer(use(R"(  headroom validate tests/accuracy/measured.jsonl --by family
  headroom validate mine.jsonl --json
)", "Exit status: 0 whatever the errors are, 2 the input is wrong."));
  on_validate->callback([&] { status = program::run(validate, io); });

  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "help") words.erase(words.begin()), words.insert(words.end(), "--help");
  try {
    app.parse(std::vector<std::string>{words.rbegin(), words.rend()});  // CLI11 takes them from the back
    limit.claim();
    std::cout << answer.str() << std::flush;
    if (!std::cout) throw headroom::error("headroom: the output could not be written");
    return status;
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForAllHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion& version) {
    return app.exit(version);
  } catch (const headroom::out_of_time& late) {
    limit.claim();
    std::cerr << late.what() << '\n';
    return program::not_decided;
  } catch (const CLI::ParseError& wrong) {
    std::cerr << headroom::io::printable(sentence_of(app, wrong, words)) << '\n';
  } catch (const headroom::error& wrong) {
    std::cerr << wrong.what() << '\n';
  } catch (const std::exception& wrong) {
    std::cerr << "headroom: " << headroom::io::printable(wrong.what()) << '\n';
  }
  return 2;
}
