// Distributed under the Boost Software License, Version 1.0.
// Which releases a job runs over: pinned beside a configuration, installed by its script, or those of the month of an argument that ended.
#include "imported.hpp"

#include <headroom/estimate.hpp>

#include <doctest/doctest.h>

#include <algorithm>

#if HEADROOM_HAS_YAML

namespace test_installed_releases {

using namespace imported;

namespace {

/// recipes/zephyr-7b-beta/sft/config_full.yaml of huggingface/alignment-handbook as wsklee/alignment-handbook 2b691cc1 has it: max_seq_length ended with TRL 0.19.
const imported::text zephyr{"config_full.yaml", "model_name_or_path: mistralai/Mistral-7B-v0.1\nmodel_revision: main\ntorch_dtype: bfloat16\nattn_implementation: flash_attention_2\n"
                            "dataset_mixer:\n  HuggingFaceH4/ultrachat_200k: 1.0\ndataset_splits:\n- train_sft\n- test_sft\npreprocessing_num_workers: 12\nbf16: true\ndo_eval: true\neval_strategy: epoch\n"
                            "gradient_accumulation_steps: 1\ngradient_checkpointing: true\ngradient_checkpointing_kwargs:\n  use_reentrant: False\nlearning_rate: 2.0e-05\nmax_seq_length: 2048\n"
                            "num_train_epochs: 1\nper_device_eval_batch_size: 8\nper_device_train_batch_size: 16\nremove_unused_columns: true\nwarmup_ratio: 0.1\n"};
/// setup.py of sbY99/alignment-handbook 0461c50b and of huggingface/open-r1 at TRL 0.18 (Gaolingx/open-r1 283298b3), as far as it pins.
const imported::text handbook{"setup.py", "_deps = [\n    \"accelerate==0.23.0\",\n    \"sentence-transformers==2.2.0\",\n    \"transformers==4.36.2\",\n    \"trl==0.7.7\",\n]\n"};
const imported::text open_r1{"setup.py", "# Dependencies of open-r1's own, \"transformers==4.30.0\" once\n_deps = [\n    \"peft>=0.14.0\",\n    \"transformers==4.52.3\",\n    \"trl[vllm]==0.18.0\",\n]\n"};
const imported::text no_pins{"setup.py", "_deps = [\n    \"transformers>=4.39.3\",\n    \"trl>=0.9.6\",\n    'x don''t\n]\n"};

int date_of(const std::vector<imported::text>& files, const std::vector<std::string>& set = {}) { return job_of(files, set).framework.date; }
bool notes(const std::vector<imported::text>& files, std::string_view what, const std::vector<std::string>& set = {}) {
  auto d = draft_of(files, set);
  static_cast<void>(d.settled());
  return std::any_of(d.notes.begin(), d.notes.end(), [&](const std::string& n) { return holds(n, what); });
}
imported::text without(const imported::text& of, const std::string& part, const std::string& instead) {
  auto said = of.said;
  const auto at = said.find(part);
  REQUIRE(at != std::string::npos);
  return {of.file, said.replace(at, part.size(), instead)};
}

}  // namespace

TEST_CASE("a file of an older TRL runs over the transformers of its month") {
  // TRL 0.19 is of 2025-06-20, 0.9.2 of 2024-06-05; transformers 4.39 of 2024-03-21 (the tags).
  CHECK(date_of({zephyr}) == 202506);
  CHECK(notes({zephyr}, "no file says which transformers is installed (--set environment.transformers=VERSION), and it is taken to be of the month of TRL's release: release 0.19 is assumed"));
  CHECK(job_of({zephyr}).assumed_defaults == 1);
  CHECK(date_of({zephyr}, {"environment.trl=0.9"}) == 202403);
  CHECK(date_of({zephyr}, {"environment.transformers=4.39"}) == 202403);
  CHECK(date_of({zephyr}, {"environment.transformers=5.16"}) == 202608);
  CHECK(job_of({zephyr}, {"environment.transformers=4.39"}).assumed_defaults == 0);
  // Checkpoints of transformers before 5 are reentrant where nothing is said.
  const auto open = without(zephyr, "gradient_checkpointing_kwargs:\n  use_reentrant: False\n", "");
  CHECK(estimate(job_of({open})).peak() == estimate(job_of({open}, {"recompute={\"mode\":\"full\",\"reentrant\":true}"})).peak());
  // A file of today's TRL is of today, and a release that is said dates it.
  const imported::text today{"sft.yaml", "model_name_or_path: Qwen/Qwen3-8B\nper_device_train_batch_size: 2\nmax_length: 1024\nbf16: true\ngradient_checkpointing: true\ndataset_name: a\nloss_type: nll\ndtype: bfloat16\n"};
  CHECK(date_of({today}) == 202609);
  CHECK(date_of({today}, {"environment.trl=0.24"}) == 202508);
  CHECK(date_of({today}, {"environment.trl=1.6"}) == 202609);
  // A model that came with transformers 5.2 was trained over no older one.
  const auto later = without(zephyr, "mistralai/Mistral-7B-v0.1", "Qwen/Qwen3.5-4B");
  CHECK(date_of({later}) == 202609);
  CHECK_FALSE(notes({later}, "taken to be of the month"));
}

TEST_CASE("alignment-handbook's script packs, and a file does not say so") {
  // scripts/run_sft.py of 01f29c1 (2024-07-31): SFTTrainer(…, packing=True, …), whose rows are all max_seq_length long.
  CHECK_FALSE(job_of({zephyr}).batch.lengths.unknown);
  CHECK(job_of({zephyr}) == job_of({without(zephyr, "max_seq_length: 2048", "max_seq_length: 2048\npacking: true")}));
  CHECK(notes({zephyr}, "config_full.yaml:5: dataset_mixer is of alignment-handbook's run_sft.py of before 2025-07, which packs samples whatever a file says"));
  CHECK(job_of({zephyr}, {"batch.lengths.unknown=true"}).batch.lengths.unknown);
  CHECK(job_of({without(zephyr, "dataset_mixer:\n  HuggingFaceH4/ultrachat_200k: 1.0", "dataset_name: HuggingFaceH4/ultrachat_200k")}).batch.lengths.unknown);
}

TEST_CASE("releases that are pinned beside a configuration are those that train") {
  CHECK(date_of({zephyr, handbook}) == 202312);
  CHECK(date_of({handbook, zephyr}) == 202312);
  CHECK(date_of({zephyr, open_r1}) == 202503);  // 4.52 is of 2025-05
  CHECK(date_of({zephyr, handbook}, {"environment.transformers=5.16"}) == 202608);
  CHECK(notes({zephyr, handbook}, "setup.py:4: transformers 4.36 is the release, as it is pinned there"));
  CHECK(notes({zephyr, handbook}, "setup.py:5: trl 0.7 is the release, as it is pinned there"));
  CHECK(date_of({zephyr, no_pins}) == 202506);
  CHECK(notes({zephyr, no_pins}, "setup.py: no release of transformers, trl, accelerate, verl, ms-swift or openrlhf is pinned there"));
  for (const std::string line : {"transformers==4.39.3", "transformers ~= 4.39.1 ; python_version > '3.8'", "transformers[torch]===4.39.0", "torch==2.1\n transformers == 4.39 # as of March"})
    CHECK(date_of({zephyr, {"requirements-dev.txt", line + "\n"}}) == 202403);
  for (const std::string line : {"transformers>=4.39.3", "transformers~=4.39", "transformers==4.*", "transformers<4.40", "# transformers==4.39.3", "my-transformers==4.39.3", "xtransformers==4.39.3", "-transformers==4.39.3", "transformers_stream==4.39.3"})
    CHECK(date_of({zephyr, {"requirements.txt", line + "\n"}}) == 202506);
  CHECK(date_of({zephyr, {"pyproject.toml", "[project]\ndependencies = [\"transformers==4.39.3\"]\n"}}) == 202403);
  CHECK(notes({zephyr, {"requirements.txt", "transformers @ git+https://github.com/huggingface/transformers.git@831bc25d8fdb85768402f772cf65cc3d7872b211\n"}}, "transformers is installed from its source, and which release that is no file says"));
}

TEST_CASE("a program's name begins a text or stands behind what is no part of a name") {
  const auto found = [](const std::string& text) {
    io::draft d;
    return io::detail::say_releases(d, text, "t");
  };
  CHECK(found("trl==0.9.6") == 1);
  CHECK(found(" trl==0.9.6") == 1);
  CHECK(found("\"trl==0.9.6\"") == 1);
  CHECK(found("xtrl==0.9.6") == 0);
  CHECK(found("a/trl==0.9.6") == 0);
  CHECK(found("trl[peft]==0.9.6 transformers == 4.39.1 accelerate~=1.2.3") == 3);
  CHECK(found("trl[peft==0.9.6") == 0);
  CHECK(found("trl~=0.9") == 0);  // 0.10 as well
}

TEST_CASE("what a script installs before it trains is what trains") {
  const std::string train = "accelerate launch --num_processes 1 scripts/run_sft.py config_full.yaml\n";
  const auto of = [&](const std::string& before, const std::string& after = {}) { return date_of({zephyr, {"run.sh", before + train + after}}); };
  CHECK(of("") == 202506);
  CHECK(of("pip install transformers==4.39.3 deepspeed\n") == 202403);
  CHECK(of("python3 -m pip install -U \"transformers==4.39.3\"\n") == 202403);
  CHECK(of("uv pip install trl==0.9.6\n") == 202403);
  CHECK(of("V=4.39.3\npip3 install transformers==$V\n") == 202403);
  CHECK(of("pip install transformers==4.39.3\npip install transformers==4.52.3\n") == 202503);
  CHECK(of("pip install transformers==4.39.3\nuv pip install transformers==4.52.3\n") == 202503);
  CHECK(of("uv pip install transformers==4.52.3\npip install transformers==4.39.3\n") == 202403);
  CHECK(of("", "pip3 install transformers==4.39.3\n") == 202506);  // for what comes after
  CHECK(of("echo pip install transformers\n") == 202506);
  // llm/vicuna/train.yaml of skypilot-org/skypilot (yottalabsai/skypilot 93a24d47), whose setup takes transformers at a commit.
  const auto task = [](const std::string& setup) {
    return imported::text{"task.yaml", "resources:\n  accelerators: A100-80GB:8\nsetup: |\n" + setup + "run: |\n  torchrun --nproc_per_node=$SKYPILOT_NUM_GPUS_PER_NODE run_clm.py --model_name_or_path huggyllama/llama-7b --bf16 True "
                                         "--torch_dtype bfloat16 --per_device_train_batch_size 4 --block_size 2048 --gradient_checkpointing True\n"};
  };
  CHECK(notes({task("  git clone https://github.com/huggingface/transformers.git\n  cd transformers\n  git checkout 41a2f35\n  pip install .\n")}, "transformers is installed from its source, and which release that is no file says: --set environment.transformers=VERSION"));
  CHECK(date_of({task("  echo transformers==4.39.3\n  pip install transformers==4.39.3\n")}) == 202403);
}

TEST_CASE("YAML makes false of a bare no, at which a Trainer's program ends") {
  // recipes/Mistral-Small-24B-Instruct-2501/sft/config_openr1_math.yaml of huggingface/open-r1 has it.
  const auto no = without(zephyr, "eval_strategy: epoch", "eval_strategy: no");
  CHECK(holds(refusal_of({no}), "config_full.yaml:13: eval_strategy is no without quotes, which YAML reads as false, and the program ends there: write eval_strategy: \"no\""));
  CHECK(holds(refusal_of({without(zephyr, "eval_strategy: epoch", "eval_strategy: 'no'\nsave_strategy: off")}), "save_strategy is no without quotes"));
  CHECK(job_of({without(zephyr, "eval_strategy: epoch", "eval_strategy: 'no'")}) == job_of({without(zephyr, "eval_strategy: epoch", "eval_strategy: \"no\"\nsave_strategy: 'no'")}));
  CHECK(refusal_of({{"run.sh", "torchrun --nproc_per_node 8 run_clm.py --model_name_or_path meta-llama/Llama-3.1-8B --bf16 True --torch_dtype bfloat16 --per_device_train_batch_size 1 --block_size 2048 --eval_strategy no\n"}}).empty());
}

TEST_CASE("a folder that a script makes up is no matter where no key of it matters") {
#if HEADROOM_HAS_TOML
  // pytorch-dsv3-mxfp8/train_16b.sh of nebius/ml-cookbook a2fb44d2: --job.dump_folder="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/outputs".
  const imported::text toml{"llama3_8b.toml", "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\nseq_len = 8192\n"};
  const std::string run = "torchrun --nproc_per_node 8 -m torchtitan.train --job.config_file llama3_8b.toml ";
  const std::string folder = "--job.dump_folder=\"$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)/outputs\"\n";
  CHECK(job_of({toml, {"run.sh", run + folder}}) == job_of({toml, {"run.sh", run + "\n"}}));
  CHECK(holds(refusal_of({toml, {"run.sh", run + "--training.seq_len=\"$(cat length)\"\n"}}), "which the file itself does not say"));
#endif
  // Sections of other programs' files beside a "training" of theirs (oumi-ai/oumi configs/recipes) are no file of torchtitan's.
  CHECK(holds(refusal_of({{"train.yaml", "model:\n  model_name: a\ndata:\n  train: []\ntraining:\n  trainer_type: TRL_SFT\n"}}), "is not a file that is known here"));
}

}  // namespace test_installed_releases

#endif
