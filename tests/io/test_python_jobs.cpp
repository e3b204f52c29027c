// Distributed under the Boost Software License, Version 1.0.
// Jobs from Python that nobody runs: notebooks and scripts that call Unsloth with arguments that stand there.
#include <doctest/doctest.h>

#include <headroom/io/syntax/notebook.hpp>
#include <headroom/objection.hpp>

#include "imported.hpp"

namespace test_python_jobs {

using namespace imported;

namespace {

const std::string loads =
    "from unsloth import FastLanguageModel\n"
    "import torch\n"
    "longest = 1024 * 2  # RoPE scaling is up to the model\n"
    "model, tokenizer = FastLanguageModel.from_pretrained(\n"
    "    model_name = \"unsloth/Qwen2.5-7B\",\n"
    "    max_seq_length = longest,\n"
    "    dtype = None,\n"
    "    load_in_4bit = False,\n"
    ")\n";
const std::string adapts =
    "model = FastLanguageModel.get_peft_model(\n"
    "    model, r = 32, target_modules = [\"q_proj\", \"v_proj\",],\n"
    "    lora_alpha = 2 * 32, lora_dropout = 0, bias = \"none\", use_gradient_checkpointing = \"unsloth\", random_state = 3407, use_rslora = False, loftq_config = None,\n"
    ")\n";
const std::string trains =
    "from trl import SFTTrainer, SFTConfig\n"
    "trainer = SFTTrainer(\n"
    "    model = model, tokenizer = tokenizer, train_dataset = dataset.map(format), eval_dataset = None,\n"
    "    args = SFTConfig(\n"
    "        dataset_text_field = \"text\", per_device_train_batch_size = 3, gradient_accumulation_steps = 5, warmup_steps = 5, max_steps = 60, learning_rate = 2e-4,\n"
    "        fp16 = not torch.cuda.is_bf16_supported(), bf16 = torch.cuda.is_bf16_supported(), optim = \"adamw_8bit\", weight_decay = 0.01, lr_scheduler_type = \"linear\", seed = 3407,\n"
    "        output_dir = f\"out/{longest}\", report_to = \"none\",\n"
    "    ),\n"
    ")\n"
    "stats = trainer.train()\n";
const std::string whole = loads + adapts + trains;

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  const auto at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}
std::string why(const std::string& text) { return refusal_of({{"train.py", text}}); }
job of_script(const std::string& text) { return job_of({{"train.py", text}}); }

/// A notebook of cells, as Jupyter writes it.
std::string notebook(const std::vector<std::string>& cells) {
  io::json_value all = io::json_value::array({{{"cell_type", "markdown"}, {"metadata", io::json_value::object()}, {"source", {"# per_device_train_batch_size = 7\n"}}}});
  for (const auto& text : cells) {
    auto lines = io::json_value::array();
    std::istringstream in{text};
    for (std::string line; std::getline(in, line);) lines.push_back(line + "\n");
    all.push_back({{"cell_type", "code"}, {"execution_count", nullptr}, {"metadata", io::json_value::object()}, {"outputs", io::json_value::array()}, {"source", lines}});
  }
  return io::json_value{{"cells", all}, {"metadata", io::json_value::object()}, {"nbformat", 4}, {"nbformat_minor", 0}}.dump(1);
}

}  // namespace

TEST_CASE("what stands in a script is its job") {
  const auto j = of_script(whole);
  CHECK(j.framework.label == "unsloth");
  CHECK(j.model.label == "qwen2.5-7b");
  CHECK(j.batch.micro == 3);
  CHECK(j.batch.accumulation == 5);
  CHECK(j.batch.sequence == 2048);
  CHECK(j.adapter.rank == 32);
  CHECK(j.adapter.targets == module_set{module::q_proj, module::v_proj});
  CHECK(!j.adapter.base.quantised());
  CHECK(j.optimizer.label == "adamw-8bit");
  CHECK(j.recompute.mode == recompute_mode::full);
  CHECK(j.offload.activations == place::on_cpu);
  CHECK(!objection_to(j));
}

