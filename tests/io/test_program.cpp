// Distributed under the Boost Software License, Version 1.0.
// The program from outside: exit status, what goes to which stream, the forms of its output.
#if defined(HEADROOM_PROGRAM)

#include "program.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

namespace test_program {

using namespace headroom;
using namespace test_programs;

namespace {

const std::string small =
    R"({"model": {"layers": 2, "hidden": 64, "heads": 4, "ffn": 128, "vocab": 1000}, "hardware": {"gpu": "h100-sxm-80gb"}, "batch": {"sequence": 64}})";
const std::string huge = R"({"model": "llama-3.1-8b", "hardware": {"gpu": "rtx-4090"}, "batch": {"sequence": 4096}})";

}  // namespace

TEST_CASE("exit status 0, 1 and 2") {
  const scratch at;
  CHECK(at.run("estimate " + at.file("small.json", small)).status == 0);
  CHECK(at.run("estimate -", small).status == 0);
  CHECK(at.run("estimate -", huge).status == 1);
  struct call {
    std::string arguments, input;
  };
  for (const auto& bad :
       {call{"estimate -", "{"}, call{"estimate -", ""}, call{"estimate -", "[]"},
        call{"estimate -", R"({"model": "no-such"})"}, call{"estimate /no/such/file.json", ""}, call{"estimate /", ""},
        call{"estimate", ""}, call{"estimate - --svg /no/such/folder/x.svg", small}, call{"estimate - --jsn", small},
        call{"guess", ""}, call{"", ""}, call{"--gues", ""}, call{"list", ""}, call{"list gpu", ""}, call{"list gpus no-such", ""}, call{"count no-such-model", ""}, call{"count", ""},
        call{"validate /no/such.jsonl", ""}, call{"validate -", "{}"}, call{"validate -", ""},
        call{"validate - --by banana", "{}"}, call{"estimate - --confidence 95", small}, call{"estimate - --confidence 0.3", small},
        call{"estimate - --confidence much", small}, call{"validate - --confidence 1", "{}"}, call{"solve -", small}, call{"solve - --for banana", small},
        call{"solve - --for batch.micro", "{"}, call{"diagnose -", small}, call{"diagnose - --message -", small},
        call{"diagnose - --message /no/such.log", small}, call{"diagnose /no/such.json --message -", "Tried to allocate 1.00 GiB."}, call{"import", ""}, call{"import /no/such.json", ""}, call{"import -", ""},
        call{"import -", "{}"}, call{"import - --as banana", "{}"}, call{"import -", small.substr(1)}, call{"import - --set batch", small}, call{"import - --auto me", small}, call{"import - --model no-such", small},
        call{"import -", "--num-layers 2"}, call{"export -", small}, call{"export - --to banana", small}, call{"export - --to deepspeed", small}, call{"export - --to torchrun", "{"}}) {
    CAPTURE(bad.arguments);
    CAPTURE(bad.input);
    const auto seen = at.run(bad.arguments, bad.input);
    CAPTURE(seen.err);
    CHECK(seen.status == 2);
    CHECK(one_sentence(seen));
  }
}

TEST_CASE("a misspelt command or option is told what was probably meant") {
  const scratch at;
  CHECK(holds(at.run("estimat -", small).err, "there is no command estimat; did you mean \"estimate\"?"));
  CHECK(holds(at.run("estimate - --jsn", small).err, "estimate has no option --jsn; did you mean \"--json\"?"));
  CHECK(holds(at.run("estimate - --confidence=95%", small).err, "must be a share from 0.5 to 0.999 (0.95 is 95 %), found \"95%\""));
  const auto help = at.run("help plan");
  CHECK(help.status == 0);
  CHECK(help.out == at.run("plan --help").out);
  CHECK(holds(help.out, "Exit status: 0 a plan fits"));
}

TEST_CASE("list names what a job file may use") {
  const scratch at;
  const auto gpus = at.run("list gpus h100");
  CHECK(gpus.status == 0);
  CHECK(holds(gpus.out, "h100-sxm-80gb                  79.11 GiB    989 TFLOP/s in bf16  also h100-80gb\n"));
  CHECK_FALSE(holds(gpus.out, "a100"));
  CHECK(holds(at.run("list types qwen3_moe").out, "qwen3_moe                   walked  also Qwen3Moe\n"));
  CHECK(holds(at.run("list types voxtral").out, "voxtral                     walked over text alone  also Voxtral\n"));
  CHECK(holds(at.run("list types audio-spectrogram-transformer").out, "audio-spectrogram-transformer counted alone"));
  CHECK(holds(at.run("list types xlstm").out, "xlstm                       counted alone  also xLSTMModel, xLSTMForCausalLM\n"));
  CHECK(holds(at.run("list models mixtral").out, "mixtral-8x7b                  46.70 B parameters  experts  also mixtral-8x7b-v0.1, "));
  CHECK(holds(at.run("list models codegemma-7b").out, "codegemma-7b                   8.54 B parameters  as gemma-7b\n"));
  const auto seen = at.run("list models --kind sees qwen2").out;
  CHECK(holds(seen, "qwen2-vl-7b                    8.29 B parameters  sees\n"));
  CHECK_FALSE(holds("\n" + seen, "\nqwen2-7b "));
  CHECK(holds(at.run("list models --kind dense qwen2").out, "qwen2-7b                       7.62 B parameters\n"));
  CHECK(holds(at.run("list models --kind recurrent nemotron-h").out, "nemotron-h-8b                  8.10 B parameters  recurrent  also "));
  CHECK(holds(at.run("list models --kind hears turbo").out, "whisper-large-v3-turbo        808.9 M parameters  hears  encoder-decoder\n"));
  CHECK(holds(at.run("list models --kind encoder bge-m3").out, "bge-m3                        567.8 M parameters  encoder\n"));
  CHECK(holds(at.run("list models voxtral").out, "walked over text alone"));
  CHECK(holds(at.run("list models --kind wide").err, "--kind"));
  CHECK(holds(at.run("list gpus --kind sees").err, "--kind chooses among models, found \"gpus\""));
  CHECK(holds(at.run("list frameworks").out, "deepspeed\n"));
  CHECK(holds(at.run("list optimizers").out, "adamw\n"));
  CHECK(holds(at.run("list precisions").out, "bf16-mixed\n"));
}

TEST_CASE("schema prints what a job file may say") {
  const scratch at;
  const auto seen = at.run("schema");
  CHECK(seen.status == 0);
  CHECK(io::parse_json(seen.out, "schema")["properties"]["batch"]["properties"]["micro"]["default"] == 1);
  CHECK(at.run("schema --markdown").out == io::read_file(HEADROOM_EXAMPLES "/JOB.md"));
}

TEST_CASE("solve names the value, the next one and the keys there are") {
  const scratch at;
  const auto text = at.run("solve - --for batch.micro", small);
  CHECK(text.status == 0);
  CHECK(holds(text.out, "is the largest that fits. With "));
  const auto seen = at.run("solve - --for batch.sequence --json", small);
  CHECK(seen.status == 0);
  const auto json = io::parse_json(seen.out, "solve");
  CHECK(json.at("key") == "batch.sequence");
  CHECK(json.at("value") > 64);
  CHECK(json.at("report").at("fits") == true);
  const auto none = at.run("solve - --for batch.micro --json", huge);
  CHECK(none.status == 1);
  CHECK(io::parse_json(none.out, "solve").at("value").is_null());
  CHECK(holds(at.run("solve - --for banana", small).err, "must be one of model, batch.micro"));
  const auto model = at.run("solve - --for model --json", small);
  CHECK(model.status == 0);
  CHECK(io::parse_json(model.out, "solve").at("value").is_string());
}

TEST_CASE("plan names the fastest that fit, and its jobs are jobs") {
  const scratch at;
  const std::string open = R"({"model": "llama-3.1-8b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "framework": "megatron", "parallel": "auto", "sharding": "auto",
                              "batch": {"sequence": 4096, "global": 32}, "recompute": "auto"})";
  const auto text = at.run("plan - --top 3", open);
  CHECK(text.status == 0);
  CHECK(holds(text.out, "The fastest that fit"));
  const auto seen = at.run("plan - --top 3 --json --threads 2", open);
  CHECK(seen.status == 0);
  const auto json = io::parse_json(seen.out, "plan");
  REQUIRE(json.at("plans").size() == 3);
  CHECK(json.at("evaluated") > 100);
  double before = 0;
  for (const auto& p : json.at("plans")) {
    CHECK(p.at("step_seconds") >= before);
    before = p.at("step_seconds");
    CHECK(p.at("tokens_per_second") > 0);
    CHECK(p.at("report").at("fits") == true);
    const auto again = io::parse_json(at.run("estimate - --json", p.at("job").dump()).out, "estimate");
    CHECK(again.at("ranks").at(0).at("gpu") == "h100-sxm-80gb");
  }
  CHECK_FALSE(json.at("front").empty());
  const auto fastest = at.file("fastest.json");
  CHECK(at.run("plan - --top 1 --write " + fastest, open).status == 0);
  CHECK(io::parse_json(io::read_file(fastest), "fastest") == json.at("plans").at(0).at("job"));
  CHECK(json.at("rejected").is_array());
  // In three parts, joined: the same.
  std::string parts;
  for (const char* i : {"0", "1", "2"}) {
    const auto part = at.run(std::string{"plan - --top 3 --json --shard "} + i + "/3", open);
    CHECK(part.status < 2);
    parts += " " + at.file(std::string{"part"} + i + ".json", part.out);
  }
  const auto merged = at.run("merge --json" + parts);
  CHECK(merged.status == 0);
  const auto whole = io::parse_json(merged.out, "merge");
  CHECK(whole.at("evaluated") == json.at("evaluated"));
  CHECK(whole.at("rejected") == json.at("rejected"));
  CHECK(whole.at("plans") == json.at("plans"));
  CHECK(whole.at("front") == json.at("front"));
  CHECK(one_sentence(at.run("merge" + parts.substr(0, parts.rfind(' ')))));
  CHECK(one_sentence(at.run("merge" + parts + parts.substr(parts.rfind(' ')))));
  CHECK(one_sentence(at.run("merge " + at.file("odd.json", "{}"))));
  for (const char* bad : {"3/3", "x/3", "1", "1/", "-1/3", "1/0"}) CHECK(one_sentence(at.run(std::string{"plan - --shard "} + bad, open)));
  // Each time with its range, and which are tied.
  CHECK(holds(text.out, "95 % sure"));
  CHECK(holds(text.out, "within the error of the prediction: measure them"));
  for (const auto& p : json.at("plans")) {
    CHECK(p.at("step_bounds").at("low") < p.at("step_seconds"));
    CHECK(p.at("step_seconds") < p.at("step_bounds").at("high"));
    CHECK(p.at("tied").is_boolean());
  }
  CHECK(holds(at.run("estimate -", open).err, "parallel is \"auto\": only `headroom plan` looks for values"));
  // Without a time: by memory. With nothing open, and with nothing possible: it says so.
  const auto cpu = at.run("plan -", R"({"model": "gpt2", "hardware": {"gpu": "cpu"}, "batch": {"sequence": 1024}})");
  CHECK(cpu.status == 0);
  CHECK(holds(cpu.out, "No key of the job is \"auto\""));
  CHECK(holds(cpu.out, "The smallest that fit"));
  const auto odd = at.run("plan -", R"({"model": "llama-3.1-8b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "framework": "megatron", "parallel": {"data": 8},
                                     "sharding": "auto", "batch": {"micro": "auto", "sequence": 4096, "global": 7}})");
  CHECK(odd.status == 1);
  CHECK(holds(odd.out, "No plan is possible: every job is refused."));
  const auto nothing = at.run("plan -", R"({"model": "gpt2", "hardware": {"gpu": {"name": "small", "memory_gib": 1}}, "batch": {"sequence": 1024}, "recompute": "auto"})");
  CHECK(nothing.status == 1);
  CHECK(holds(nothing.out, "The closest\n  batch 1 x 1, full recompute: DOES NOT FIT: "));
  CHECK(one_sentence(at.run("plan -", R"({"model": "auto", "batch": {"sequence": 4096}})")));
}

