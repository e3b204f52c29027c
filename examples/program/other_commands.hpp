// Distributed under the Boost Software License, Version 1.0.
// What the command line offers of commands that read and write files, and of those that tell what is known.
#pragma once

#include "session.hpp"

namespace program {

inline void offer_import(CLI::App& app, session& s) {
  const auto asked = std::make_shared<import_request>();
  auto* command = app.add_subcommand("import", "A job file from the files of other programs: config.json, DeepSpeed, accelerate, Megatron-LM, torchtitan, LLaMA-Factory, launch scripts and the programs that they start, Kubernetes manifests, notebooks");
  command->add_option("FILE", asked->files, "What people already have, in any order; - reads standard input")->required();
  command->add_option("--as", asked->as, "What the files are, where that cannot be seen")->type_name("KIND");
  command->add_option("--model", asked->model, "The model: a name, or the path of a config.json")->type_name("MODEL");
  command->add_option("--gpu", asked->gpu, "The GPU's name")->type_name("NAME");
  command->add_option("--auto", asked->automatic, "Who fills in DeepSpeed's \"auto\": trainer or deepspeed, which drops such keys")->capture_default_str()->type_name("HOST");
  command->add_option("--program", asked->program, "Whose arguments a script's program takes, where its name is not known")->type_name("NAME");
  command->add_option("--line", asked->line, "Of a script that starts several trainings, the line of the one that is meant")->type_name("N");
  command->add_option("--env", asked->env, "A value of the environment a script is started in; NAME is 1, 2, … for its own arguments")->type_name("NAME=VALUE");
  command->add_option("--ignore", asked->ignore, "A key of the files that is passed over, though it may change what is allocated")->type_name("KEY");
  command->add_option("--set", asked->set, "A key of the job, e.g. --set batch.sequence=4096; last of all")->type_name("KEY=VALUE");
  may_take(command, s);
  command->footer(use(R"(  headroom import ds_config.json run.sh --model llama-3.1-8b --gpu h100-sxm-80gb > job.json
  headroom import finetune.sh llava/train/train.py --gpu h100-sxm-80gb --set hardware.gpus_per_node=8 > job.json
  headroom import unsloth.ipynb --gpu rtx-4090 > job.json
  headroom import pretrain.sh --gpu h100-sxm-80gb --set hardware.nodes=16 > job.json
)", written_status));
  command->callback([asked, &s] { s.status = run(*asked, s.io); });
}

inline void offer_export(CLI::App& app, session& s) {
  const auto asked = std::make_shared<export_request>();
  auto* command = app.add_subcommand("export", "A job in the files of other programs");
  command->add_option("JOB", asked->job, "The job file; - reads standard input")->required();
  command->add_option("--to", asked->to, "deepspeed, accelerate, megatron, torchtitan, hf-trainer, trl, llama-factory, axolotl, torchrun or sbatch")->required()->type_name("TARGET");
  command->footer(use(R"(  headroom export examples/jobs/llama-3.1-8b-zero3.json --to deepspeed > ds_config.json
  headroom export job.json --to sbatch > train.sbatch
)", written_status));
  command->callback([asked, &s] { s.status = run(*asked, s.io); });
}

inline void offer_count(CLI::App& app, session& s) {
  const auto asked = std::make_shared<count_request>();
  auto* command = app.add_subcommand("count", "Exact parameter counts of models, by component");
  command->add_option("MODEL", asked->models, "Names of the model zoo, or paths of config.json files or their folders")
      ->required();
  command->add_flag("--json", asked->json, "The counts as JSON");
  command->footer(use(R"(  headroom count llama-3.1-8b mixtral-8x7b
  headroom count ./my-model/config.json --json
)", written_status));
  command->callback([asked, &s] { s.status = run(*asked, s.io); });
}

inline void offer_list(CLI::App& app, session& s) {
  const auto asked = std::make_shared<list_request>();
  auto* command = app.add_subcommand("list", "The names that a job file may use: models, types of config.json, gpus, frameworks, optimizers or precisions");
  command->add_option("WHAT", asked->what, "models, types (of config.json: walked, or counted alone), gpus, frameworks, optimizers or precisions")->required();
  command->add_option("PART", asked->part, "Only names that contain this");
  command->add_option("--kind", asked->kind, "Only models of this kind: dense, experts, recurrent, sees, hears, encoder or encoder-decoder")->type_name("KIND");
  command->footer(use(R"(  headroom list gpus
  headroom list models llama
  headroom list models --kind sees qwen
  headroom list types deepseek
)", written_status));
  command->callback([asked, &s] { s.status = run(*asked, s.io); });
}

inline void offer_schema(CLI::App& app, session& s) {
  const auto asked = std::make_shared<schema_request>();
  auto* command = app.add_subcommand("schema", "A JSON Schema of job files, by which editors complete and check them");
  command->add_flag("--markdown", asked->markdown, "The same as a page: a table of keys for each section");
  command->footer(use(R"(  headroom schema > job.schema.json
  headroom schema --markdown > JOB.md
)", written_status));
  command->callback([asked, &s] { s.status = run(*asked, s.io); });
}

inline void offer_validate(CLI::App& app, session& s) {
  const auto asked = std::make_shared<validate_request>();
  auto* command = app.add_subcommand("validate", "Estimates every measured record of a file and shows the errors");
  command->add_option("MEASURED", asked->records, "Records, one JSON object a line; - reads standard input")
      ->required();
  command->add_flag("--json", asked->json, "Records and summary as JSON");
  command->add_option("--plot", asked->plot, "Also draw each measured number of memory over its prediction, as an SVG")->type_name("FILE");
  command->add_option("--by", asked->by, "Group the printed summary by this alone")
      ->check(CLI::IsMember({"family", "metric", "grade"}));
  command->add_option("--confidence", asked->confidence, "Of the ranges that measured values are compared with, from 0.5 to 0.999")
      ->capture_default_str()->check(a_confidence)
      ->type_name("SHARE");
  command->footer(use(R"(  headroom validate tests/accuracy/measured.jsonl --by family
  headroom validate tests/accuracy/measured.jsonl --plot accuracy.svg
  headroom validate mine.jsonl --json
)", "Exit status: 0 whatever the errors are, 2 the input is wrong."));
  command->callback([asked, &s] { s.status = run(*asked, s.io); });
}

#if HEADROOM_HAS_SERVER
inline void offer_serve(CLI::App& app, session& s) {
  const auto asked = std::make_shared<serve_request>();
  auto* command = app.add_subcommand("serve", "The answers over HTTP, JSON in and out: POST /v1/replay, /v1/plan, …; GET /openapi.json");
  command->add_option("--listen", asked->listen, "HOST:PORT; port 0 takes a free one")->capture_default_str()->type_name("HOST:PORT");
  command->add_option("--certificate", asked->certificate, "PEM: with TLS; read again when it changes")->check(CLI::ExistingFile)->type_name("FILE");
  command->add_option("--key", asked->key, "PEM")->check(CLI::ExistingFile)->type_name("FILE");
  command->add_option("--seconds", asked->seconds, "For an answer; later it is not decided")->capture_default_str()->check(CLI::Range(0.01, 3600.0))->type_name("S");
  command->add_option("--connections", asked->connections, "At once")->capture_default_str()->check(CLI::Range(1, 4096))->type_name("N");
  command->add_option("--workers", asked->workers, "Answers at once (all cores)")->check(CLI::Range(1, 256))->type_name("N");
  command->add_option("--body", asked->body_kib, "KiB of a request at most")->capture_default_str()->check(CLI::Range(1, 16384))->type_name("KIB");
  command->footer(use(R"(  headroom serve --listen 127.0.0.1:8080
  curl --data '{"job": {"model": "gpt2", "batch": {"micro": 1, "sequence": 1024}}}' http://127.0.0.1:8080/v1/replay

It reads no files: what a job names comes with the request. Whoever reaches it may ask: give it an address that only friends reach.
)", "Exit status: 0 it was ended, 2 the input is wrong."));
  command->callback([asked, &s] { s.status = run(*asked, s.io); });
}
#endif

}  // namespace program
