// Distributed under the Boost Software License, Version 1.0.
// Words of a job file that other keys say now: both read as the same job, and what is not modelled is refused with the key to write.
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_older_words {

using namespace headroom;

namespace {

constexpr const char* zero3 = R"("framework": "deepspeed", "sharding": "zero3", "batch": {"micro": 2, "sequence": 512})";
constexpr const char* zero2 = R"("framework": "deepspeed", "sharding": {"kind": "zero", "stage": 2}, "batch": {"micro": 2, "sequence": 512})";
constexpr const char* fsdp = R"("framework": "hf-trainer", "sharding": "fsdp1", "batch": {"micro": 2, "sequence": 512})";
constexpr const char* megatron = R"("framework": {"name": "megatron", "version": "Megatron-SWIFT"}, "parallel": {"tensor": 4}, "sharding": "megatron-distributed-optimizer", "batch": {"micro": 2, "sequence": 512})";

job read(const std::string& rest, const std::string& model = R"("qwen3-0.6b")") {
  return io::read_job(io::parse_json(R"({"model": )" + model + R"(, "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, )" + rest + "}", "job"));
}
std::string with(const char* base, const std::string& objective) { return std::string{base} + R"(, "objective": )" + objective; }
std::string refusal(const std::string& rest) {
  try {
    (void)read(rest);
  } catch (const job_error& e) {
    return e.what();
  }
  return {};
}
bool says(const std::string& sentence, std::string_view part) { return sentence.find(part) != std::string::npos; }

struct spelled {
  const char* base;
  std::string older;
  std::string ours;
};

}  // namespace

TEST_CASE("older words of a reference read as the keys that stand for them") {
  const spelled all[] = {
      {zero3, R"({"kind": "dpo", "reference": {"keep": "copy"}})", R"({"kind": "dpo", "reference": "copy"})"},
      {zero3, R"({"kind": "dpo", "reference": {"sharding": "zero3"}})", R"({"kind": "dpo", "reference": "copy"})"},
      {zero3, R"({"kind": "dpo", "reference": {"keep": "precomputed"}})", R"({"kind": "dpo", "reference": "precomputed"})"},
      {zero2, R"({"kind": "dpo", "reference": {"keep": "copy", "sharding": "none", "offload": "none"}})", R"({"kind": "dpo", "reference": "copy"})"},
      {fsdp, R"({"kind": "dpo", "reference": {"keep": "copy", "sharding": "fsdp1", "precision": "bf16"}})", R"({"kind": "dpo", "reference": "copy", "reference_parameters": "bf16"})"},
      {zero2, R"({"kind": "ppo", "trainer": "deepspeed-chat", "reference": {"keep": "copy", "offload": "cpu"}})", R"({"kind": "ppo", "trainer": "deepspeed-chat", "reference": "copy"})"},
      {zero3, R"({"kind": "ppo", "trainer": "deepspeed-chat", "reference": {"keep": "copy", "offload": "cpu"}})", R"({"kind": "ppo", "trainer": "deepspeed-chat", "reference": "copy", "reference_parameters_at": "cpu"})"},
      {fsdp, R"({"kind": "dpo", "reference": {"keep": "copy", "offload": "cpu"}})", R"({"kind": "dpo", "reference": "copy", "reference_parameters_at": "cpu"})"},
      {fsdp, R"({"kind": "grpo", "trainer": "verl", "reference": {"keep": "copy", "sharding": "fsdp1", "offload": "cpu"}})", R"({"kind": "grpo", "trainer": "verl", "reference": "copy"})"},
      {megatron, R"({"kind": "grpo", "trainer": "verl", "reference": {"keep": "copy", "offload": "moved"}})", R"({"kind": "grpo", "trainer": "verl", "reference": "copy", "reference_parameters_at": "cpu"})"},
      {megatron, R"({"kind": "dpo", "trainer": "ms-swift-megatron", "reference": {"keep": "copy", "gradient_buffer": true}})", R"({"kind": "dpo", "trainer": "ms-swift-megatron-3.8", "reference": "copy"})"},
      {megatron, R"({"kind": "dpo", "trainer": "ms-swift-megatron", "reference": {"keep": "copy", "gradient_buffer": false}})", R"({"kind": "dpo", "trainer": "ms-swift-megatron", "reference": "copy"})"},
      {zero3, R"({"kind": "dpo", "reference": {"model": "qwen3-0.6b", "trained": false, "adapter": "none"}})", R"({"kind": "dpo", "reference": "copy"})"}};
  for (const auto& s : all) {
    CAPTURE(s.older);
    CHECK(read(with(s.base, s.older)) == read(with(s.base, s.ours)));
  }
}

TEST_CASE("older words of roles, losses and heads read as the keys that stand for them") {
  const spelled all[] = {
      {zero3, R"({"kind": "distill", "reference": "none", "loss": "jsd", "teacher": {"model": "qwen3-8b", "sharding": "zero3"}})", R"({"kind": "distill", "teacher": {"model": "qwen3-8b", "stage": 3}})"},
      {zero3, R"({"kind": "distill", "teacher": {"model": "qwen3-8b", "sharding": "none"}})", R"({"kind": "distill", "teacher": {"model": "qwen3-8b", "stage": 0}})"},
      {zero3, R"({"kind": "distill", "teacher": {"model": "qwen3-8b", "precision": "fp32", "offload": "cpu", "keep": "copy"}})", R"({"kind": "distill", "teacher": {"model": "qwen3-8b", "parameters": "fp32", "parameters_at": "cpu"}})"},
      {fsdp, R"({"kind": "distill", "teacher": {"model": "qwen3-8b", "sharding": "fsdp1", "parallel": {"tensor": 1, "sequence": false}}})", R"({"kind": "distill", "teacher": "qwen3-8b"})"},
      {zero3, R"({"kind": "distill", "teacher": "qwen3-8b", "top_k": 64})", R"({"kind": "distill", "teacher": "qwen3-8b", "top_logits": 64})"},
      {zero3, R"({"kind": "ppo", "reward": {"model": "qwen3-8b", "trained": false}, "critic": {"model": "qwen3-0.6b", "trained": true}})", R"({"kind": "ppo", "reward": "qwen3-8b", "critic": "qwen3-0.6b"})"},
      {zero3, R"({"kind": "grpo", "reward": "function"})", R"({"kind": "grpo"})"},
      {zero3, R"({"kind": "reward", "outputs": 1})", R"("reward")"}};
  for (const auto& s : all) {
    CAPTURE(s.older);
    CHECK(read(with(s.base, s.older)) == read(with(s.base, s.ours)));
  }
  CHECK(read(with(zero3, R"({"kind": "classification", "outputs": 265})")) == read(with(zero3, R"("classification")"), R"({"base": "qwen3-0.6b", "classes": 265})"));
  CHECK(read(with(zero3, R"({"kind": "classification", "outputs": 265})")).model.classes == 265);
}

TEST_CASE("dynamic micro-batches are rows of so many tokens") {
  const std::string of_verl = R"(, "framework": "hf-trainer", "sharding": "fsdp1", "objective": {"kind": "grpo", "trainer": "verl"}, "rollout": {"engine": "vllm", )";
  const auto both = [&](const char* older, const char* ours) { return read(older + of_verl + R"("model": "policy", "prompt": 128, "completion": 384})") == read(ours + of_verl + R"("prompt": 128, "completion": 384})"); };
  CHECK(both(R"("batch": {"micro": 2, "sequence": 512, "max_tokens": 512, "padded": false})", R"("batch": {"micro": 1, "sequence": 512})"));
  CHECK(both(R"("batch": {"sequence": 512, "max_tokens": 1024})", R"("batch": {"micro": 1, "sequence": 1024, "packed": true})"));
  CHECK(says(refusal(R"("batch": {"sequence": 512, "max_tokens": 500})" + of_verl + R"("prompt": 128})"), "batch.packed true and batch.sequence 500"));
  CHECK(says(refusal(R"("framework": "hf-trainer", "batch": {"sequence": 512, "max_tokens": 1024})"), "batch.sequence 1024"));
  CHECK(says(refusal(R"("framework": "hf-trainer", "batch": {"sequence": 512, "max_tokens": 512, "padded": true})"), "batch.micro"));
}

TEST_CASE("Megatron's fused cross-entropy is over a divided vocabulary, too") {
  const auto of = [](const char* loss) {
    return read(std::string{R"("framework": {"name": "megatron", "options": {"cross-entropy-loss-fusion": true}}, "parallel": {"tensor": 4}, "batch": {"sequence": 512})"} + loss);
  };
  CHECK(of(R"(, "loss": {"kind": "vocab-parallel", "logits": "fp32"})") == of(""));
  CHECK(of("").loss.kind == loss_kind::fused);
}

TEST_CASE("older words that mean what is not modelled are refused with the key to write") {
  const struct {
    const char* base;
    const char* objective;
    const char* part;
  } all[] = {{zero2, R"({"kind": "dpo", "reference": {"keep": "copy", "sharding": "zero3"}})", "write \"none\""},
             {zero3, R"({"kind": "dpo", "reference": {"keep": "copy", "sharding": "none"}})", "write \"zero3\""},
             {zero3, R"({"kind": "dpo", "reference": {"keep": "copy", "gradient_buffer": true}})", "objective.trainer must be \"ms-swift-megatron-3.8\""},
             {megatron, R"({"kind": "dpo", "trainer": "ms-swift-megatron-3.8", "reference": {"gradient_buffer": false}})", "contradicts objective.trainer"},
             {zero3, R"({"kind": "dpo", "reference": {"keep": "copy", "offload": "moved"}})", "objective.reference_parameters_at"},
             {fsdp, R"({"kind": "grpo", "trainer": "verl", "reference": {"keep": "copy", "offload": "none"}})", "wait on the host"},
             {zero3, R"({"kind": "dpo", "reference": {"model": "qwen3-8b"}})", "unknown key \"model\" in objective.reference"},
             {zero3, R"({"kind": "dpo", "reference": {"trained": true}})", "does not train"},
             {zero3, R"({"kind": "dpo", "reference": {"adapter": "lora"}})", "adapter-off"},
             {zero3, R"({"kind": "dpo", "reference": {"keep": "copy", "precision": "fp32"}, "reference_parameters": "fp32"})", "older word for \"reference_parameters\""},
             {zero3, R"({"kind": "distill", "teacher": {"model": "qwen3-8b", "sharding": "fsdp2"}})", "objective.teacher.stage"},
             {zero3, R"({"kind": "distill", "teacher": {"model": "qwen3-8b", "sharding": "zero3", "stage": 3}})", "stated, too"},
             {fsdp, R"({"kind": "distill", "teacher": {"model": "qwen3-8b", "sharding": "none"}})", "divided as the trained model"},
             {zero3, R"({"kind": "distill", "teacher": {"model": "qwen3-8b", "offload": "moved"}})", "objective.teacher.parameters_at"},
             {zero3, R"({"kind": "distill", "teacher": {"model": "qwen3-8b", "trained": true}})", "objective.critic"},
             {zero3, R"({"kind": "distill", "teacher": {"model": "qwen3-8b", "parallel": {"tensor": 4}}})", "\"tensor\" 4 is not modelled"},
             {zero3, R"({"kind": "distill", "teacher": {"model": "qwen3-8b", "parallel": 4}})", "must be an object"},
             {zero3, R"({"kind": "distill", "teacher": {"model": "qwen3-8b", "keep": "swapped"}})", "weights of its own"},
             {zero3, R"({"kind": "distill", "teacher": "qwen3-8b", "loss": "kl"})", "objective.divergence"},
             {zero3, R"({"kind": "dpo", "loss": "jsd"})", "objective.kind"},
             {zero3, R"({"kind": "ppo", "critic": {"model": "qwen3-0.6b", "trained": false}})", "objective.reward"},
             {zero3, R"({"kind": "ppo", "critic": {"model": "qwen3-0.6b", "offload": "cpu"}})", "rollout.trainer_moves"},
             {zero3, R"({"kind": "reward", "outputs": 4})", "model.classes"}};
  for (const auto& r : all) {
    CAPTURE(r.objective);
    CHECK(says(refusal(with(r.base, r.objective)), r.part));
  }
  const auto written = [](const std::string& by) { return read(with(zero3, R"("grpo")") + R"(, "rollout": {"engine": "trainer", "completion": 64)" + by + "}"); };
  CHECK(written(R"(, "model": "policy")") == written(""));
  CHECK(written(R"(, "model": "teacher")").rollout.by == completion_writer::teacher);
}

}  // namespace test_older_words