TEST_CASE("a sweep is one table, and its parts join") {
  const scratch at;
  const std::string sweep = R"({"sweep": {"model": ["llama-3.1-8b", "llama-3.1-405b"], "batch.sequence": [2048, 4096]}, "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8},
                               "framework": "megatron", "parallel": {"tensor": "auto"}, "sharding": "auto", "batch": {"global": 32}, "recompute": "auto"})";
  const auto text = at.run("plan -", sweep);
  CHECK(text.status == 1);  // 405B fits nowhere
  CHECK(holds(text.out, "4 searches, "));
  CHECK(holds(text.out, "sequence 2048, llama-3.1-8b "));
  CHECK(holds(text.out, "no plan fits"));
  const auto whole = io::parse_json(at.run("plan - --json --top 2 --confidence 0.9", sweep).out, "plan");
  REQUIRE(whole.at("searches").size() == 4);
  CHECK(whole.at("searches").at(0).at("sweep") == io::parse_json(R"({"batch.sequence": 2048, "model": "llama-3.1-8b"})", "sweep"));
  std::string parts;
  for (const char* i : {"0", "1"}) parts += " " + at.file(std::string{"half"} + i + ".json", at.run(std::string{"plan - --json --top 2 --confidence 0.9 --shard "} + i + "/2", sweep).out);
  CHECK(io::parse_json(at.run("merge --json" + parts).out, "merge").at("searches") == whole.at("searches"));
  CHECK(one_sentence(at.run("plan -", R"({"sweep": [], "batch": {"sequence": 64}})")));
  CHECK(one_sentence(at.run("plan - --confidence 2", sweep)));
  CHECK(one_sentence(at.run("plan - --write " + at.file("one.json"), sweep)));
}