TEST_CASE("a notebook is the script of its cells of code, and its lines are the file's") {
  const auto cells = notebook({"%%capture\n!pip install unsloth\nimport os\nif True:\n    !pip install trl==0.9.6\n", loads, "%%bash\nFastLanguageModel.from_pretrained(model_name = 1)\n", adapts, trains});
  CHECK(job_of({{"a.ipynb", cells}}) == of_script(whole));
  const auto bad = notebook({loads, adapts, replaced(trains, "gradient_accumulation_steps = 5", "gradient_accumulation_steps = steps_of(3)")});
  const auto sentence = refusal_of({{"a.ipynb", bad}});
  CHECK(holds(sentence, "gradient_accumulation_steps is computed (\"steps_of(3)\")"));
  CHECK(holds(sentence, "--env gradient_accumulation_steps=VALUE"));
  const auto before = bad.substr(0, bad.find("steps_of"));
  CHECK(holds(sentence, "a.ipynb:" + std::to_string(1 + std::count(before.begin(), before.end(), '\n')) + ":"));
  CHECK(holds(refusal_of({{"a.ipynb", "{\"cells\": 1}"}}), "no list of cells"));
}

TEST_CASE("checkpoints, and layers of the base in 4 bits") {
  CHECK(of_script(replaced(whole, "\"unsloth\", random", "True, random")).offload.activations == place::on_gpu);
  CHECK(of_script(replaced(whole, "\"unsloth\", random", "True, random")).recompute.mode == recompute_mode::full);
  CHECK(of_script(replaced(whole, "\"unsloth\", random", "False, random")).recompute.mode == recompute_mode::none);
  const auto four = replaced(whole, "load_in_4bit = False", "load_in_4bit = True");
  CHECK(of_script(replaced(four, "Qwen2.5-7B", "mistral-7b-v0.3")).adapter.base == formats::nf4_double);
  CHECK(of_script(replaced(replaced(four, "Qwen2.5-7B", "mistral-7b-v0.3"), "    load_in_4bit = True,\n", "")).adapter.base == formats::nf4_double);  // its default
  CHECK(of_script(replaced(four, "unsloth/Qwen2.5-7B", "someone/Qwen2.5-7B-Instruct")).adapter.base == formats::nf4_double);  // quantised as it is loaded
  CHECK(holds(why(four), "of which some layers may have 16 bits"));
  CHECK(draft_of({{"train.py", four}}, {}, io::auto_means::by_trainer, {"load_in_4bit"}).settled().adapter.base == formats::nf4_double);
}

TEST_CASE("a name has the value of its last assignment, where that is written down") {
  CHECK(of_script("longest = 512\n" + replaced(whole, "1024 * 2", "4096")).batch.sequence == 4096);
  CHECK(holds(why(replaced(whole, "longest = 1024 * 2", "longest = find()")), "max_seq_length is computed (\"longest\")"));
  CHECK(holds(why(replaced(whole, "longest = 1024 * 2", "longest = 4096\nif big:\n    longest = 8192")), "max_seq_length is computed"));
  CHECK(holds(why(replaced(whole, "longest = 1024 * 2", "longest = 4096\nlongest += 1")), "max_seq_length is computed"));
  CHECK(of_script(replaced(whole, "longest = 1024 * 2", "longest: int = 4096 if not False else 2")).batch.sequence == 4096);
  CHECK(of_script("def longest_of(longest = 3):\n    return longest\n" + whole).batch.sequence == 2048);
  std::string inside = "longest = 5\ndef main(longest):\n";
  std::istringstream lines{replaced(whole, "longest = 1024 * 2  # RoPE scaling is up to the model\n", "")};
  for (std::string line; std::getline(lines, line);) inside += "    " + line + "\n";
  CHECK(holds(why(inside + "main(2048)\n"), "max_seq_length is computed"));
  auto with = settings();
  with.script.environment = {{"longest", "1536"}};
  io::draft d;
  io::import_files(d, {io::input_of(inside, "train.py", io::file_kind::unknown, with)}, with);
  d.say({"hardware", "gpu"}, "h100-sxm-80gb", "--gpu");
  CHECK(d.settled().batch.sequence == 1536);
}

