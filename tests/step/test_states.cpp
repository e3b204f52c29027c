// Distributed under the Boost Software License, Version 1.0.
// States against a slow reference written differently: the tensors of a Llama listed one by one, each stored, divided and given
// its optimizer's state by plain arithmetic on counts.
#include <headroom/headroom.hpp>
#include <headroom/replay.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

namespace test_states {

using namespace headroom;

namespace {

struct matrix {
  long rows, columns;
  bool embedding = false;
};

std::vector<matrix> llama_tensors(const shape& m) {
  std::vector<matrix> t{{m.vocab, m.hidden, true}};
  const long q = m.heads * m.head_width(), k = m.kv() * m.head_width();
  for (long i = 0; i < m.layers; ++i)
    for (const matrix& w : {matrix{q, m.hidden}, {k, m.hidden}, {k, m.hidden}, {m.hidden, q}, {m.ffn, m.hidden}, {m.ffn, m.hidden}, {m.hidden, m.ffn}, {m.hidden, 1}, {m.hidden, 1}})
      t.push_back(w);
  t.push_back({m.hidden, 1});
  t.push_back({m.vocab, m.hidden, true});
  return t;
}

long up(double x) { return static_cast<long>(std::ceil(x)); }

/// Elements of optimizer state for one whole tensor, and how many bytes those are. `width`: of the recipe's state and of gradients, which are alike here.
long state_bytes_of(std::string_view name, const matrix& w, long width, long weight) {
  const long n = w.rows * w.columns;
  const bool vector = w.columns == 1;
  const long longer = std::max(w.rows, w.columns), shorter = std::min(w.rows, w.columns);
  const long bytes8 = n < 4096 ? 4 * n : n + 4 * up(static_cast<double>(n) / 256.0);
  const bool small = n < 4096 || n % 256 != 0;
  if (name == "adamw" || name == "adam" || name == "badam" || name == "schedule-free-adamw" || name == "adopt" || name == "lamb") return 2 * width * n;
  if (name == "sgd" || name == "lomo") return 0;
  if (name == "sgd-momentum" || name == "adagrad" || name == "schedule-free-sgd") return width * n;
  // bitsandbytes: fp32, or 8 bits; pages take what has 1e5 elements.
  if (name.starts_with("paged-") && n >= 100'000) return 0;
  if (name == "lion" || name == "paged-lion" || name == "rmsprop-bnb") return 4 * n;
  if (name == "lion-8bit" || name == "paged-lion-8bit" || name == "rmsprop-8bit") return bytes8;
  if (name == "paged-adamw") return 8 * n;
  if (name == "adamw-8bit" || name == "paged-adamw-8bit") return 2 * bytes8;
  if (name == "ademamix" || name == "paged-ademamix") return 12 * n;
  if (name == "ademamix-8bit" || name == "paged-ademamix-8bit") return 3 * bytes8;
  if (name == "adamw-torchao-8bit") return 2 * (small ? weight * n : n + n / 64 + 1024);
  if (name == "adamw-torchao-4bit") return 2 * (n < 4096 || n % 128 != 0 ? weight * n : n / 2 + n / 32 + 64);
  if (name == "adamw-torchao-fp8") return 2 * (small ? weight * n : n + n / 64);
  if (name == "adafactor" || name == "adalomo") return vector ? 4 * n : 4 * (w.rows + w.columns);
  if (name == "came") return vector ? 8 * n : 4 * n + 8 * (w.rows + w.columns);
  if (name == "adam-mini") return width * (n + (vector ? 1 : w.rows));
  if (name == "prodigy") return 4 * width * n;
  if (name == "rmsprop") return width * n;
  if (name == "stable-adamw" || name == "optimi-adamw") return (weight == 2 && width == 2 ? 3 : 2) * width * n;  // the third for bf16 alone
  if (name.starts_with("apollo") || name == "galore") {
    const long rank = name == "galore" ? 128 : name == "apollo" ? 256 : 1;
    if (vector || w.embedding || shorter <= rank) return 2 * width * n;
    return width * (2 * rank * longer + (name == "galore" && width == 4 ? shorter : rank) * shorter);
  }
  // galore_torch: bitsandbytes' state of rank × the longer side; Adafactor's two sums of that, and of matrices that are not projected.
  if (name == "galore-8bit") {
    if (vector || w.embedding || shorter <= 128) return 2 * bytes8;
    const long low = 128 * longer;
    return 2 * (low < 4096 ? 4 * low : low + 4 * up(static_cast<double>(low) / 256.0)) + (width == 4 ? 4 * shorter : weight * 128) * shorter;
  }
  if (name == "galore-adafactor") return vector ? 4 * n : w.embedding || shorter <= 128 ? 4 * (w.rows + w.columns) : 4 * (longer + 128 + shorter * shorter);
  if (name == "grokadamw") return 0;  // on the host
  if (name == "anyprecision-adamw") return 8 * n;
  if (name == "soap") return 8 * n + (vector ? 0 : 8 * (w.rows * w.rows + w.columns * w.columns));
  const long flash = n + 2 * up(static_cast<double>(n) / 32.0), rounded = weight == 2 && width == 2 ? n : 0;
  if (name == "flash-adamw") return 2 * flash + rounded;
  if (name == "flash-lion") return flash + rounded;
  if (name == "muon") return vector || w.embedding ? 2 * width * n : width * n;
  FAIL("no reference for this optimizer");
  return 0;
}

job tiny(const precision& p, const optimizer& o) {
  job j;
  j.model = {.layers = 3, .hidden = 320, .heads = 5, .kv_heads = 1, .ffn = 800, .vocab = 1000};
  j.hardware.gpu = gpus::cpu;
  j.precision = p;
  j.optimizer = o;
  j.batch.sequence = 64;
  return j;
}

}  // namespace

TEST_CASE("every precision and optimizer, on one device") {
  for (const auto& p : {precisions::fp32, precisions::bf16, precisions::bf16_mixed, precisions::fp16_mixed, precisions::bf16_autocast})
    for (const auto& o : optimizers::all) {
      if (o.blocks > 0) continue;  // below
      if (o.label == "soap" && p.gradients.bits != 32) continue;  // refused
      const auto j = tiny(p, o);
      const auto s = states(j);
      CAPTURE(p.label.view());
      CAPTURE(o.label.view());
      long n = 0, state = 0;
      for (const auto& w : llama_tensors(j.model)) {
        n += w.rows * w.columns;
        state += state_bytes_of(o.label.view(), w, p.state.width(), p.parameters.width());
      }
      CHECK(s.total.count() == n);
      CHECK(s.gpu[row::model_parameters].count() == n * p.parameters.width());
      CHECK(s.gpu[row::gradients].count() == (o.in_backward ? 0 : n * p.gradients.width()));
      CHECK(s.gpu[row::master_parameters].count() == n * p.master.width());
      CHECK(s.gpu[row::optimizer_state].count() == state);
    }
}

// bitsandbytes' min_8bit_size of 4096 is of the projected state: fp32 at rank 4, at rank 8 fp32 but for the MLP's (8 × 800, in 25 blocks).
TEST_CASE("GaLore's 8 bits begin at 4096 projected elements") {
  for (const std::int64_t rank : {4, 8}) {
    auto j = tiny(precisions::bf16, optimizers::galore_8bit);
    j.optimizer.rank = rank;
    long state = 0;
    for (const auto& w : llama_tensors(j.model)) {
      const long n = w.rows * w.columns, longer = std::max(w.rows, w.columns), shorter = std::min(w.rows, w.columns);
      if (w.embedding || w.columns == 1)
        state += 2 * (n < 4096 ? 4 * n : n + 4 * up(static_cast<double>(n) / 256.0));
      else if (rank == 8 && longer == 800)
        state += 2 * (6400 + 4 * 25) + 2 * 8 * shorter;
      else
        state += 2 * 4 * rank * longer + 2 * rank * shorter;
    }
    CHECK(states(j).gpu[row::optimizer_state].count() == state);
  }
}

TEST_CASE("ZeRO divides one flat vector") {
  for (const std::int64_t d : {2, 3, 8, 64})
    for (const std::int64_t stage : {0, 1, 2, 3}) {
      auto j = tiny(precisions::bf16_mixed, optimizers::adamw);
      j.hardware.gpus_per_node = d;
      j.framework = frameworks::deepspeed;
      j.sharding = zero(stage);
      const auto s = states(j);
      long n = 0, padded = 0;  // each tensor is padded to the ranks
      for (const auto& w : llama_tensors(j.model)) {
        n += w.rows * w.columns;
        padded += up(static_cast<double>(w.rows * w.columns) / static_cast<double>(d));
      }
      CHECK(s.gpu[row::optimizer_state].count() == 8 * (stage >= 1 ? padded : n));
      CHECK(s.gpu[row::master_parameters].count() == 4 * (stage >= 1 ? padded : n));
      CHECK(s.gpu[row::gradients].count() == 2 * (stage >= 2 ? padded : n));
      CHECK(s.gpu[row::model_parameters].count() == 2 * (stage >= 3 ? padded : n));
    }
}

// DeepSpeed tags hidden matrices (engine.py, use_muon) and groups them apart: one momentum each, in the gradients' format where
// stages 1 and 2 make it of gradients, in fp32 at stage 3; the rest has AdamW's two fp32 moments.
TEST_CASE("ZeRO leaves Muon its matrices") {
  for (const std::int64_t stage : {1, 2, 3}) {
    auto j = tiny(precisions::bf16_mixed, optimizers::muon);
    j.hardware.gpus_per_node = 2;
    j.framework = frameworks::deepspeed;
    j.sharding = zero(stage);
    long state = 0;
    for (const auto& w : llama_tensors(j.model)) {
      const bool hidden = w.columns > 1 && !w.embedding;
      state += (w.rows * w.columns + 1) / 2 * (hidden ? (stage < 3 ? 2 : 4) : 2 * 4);
    }
    CHECK(states(j).gpu[row::optimizer_state].count() == state);
  }
}

TEST_CASE("FSDP2 divides dimension 0 of each tensor") {
  auto j = tiny(precisions::bf16_mixed, optimizers::adamw);
  j.hardware.gpus_per_node = 8;
  j.sharding = fsdp2();
  const auto s = states(j);
  long padded = 0;
  for (const auto& w : llama_tensors(j.model)) padded += up(static_cast<double>(w.rows) / 8.0) * w.columns;
  CHECK(s.gpu[row::model_parameters].count() == 4 * padded);  // fp32 shards; bf16 exists while gathered
  CHECK(s.gpu[row::gradients].count() == 4 * padded);
  CHECK(s.gpu[row::optimizer_state].count() == 8 * padded);
  CHECK(s.gpu[row::master_parameters].count() == 0);
}

TEST_CASE("BAdam trains a share of the tensors at a time") {
  auto j = tiny(precisions::bf16_mixed, optimizers::badam);
  j.optimizer.blocks = 3;
  const auto whole = states(tiny(precisions::bf16_mixed, optimizers::adamw));
  const auto s = states(j);
  CHECK(s.gpu[row::model_parameters] == whole.gpu[row::model_parameters]);
  CHECK(s.gpu[row::optimizer_state] < whole.gpu[row::optimizer_state]);
  CHECK(3 * s.gpu[row::optimizer_state] >= whole.gpu[row::optimizer_state]);
}

TEST_CASE("one adapter over a fused q, k, v projection, and trained copies beside their originals") {
  // Qwen-7B, LoRA of rank 64 on c_attn, c_proj, w1 and w2: print_trainable_parameters() says 143,130,624.
  job j;
  j.model = {.layers = 32, .hidden = 4096, .heads = 32, .kv_heads = 32, .ffn = 11008, .vocab = 151936, .fused_qkv = true};
  j.framework = frameworks::hf_trainer_2023;
  j.precision = precisions::bf16;
  j.batch.sequence = 256;
  j.adapter = {.kind = adapter_kind::lora, .rank = 64, .targets = all_linear, .base = formats::bf16, .fused_qkv = true};
  const auto plain = states(j);
  CHECK(plain.adapters.count() == 143'130'624);
  // modules_to_save: a copy trains, in the base's format, and the original stays (peft utils/other.py ModulesToSaveWrapper).
  j.adapter.modules_to_save = {module::embedding, module::head};
  const auto saved = states(j);
  const std::int64_t tables = 2 * 151936LL * 4096;
  CHECK((saved.gpu[row::model_parameters] - plain.gpu[row::model_parameters]).count() == 2 * tables);
  CHECK((saved.gpu[row::optimizer_state] - plain.gpu[row::optimizer_state]).count() == 2 * 2 * tables);
  // A foreach update of torch 2.0 makes two copies of the bf16 tensors, then of the fp32 ones, and lets go of each one by one.
  CHECK(detail::foreach_temporaries(2, saved).count() == 2 * 2 * tables + 4 * 143'130'624);
  CHECK(detail::foreach_temporaries(1, saved).count() == 2 * tables + 4 * 143'130'624);
}

/// Bytes of a row in the tensors that the allocator holds when a replay's second step begins.
static std::int64_t loaded(const job& j, row of) {
  const auto step = record(j).front();
  std::int64_t r = 0;
  for (const auto& e : step.events) {
    if (e.what == step_event::kind::enter && e.at != phase::load) break;
    if (e.what == step_event::kind::make && e.of == of) r += e.size.count();
  }
  return r;
}

TEST_CASE("an adapter on a head that is the embedding's matrix is a layer of its own") {
  // Qwen2.5-0.5B ties its head of 151,936 x 896. PEFT's LoraConfig(r=16, target_modules=["q_proj", "lm_head"]): A is 16 x 896 and B 151,936 x 16
  // beside lm_head, as beside each q_proj of 896 x 896 in 24 layers; the shared matrix stays one, and frozen.
  job j;
  j.model = models::qwen2_5_0_5b;
  j.framework = frameworks::hf_trainer;
  j.hardware = {.gpu = gpus::h100_sxm_80gb};
  j.precision = precisions::bf16;
  j.batch = {.micro = 1, .sequence = 512};
  j.adapter = {.kind = adapter_kind::lora, .rank = 16, .targets = {module::q_proj}, .format = formats::fp32, .base = formats::bf16};
  const auto without = states(j);
  CHECK(without.adapters.count() == 24 * 16 * (896 + 896));
  j.adapter.targets = {module::q_proj, module::head};
  const auto with = states(j);
  const std::int64_t pair = 14'336 + 2'430'976;
  CHECK(with.adapters.count() - without.adapters.count() == pair);
  CHECK(with.total == without.total);
  CHECK(with.gpu[row::model_parameters] == without.gpu[row::model_parameters]);
  CHECK((with.gpu[row::adapters] - without.gpu[row::adapters]).count() == 4 * pair);
  CHECK((with.gpu[row::gradients] - without.gpu[row::gradients]).count() == 4 * pair);
  CHECK((with.gpu[row::optimizer_state] - without.gpu[row::optimizer_state]).count() == 8 * pair);
  // Both walks hold it all along: the least of a phase is loading, where moments are not yet.
  auto plain = j;
  plain.adapter.targets = {module::q_proj};
  CHECK((estimate(j).ranks[0].allocated - estimate(plain).ranks[0].allocated).count() >= 4 * pair);
  CHECK(loaded(j, row::adapters) - loaded(plain, row::adapters) == 4 * pair);
  CHECK(loaded(j, row::optimizer_state) - loaded(plain, row::optimizer_state) == 8 * pair);
  j.adapter.kind = adapter_kind::dora;
  CHECK(states(j).adapters.count() == without.adapters.count() + pair + 24 * 896 + 151'936);
  // An untied head counts what it did.
  j.adapter.kind = adapter_kind::lora;
  j.model.tied = false;
  CHECK(states(j).adapters == with.adapters);
  j.model.tied = true;
  j.hardware.gpus_per_node = 2;
  j.sharding = {.kind = sharding_kind::fsdp2};
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("under FSDP or ZeRO's stage 3 by this version: adapter.targets must be without lm_head"), job_error);
  j.sharding = {};
  j.parallel.pipeline = 2;
  j.parallel.schedule = schedule::naive;
  CHECK_THROWS_WITH_AS(estimate(j), doctest::Contains("or parallel.pipeline 1; pipeline (found 2)"), job_error);
}

/// Qwen2.5-0.5B in bf16 under a framework and a method, with adapters of rank 64 beside q_proj.
job adapted_qwen(const profile& framework, const objective& trains) {
  return {.model = models::qwen2_5_0_5b, .hardware = {.gpu = gpus::h100_sxm_80gb}, .framework = framework, .precision = precisions::bf16, .batch = {.micro = 1, .sequence = 512},
          .objective = trains, .adapter = {.kind = adapter_kind::lora, .rank = 64, .targets = {module::q_proj}, .format = formats::bf16, .base = formats::bf16}};
}

// Rank 64 beside Qwen2.5-0.5B in bf16. LitGPT's GPT has a matrix of its own for lm_head, whatever the checkpoint tied (litgpt model.py GPT.__init__). A
// sequence classifier has one score of 896 features in its place (transformers AutoModelForSequenceClassification), and an embedding model nothing.
TEST_CASE("an adapter of a head counts once where a framework unties it, and not at all where a method takes it away") {
  constexpr std::int64_t queries = 24 * 64 * (896 + 896), words = 64 * (896 + 151'936), score = 64 * (896 + 1);
  struct method {
    profile of;
    objective trains;
    std::int64_t head;
  };
  const auto kind = [](objective_kind k, method_code code = method_code::unset) { return objective{.kind = k, .code = code}; };
  const method methods[] = {
      {frameworks::hf_trainer, {}, words},
      {frameworks::litgpt_202410, {}, words},
      {frameworks::hf_trainer, kind(objective_kind::reward), score},
      {frameworks::hf_trainer, kind(objective_kind::classification), score},
      {frameworks::hf_trainer, kind(objective_kind::embedding, method_code::ms_swift), 0},
  };
  for (const auto& m : methods) {
    auto j = adapted_qwen(m.of, m.trains);
    CAPTURE(m.of.label);
    CAPTURE(static_cast<int>(m.trains.kind));
    const auto updated = [&] {  // what the time of an update is made of
      const auto s = settle(j);
      const auto c = detail::cost_scene_of(s, rates_of(*s.on));
      return detail::parameters_of(c, weights_of(s.model), 1.0);
    };
    const auto plain = states(j);
    const bool recorded = m.trains.kind == objective_kind::sft;
    const auto loaded_plain = recorded ? loaded(j, row::adapters) : 0;
    const auto updated_plain = updated();
    CHECK(plain.adapters.count() == queries);
    CHECK(updated_plain.trained == queries);
    CHECK(updated_plain.tensors == 48);
    const auto seconds = cost(j).optimizer.value;
    j.adapter.targets = {module::q_proj, module::head};
    const auto with = states(j);
    CHECK(with.adapters.count() == queries + m.head);
    CHECK(with.gpu[row::adapters].count() - plain.gpu[row::adapters].count() >= 2 * m.head);
    CHECK(with.gpu[row::adapters].count() - plain.gpu[row::adapters].count() < 2 * m.head + 1024);  // two tensors, rounded to 512
    CHECK(with.total == plain.total);
    if (recorded) CHECK(loaded(j, row::adapters) - loaded_plain == (with.gpu[row::adapters] - plain.gpu[row::adapters]).count());
    CHECK(updated().trained == queries + m.head);
    CHECK(updated().tensors == (m.head > 0 ? 50 : 48));
    CHECK((cost(j).optimizer.value > seconds) == (m.head > 0));
  }
}

TEST_CASE("a saved copy of a tied head is a second matrix; of a score, or of a head that is untied, it is a copy beside the original") {
  constexpr std::int64_t words = 151'936 * 896, score = 896;
  struct method {
    profile of;
    objective trains;
    std::int64_t copied, frozen;
  };
  const method methods[] = {
      {frameworks::hf_trainer, {}, words, 0},
      {frameworks::litgpt_202410, {}, words, words},
      {frameworks::hf_trainer, {.kind = objective_kind::classification}, score, score},
  };
  for (const auto& m : methods) {
    auto j = adapted_qwen(m.of, m.trains);
    j.adapter.modules_to_save = {module::head};
    CAPTURE(m.of.label);
    const auto r = states(j);
    CHECK(r.trained.count() - r.adapters.count() == m.copied);
    // Qwen2.5-0.5B without a head: 494,032,768 parameters.
    CHECK(r.total.count() == 494'032'768 + m.frozen);
    const auto rounding = r.gpu[row::model_parameters].count() - 2 * (494'032'768 + m.copied + m.frozen);
    if (m.trains.kind == objective_kind::sft) CHECK(loaded(j, row::model_parameters) == r.gpu[row::model_parameters].count());
    CHECK(rounding >= 0);
    CHECK(rounding < 300 * 512);  // of 290 tensors and the head's
  }
}

// Beside o_proj (896 × 896) and down_proj (4,864 → 896) of each of 24 layers A and B of rank 64, and nothing beside what is not named.
TEST_CASE("adapters over Megatron's layers are updated as two matrices beside each one that is named") {
  auto j = adapted_qwen(frameworks::megatron_swift, {});
  j.precision = {}, j.adapter.targets = {module::o_proj, module::down_proj}, j.adapter.format = {}, j.adapter.base = {};
  const auto s = settle(j);
  const auto c = detail::cost_scene_of(s, rates_of(*s.on));
  const auto n = detail::parameters_of(c, weights_of(s.model), 1.0);
  CHECK(n.trained == 24 * 64 * (896 + 896 + 4864 + 896));
  CHECK(n.tensors == 24 * 2 * 2);
}

TEST_CASE("LoRA, DoRA and quantised bases") {
  auto j = tiny(precisions::bf16, optimizers::adamw);
  j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {module::q_proj, module::down_proj}, .format = formats::fp32};
  const auto& m = j.model;
  const long n = m.layers * 8 * ((320 + 320) + (320 + 800));
  auto s = states(j);
  CHECK(s.adapters.count() == n);
  CHECK(s.trained.count() == n);
  CHECK(s.gpu[row::adapters].count() == 4 * n);
  CHECK(s.gpu[row::gradients].count() == 4 * n);
  CHECK(s.gpu[row::optimizer_state].count() == 8 * n);
  j.adapter.kind = adapter_kind::dora;
  CHECK(states(j).adapters.count() == n + m.layers * (320 + 320));

  // bitsandbytes: half a byte an element, an fp32 scale for 64 of them, a code book for each tensor; norms, embedding and head
  // stay, and PEFT makes them fp32.
  j.adapter.kind = adapter_kind::lora;
  j.adapter.base = formats::nf4;
  s = states(j);
  long packed = 0, plain = 0;
  for (const auto& w : llama_tensors(m)) {
    const long e = w.rows * w.columns;
    if (w.columns == 1 || w.embedding)
      plain += 4 * e;
    else
      packed += e / 2 + 4 * up(static_cast<double>(e) / 64.0) + 64;
  }
  CHECK(s.gpu[row::model_parameters].count() == packed + plain);
}

}  // namespace test_states
