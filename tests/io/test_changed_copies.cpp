// Distributed under the Boost Software License, Version 1.0.
// The text of the program that a launch starts, given beside it: what a changed copy has others, and what stops.
#include <doctest/doctest.h>

#include "imported.hpp"

namespace test_changed_copies {

using namespace imported;

namespace {

const std::string launch = "torchrun --nproc_per_node=4 train.py --model_name_or_path huggyllama/llama-7b --data_path d.json --bf16 True --output_dir o --per_device_train_batch_size 4 --gradient_accumulation_steps 8\n";
/// A trainer of the arguments of stanford_alpaca's, which loads a whole model and trains it.
const std::string fields =
    "@dataclass\n"
    "class ModelArguments:\n"
    "    model_name_or_path: Optional[str] = field(default='facebook/opt-125m')\n"
    "@dataclass\n"
    "class DataArguments:\n"
    "    data_path: str = field(default=None, metadata={'help': 'x'})\n"
    "@dataclass\n"
    "class TrainingArguments(transformers.TrainingArguments):\n"
    "    cache_dir: Optional[str] = field(default=None)\n"
    "    optim: str = field(default='adamw_torch')\n"
    "    model_max_length: int = field(\n        default=512,\n        metadata={'help': 'the longest'},\n    )\n";
const std::string body =
    "def train():\n"
    "    model = transformers.AutoModelForCausalLM.from_pretrained(\n        model_args.model_name_or_path,\n        cache_dir=training_args.cache_dir\n    )\n"
    "    tokenizer = transformers.AutoTokenizer.from_pretrained(model_args.model_name_or_path)\n"
    "    trainer = Trainer(model=model, tokenizer=tokenizer, args=training_args, **data_module)\n"
    "    trainer.train()\n";

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  const auto at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}
std::vector<imported::text> with(const std::string& program, const std::string& command = launch, const std::string& file = "train.py") { return {{"run.sh", command}, {file, program}}; }
std::string notes_of(const std::vector<imported::text>& files, const std::vector<std::string>& ignores = {}) {
  auto d = draft_of(files, {}, io::auto_means::by_trainer, ignores);
  d.settled();
  std::string all;
  for (const auto& n : d.notes) all += n + "\n";
  return all;
}

}  // namespace

TEST_CASE("an unchanged copy is the known program, and is no longer taken to be it") {
  const auto alone = job_of({{"run.sh", launch}}), same = job_of(with(fields + body));
  CHECK(alone == same);
  CHECK(same.batch.sequence == 512);
  CHECK(holds(notes_of({{"run.sh", launch}}), "is taken to be that of tatsu-lab/stanford_alpaca"));
  CHECK(!holds(notes_of(with(fields + body)), "is taken to be"));
  CHECK(holds(notes_of(with(fields + body)), "by the statements of tatsu-lab/stanford_alpaca's"));
}

TEST_CASE("other defaults are the copy's, and the command goes over them") {
  const auto longer = replaced(fields, "default=512", "default=4096");
  CHECK(job_of(with(longer + body)).batch.sequence == 4096);
  CHECK(holds(notes_of(with(longer + body)), "model_max_length is 4096 where the command does not say it, and 512 in tatsu-lab/stanford_alpaca's"));
  const auto said = launch.substr(0, launch.size() - 1) + " --model_max_length 1024\n";
  CHECK(job_of(with(longer + body, said)).batch.sequence == 1024);
  const auto more = fields + "    gradient_checkpointing: bool = True\n    warm: int = 7\n";
  CHECK(job_of(with(fields + body)).recompute.mode == recompute_mode::none);
  CHECK(job_of(with(more + body)).recompute.mode == recompute_mode::full);
  CHECK(holds(notes_of(with(more + body)), "which are not read: warm"));
  CHECK(holds(refusal_of(with(more + body, launch.substr(0, launch.size() - 1) + " --warm 8\n")), "warm is not known here"));
  CHECK(holds(refusal_of(with(replaced(fields, "default=512", "default=LONGEST") + body)), "model_max_length = \"computed\""));
  CHECK(job_of(with("LONGEST = 2048\n" + replaced(fields, "default=512", "default=LONGEST") + body)).batch.sequence == 2048);
  CHECK(holds(refusal_of(with(replaced(fields, "    data_path: str = field(default=None, metadata={'help': 'x'})\n", "    data: str = ''\n") + body)), "has no argument data_path, and ends there"));
}

TEST_CASE("other statements that shape memory stop the import, at their place") {
  for (const auto& row : std::vector<std::array<std::string, 3>>{
           {"    trainer.train()\n", "    model.model.embed_tokens.weight.requires_grad = False\n    trainer.train()\n", "model.model.embed_tokens"},
           {"    trainer.train()\n", "    model.gradient_checkpointing_enable()\n    trainer.train()\n", "gradient_checkpointing_enable"},
           {"cache_dir=training_args.cache_dir\n", "cache_dir=training_args.cache_dir, torch_dtype=torch.bfloat16\n", "model=transformers."},
           {"    trainer =", "    model = get_peft_model(model, config)\n    trainer =", "get_peft_model"},
           {"    trainer =", "    if slim:\n        model.half()\n    trainer =", "model.half()"},
           {" = Trainer(", " = LongTrainer(", "LongTrainer"}}) {
    const auto& part = row[2];
    CAPTURE(part);
    const auto sentence = refusal_of(with(fields + replaced(body, row[0], row[1])));
    CHECK(holds(sentence, part));
    CHECK(holds(sentence, "headroom: train.py:"));
    CHECK(holds(sentence, "a statement that tatsu-lab/stanford_alpaca's has not"));
    CHECK(holds(sentence, "--ignore train.py"));
  }
  CHECK(draft_of(with(fields + replaced(body, "    trainer.train()\n", "    model.half()\n")), {}, io::auto_means::by_trainer, {"train.py"}).settled().batch == job_of({{"run.sh", launch}}).batch);
}

TEST_CASE("another program of the same name is not read as the known one") {
  const std::string llava = "deepspeed --num_gpus 8 llava/train/train_mem.py --deepspeed zero3.json --model_name_or_path lmsys/vicuna-7b-v1.5 --version v1 --data_path d.json --vision_tower openai/clip-vit-large-patch14-336 --mm_projector_type mlp2x_gelu --bf16 True --per_device_train_batch_size 16 --model_max_length 2048\n";
  const auto sentence = refusal_of({{"run.sh", llava}, {"llava/train/train.py", fields + body}});
  CHECK(holds(sentence, "train.py: this is another program than haotian-liu/LLaVA's"));
}

TEST_CASE("a copy under another name is known by its text, and other texts are not plain trainers by themselves") {
  const auto renamed = replaced(launch, " train.py", " tune_all.py");
  CHECK(holds(refusal_of({{"run.sh", renamed}}), "data_path is not known here"));
  CHECK(job_of(with(fields + body, renamed, "tune_all.py")) == job_of({{"run.sh", launch}}));
  CHECK(!holds(notes_of(with(fields + body, renamed, "tune_all.py")), "is no program that is known here"));
  const auto frozen = replaced(body, "    trainer.train()\n", "    model.lm_head.requires_grad_(False)\n");
  CHECK(holds(refusal_of(with(fields + frozen, renamed, "tune_all.py")), "beside a plain Trainer"));
  CHECK(holds(notes_of(with(fields + body, launch, "other.py")), "other.py: the launch starts \"train.py\", and this text is not read"));
}

}  // namespace test_changed_copies