TEST_CASE("what is not read stops the import, and is named") {
  for (const auto& row : std::vector<std::pair<std::string, std::string>>{
           {replaced(whole, "FastLanguageModel.from_pretrained", "FastVisionModel.from_pretrained"), "FastVisionModel is not modelled"},
           {loads + trains, "no FastLanguageModel.get_peft_model adds adapters"},
           {adapts + trains, "no training is read of this text"},
           {replaced(whole, "SFTTrainer(\n", "GRPOTrainer(\n"), "GRPOTrainer beside Unsloth is not read"},
           {replaced(whole, "stats =", "model.gradient_checkpointing_disable()\nstats ="), "model.gradient_checkpointing_disable"},
           {replaced(whole, "stats =", "for p in model.parameters(): p.requires_grad = True\nstats ="), "requires_grad"},
           {replaced(whole, "optim = \"adamw_8bit\", ", ""), "does not say optim"},
           {replaced(whole, "per_device_train_batch_size = 3, ", ""), "--env per_device_train_batch_size=VALUE"},
           {replaced(whole, "weight_decay = 0.01", "packing = True"), "packing = true"},
           {replaced(whole, "weight_decay = 0.01", "eval_strategy = \"steps\""), "eval_strategy"},
           {replaced(whole, "weight_decay = 0.01", "max_seq_length = 1024"), "max_seq_length = 1024"},
           {replaced(whole, "weight_decay = 0.01", "max_seq_length = 4096"), "is more than the 2048"},
           {replaced(whole, "weight_decay = 0.01", "weight_decays = 0.01"), "weight_decays is not known here"},
           {replaced(whole, "weight_decay = 0.01", "gradient_checkpointing = False"), "gradient_checkpointing = false"},
           {replaced(whole, "weight_decay = 0.01", "**more"), "**more"},
           {replaced(whole, "\"v_proj\"", "\"embed_tokens\""), "embed_tokens"},
           {replaced(whole, "loftq_config = None", "modules_to_save = [\"lm_head\"]"), "modules_to_save"},
           {replaced(whole, "load_in_4bit = False", "load_in_4bit = False, full_finetuning = True"), "full_finetuning"},
           {replaced(whole, "fp16 = not torch.cuda.is_bf16_supported(), bf16 = torch.cuda.is_bf16_supported()", "fp16 = True"), "training in fp16"},
           {whole + replaced(trains, "stats", "more"), "2 trainers are made in this file"},
           {"class SFTTrainer(Base):\n    pass\n" + whole, "a class of this text's own"},
           {"print(1)\n", "no training is read of this text"},
           {std::string(70, '('), "nested deeper"}}) {
    const auto& part = row.second;
    CAPTURE(part);
    const auto sentence = why(row.first);
    CAPTURE(sentence);
    CHECK(holds(sentence, part));
    CHECK(holds(sentence, "train.py"));
  }
  CHECK(holds(refusal_of({{"a.py", whole}, {"b.py", whole}}), "are both programs"));
}

TEST_CASE("what comes after the training is of no matter to it") {
  CHECK(of_script(whole + "model.merge_and_unload()\nif False:\n    model, tokenizer = FastLanguageModel.from_pretrained(model_name = \"out\", load_in_4bit = load)\nFastLanguageModel.for_inference(model)\n") == of_script(whole));
}

TEST_CASE("Python's words, whoever wrote them") {
  const auto all = io::python_statements("a = 'x' \"y\"; b = r'\\n'\nif a: c = [1,\n  2]  # [\nd = f'{a}' '''three\n\"lines\"''' \\\n  + b\n@e\ndef f(x=1): return x\n", "t.py");
  REQUIRE(all.size() == 6);
  CHECK(all[0].tokens.size() == 4);
  CHECK(all[1].tokens[2].text == "\\n");
  CHECK(all[2].line == 2);
  CHECK(all[3].line == 4);
  CHECK(all[3].tokens[2].is == io::python_word::open_text);
  CHECK(all[3].tokens[3].text == "three\n\"lines\"");
  CHECK(all[5].line == 8);
  for (const auto* broken : {"'", "\"\"\"", "f(", "a[", "\\", "x = {", "0x", "1e", ")))", "a = = b", "!", "%%", "\xff\xfe", "def", "class", "if", "=", "(a, b) = c", "a.b = 1", "**"}) {
    CAPTURE(broken);
    CHECK(!why(std::string{broken} + "\n" + broken).empty());
  }
}

TEST_CASE("names that stand for each other come to an end") {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "a" + std::to_string(i) + " = [a" + std::to_string(i + 1) + ", a" + std::to_string(i + 1) + "]\n";
  std::string back;
  for (int i = 60; i >= 0; --i) back += "a" + std::to_string(i) + " = " + (i == 60 ? "1" : "[a" + std::to_string(i + 1) + ", a" + std::to_string(i + 1) + "]") + "\n";
  CHECK(holds(why(text + replaced(whole, "longest,", "a0,")), "is computed"));
  CHECK(holds(why(back + replaced(whole, "longest,", "a0,")), "is computed"));
}

}  // namespace test_python_jobs