TEST_CASE("a job that does not fit comes with advice, and diagnose reads a log") {
  const scratch at;
  const std::string eight = R"({"model": "llama-3.1-8b", "framework": {"name": "deepspeed"}, "precision": "bf16-mixed", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8},
                               "sharding": "zero3", "batch": {"micro": 8, "sequence": 8192}, "recompute": "full"})";
  const auto seen = at.run("estimate - --json", eight);
  CHECK(seen.status == 1);
  const auto json = io::parse_json(seen.out, "estimate");
  REQUIRE(json.contains("advice"));
  CHECK(json.at("advice").at(0).at("headroom") >= 0);
  CHECK(json.at("advice").at(0).at("step_seconds") > 0);
  CHECK(json.at("advice").at(0).at("relative_time") > 0);
  CHECK(holds(at.run("estimate -", eight).out, "What would make it fit"));
  CHECK_FALSE(io::parse_json(at.run("estimate - --json", small).out, "estimate").contains("advice"));
  const auto log = at.file("run.log", "step 1\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 31.31 GiB. GPU 3 has a total capacity of 79.10 GiB of which 9.00 GiB is free.\n");
  const auto told = at.run("diagnose - --message " + log, eight);
  CHECK(told.status == 1);
  CHECK(holds(told.out, "logits of the head and the loss"));
  CHECK(holds(told.out, "What would make it fit"));
  CHECK(holds(told.out, " s a step, "));
  const auto diagnosed = io::parse_json(at.run("diagnose - --json --message " + log, eight).out, "diagnose");
  CHECK(diagnosed.at("cause") == "capacity");
  CHECK(diagnosed.at("asked") == std::int64_t{33'618'856'509});
  CHECK(diagnosed.at("suspects").size() > 0);
  CHECK(diagnosed.at("advice") == json.at("advice"));
  CHECK(one_sentence(at.run("diagnose - --message " + at.file("calm.log", "loss 2.1\n"), eight)));
}

TEST_CASE("estimate writes JSON and the picture") {
  const scratch at;
  const auto picture = at.file("step.svg");
  const auto seen = at.run("estimate - --json --svg " + picture, small);
  CHECK(seen.status == 0);
  CHECK(seen.err.empty());
  const auto report = io::parse_json(seen.out, "report");
  CHECK(report["fits"] == true);
  CHECK(report["ranks"][0]["gpu"] == "h100-sxm-80gb");
  CHECK(io::read_file(picture).starts_with("<svg"));
  const auto trace = at.file("step.json");
  CHECK(at.run("estimate - --trace " + trace, small).status == 0);
  const auto events = io::parse_json(io::read_file(trace), "trace");
  CHECK(events["traceEvents"].size() > 1000);
  const auto refused = at.run("estimate - --trace " + trace, R"({"model": "llama-3.2-1b", "framework": "torchtune", "hardware": {"gpu": "h100-sxm-80gb"}, "offload": {"activations": "cpu"}, "batch": {"sequence": 64}})");
  CHECK(refused.status == 2);
  CHECK(holds(refused.err, "a step is recorded where it is replayed"));
  CHECK(at.run("estimate -", small).out.find('\x1b') == std::string::npos);
}

TEST_CASE("a confidence is part of the verdict") {
  const scratch at;
  const std::string dense = R"({"model": "llama-3.1-8b", "framework": "deepspeed", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "sharding": "zero3",
                               "batch": {"sequence": 8192}, "recompute": "full"})";
  const auto largest = [&](const std::string& more) { return io::parse_json(at.run("solve - --for batch.micro --json" + more, dense).out, "solve").at("value"); };
  CHECK(largest(" --confidence 0.99") < largest(""));
  CHECK(holds(at.run("solve - --for batch.micro --confidence 0.99", dense).out, "fits with a confidence of 99.0 %"));
  // Of a GPU with 2 % more than what the job is predicted to occupy, a confidence of 0.99 wants more.
  const auto needed = io::parse_json(at.run("estimate - --json", small).out, "report")["ranks"][0]["device"].get<std::int64_t>();
  const auto room = std::to_string(static_cast<double>(needed) * 1.02 / 1073741824.0);
  auto tight = small;
  const std::string gpu = R"("h100-sxm-80gb")";
  tight.replace(tight.find(gpu), gpu.size(), R"({"name": "h100-sxm-80gb", "memory_gib": )" + room + "}");
  CAPTURE(tight);
  CHECK(at.run("estimate -", tight).status == 0);
  CHECK(at.run("estimate - --confidence 0.99", tight).status == 1);
  CHECK(holds(at.run("estimate -", tight).out, "95 % sure: device memory between"));
  const auto report = io::parse_json(at.run("estimate - --json --confidence 0.99", tight).out, "report");
  CHECK(report["fits"] == true);
  CHECK(report["bounds"]["fits"] == false);
  CHECK(report["bounds"]["confidence"] == 0.99);
  CHECK(at.run("estimate - --confidence 0.99", small).status == 0);
  CHECK(holds(at.run("estimate - --confidence 95", small).err, "a confidence must be a share from 0.5 to 0.999 (0.95 is 95 %)"));
}

TEST_CASE("paths in a job are relative to the job") {
  const scratch at;
  std::filesystem::create_directories(at.file("model"));
  std::filesystem::copy_file(HEADROOM_EXAMPLES "/models/llama-3.1-8b/config.json", at.file("model/config.json"));
  const auto file =
      at.file("job.json", R"({"model": "model", "hardware": {"gpu": "h100-sxm-80gb"}, "batch": {"sequence": 64}})");
  const auto seen = at.run("estimate " + file + " --json");
  CHECK(seen.status != 2);
  CHECK(io::parse_json(seen.out, "report")["parameters"]["total"] == 8'030'261'248);
}

TEST_CASE("count") {
  const scratch at;
  const auto seen = at.run("count llama-3.1-8b " HEADROOM_EXAMPLES "/models/llama-3.1-8b mixtral-8x7b --json");
  CHECK(seen.status == 0);
  const auto models = io::parse_json(seen.out, "models")["models"];
  REQUIRE(models.size() == 3);
  CHECK(models[0]["model"] == "llama-3.1-8b");
  CHECK(models[0]["total"] == 8'030'261'248);
  CHECK(models[1]["total"] == 8'030'261'248);
  CHECK(models[2]["total"] == 46'702'792'704);
  CHECK(models[2]["active"] < models[2]["total"]);
  for (const auto& m : models) {
    std::int64_t sum = 0;
    for (const auto& [component, n] : m["components"].items()) sum += n.get<std::int64_t>();
    CHECK(sum == m["total"].get<std::int64_t>());
  }
  CHECK(holds(at.run("count llama-3.1-8b").out, "8,030,261,248"));
}

TEST_CASE("validate judges what was measured") {
  const scratch at;
  const auto record = [](const std::string& id, const std::string& rest, const std::string& job = small) {
    return R"({"id": ")" + id + R"(", "family": "test", "source": "here", "grade": "A", "job": )" + job + ", " + rest +
           R"(, "note": ""})" + "\n";
  };
  const std::string deep =
      R"({"model": {"layers": 8, "hidden": 64, "heads": 4, "ffn": 128, "vocab": 1000}, "hardware": {"gpu": "h100-sxm-80gb"}, "batch": {"sequence": 64}})";
  const auto records =
      record("exact", R"("metric": "allocated", "rank": "max", "value": 1000000, "bound": "equal")") +
      record("oom", R"("metric": "device", "rank": "single", "value": 85899345920, "bound": "at-least")") +
      record("fits", R"("metric": "device", "rank": "single", "value": 85899345920, "bound": "at-most")") +
      record("refused", R"("metric": "device", "rank": "single", "value": 1, "bound": "equal")", R"({"model": "x"})") +
      "\n" + record("slow", R"("metric": "step_seconds", "value": 1.5, "table": "t")", deep) +
      record("quick", R"("metric": "step_seconds", "value": 0.5, "table": "t")");
  const auto seen = at.run("validate - --json", records);
  CHECK(seen.status == 0);
  const auto all = io::parse_json(seen.out, "validation");
  REQUIRE(all["records"].size() == 6);
  const auto& exact = all["records"][0];
  CHECK(exact["error"].get<double>() == doctest::Approx((exact["predicted"].get<double>() - 1e6) / 1e6));
  CHECK(exact["violation"] == false);
  CHECK(all["records"][1]["violation"] == true);
  CHECK(all["records"][2]["violation"] == false);
  CHECK(holds(all["records"][3]["refused"].get<std::string>(), "neither a name"));
  CHECK(all["records"][3]["predicted"].is_null());
  const auto& slow = all["records"][4];
  CHECK(slow["refused"].is_null());
  CHECK(slow["error"].get<double>() == doctest::Approx(slow["predicted"].get<double>() / 1.5 - 1));
  REQUIRE(all["tables"].size() == 1);
  CHECK(all["tables"][0]["pairs"] == 1);  // eight layers take longer than two
  CHECK(all["tables"][0]["ordered"] == 1);
  int judged = 0, refused = 0, violations = 0;
  for (const auto& s : all["summary"]) {
    judged += s["count"].get<int>();
    refused += s["refused"].get<int>();
    violations += s["violations"].get<int>();
  }
  CHECK(judged == 5);
  // One measured value, and it lies far from the prediction.
  CHECK(all["summary"][0]["coverage"] == 0.0);
  CHECK(all["summary"][0]["width"].get<double>() == doctest::Approx((exact["high"].get<double>() - exact["low"].get<double>()) / exact["predicted"].get<double>()));
  CHECK(exact["errors"]["tensors"].get<std::int64_t>() > 0);
  const auto narrower = io::parse_json(at.run("validate - --json --confidence 0.5", records).out, "validation");
  CHECK(narrower["records"][0]["high"].get<std::int64_t>() < exact["high"].get<std::int64_t>());
  CHECK(refused == 1);
  CHECK(violations == 1);
  CHECK(holds(at.run("validate - --by family", records).out, "VIOLATED"));
  CHECK(holds(at.run("validate -", records).out, "100.0 %"));
  CHECK(holds(at.run("validate -", records + "{\"id\": 3}\n").err, "standard input line 8: id must be a string, found 3"));
}

TEST_CASE("what a reader makes of a model stays where --model names it") {
  const scratch at;
  // A tower and a projector before the language model (haotian-liu/LLaVA scripts/finetune.sh), and tiles of each image (OpenGVLab/InternVL).
  const auto llava = at.file("finetune.sh", "torchrun --nproc_per_node 8 llava/train/train_mem.py --model_name_or_path ./checkpoints/mine --version v1 --vision_tower openai/clip-vit-large-patch14 --mm_use_im_patch_token False "
                                            "--bf16 True --per_device_train_batch_size 16 --model_max_length 2048 --gradient_checkpointing True\n");
  const auto made = at.run("import " + llava + " --gpu h100-sxm-80gb --model llama-2-7b");
  CAPTURE(made.err);
  REQUIRE(made.status == 0);
  CHECK(io::parse_json(made.out, "made")["model"]["vision"]["kind"] == "clip");
  CHECK(holds(at.run("import " + llava + " --gpu h100-sxm-80gb --model llama-2-7b --set model=llama-7b").err, "vision_tower means something else for another model"));
  const auto tiles = at.file("r.sh", "torchrun --nproc_per_node=2 internvl/train/internvl_chat_finetune.py --model_name_or_path ./mine --force_image_size 448 --max_dynamic_patch 6 --freeze_llm True --freeze_mlp True --freeze_backbone True "
                                     "--use_llm_lora 16 --bf16 True --per_device_train_batch_size 4 --max_seq_length 8192 --do_train True --dynamic_image_size True --use_thumbnail True\n");
  const auto cut = at.run("import " + tiles + " --gpu h100-sxm-80gb --model internvl2.5-8b");
  CAPTURE(cut.err);
  REQUIRE(cut.status == 0);
  CHECK(io::parse_json(cut.out, "cut")["model"]["vision"]["slices"] == 7);
}

TEST_CASE("import makes a job of other programs' files, export makes files of a job") {
  const scratch at;
  const auto ds = at.file("ds_config.json", R"({"train_micro_batch_size_per_gpu": "auto", "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto"}})");
  const auto run = at.file("run.sh", "torchrun --nproc_per_node 8 train.py --model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 2 --bf16 True --gradient_checkpointing True --deepspeed ds_config.json\n");
  const auto seen = at.run("import " + ds + " " + run + " --gpu h100-sxm-80gb --set batch.sequence=4096");
  CHECK(seen.status == 0);
  CAPTURE(seen.err);
  const auto job = at.file("job.json", seen.out);
  CHECK(at.run("estimate " + job).status == 0);
  // The numbers of a file written from it are those of the job.
  const auto written = at.run("export " + job + " --to deepspeed");
  CHECK(written.status == 0);
  CHECK(holds(written.out, "\"reduce_bucket_size\": 16777216"));
  const auto again = at.run("import " + job + " " + at.file("again.json", written.out));
  CHECK(again.status == 0);
  const auto first = io::parse_json(seen.out, "first"), second = io::parse_json(again.out, "second");
  for (const auto* key : {"model", "hardware", "sharding", "batch", "recompute"}) CHECK(first[key] == second[key]);
  for (const auto* target : {"accelerate", "torchrun", "sbatch"}) CHECK(at.run(std::string{"export "} + job + " --to " + target).status == 0);
  for (const std::string target : {"hf-trainer", "trl", "llama-factory", "axolotl"}) {
    CAPTURE(target);
    const auto arguments = at.run("export " + job + " --to " + target);
    CAPTURE(arguments.err);
    REQUIRE(arguments.status == 0);
    std::string set = " --gpu h100-sxm-80gb --set hardware.gpus_per_node=8";
    if (target != "hf-trainer") {  // these pad to the longest of a micro-batch, and no key of theirs says that all samples are as long
      CHECK(holds(at.run("import " + at.file(target + ".yaml", arguments.out) + " " + at.file("ds.json", written.out) + set).out, R"("unknown": true)"));
      set += " --set batch.lengths.unknown=false";
    }
    const auto back = at.run("import " + at.file(target + ".yaml", arguments.out) + " " + at.file("ds.json", written.out) + set);
    CAPTURE(back.err);
    REQUIRE(back.status == 0);
    const auto third = io::parse_json(back.out, "third");
    for (const auto* key : {"model", "hardware", "sharding", "batch"}) CHECK(first[key] == third[key]);
    const auto ranks = [&](const std::string& text) { return io::parse_json(at.run("estimate - --json", text).out, "report")["ranks"]; };
    CHECK(ranks(seen.out) == ranks(back.out));
  }
}

}  // namespace test_program

#endif
