// Distributed under the Boost Software License, Version 1.0.
// What DeepSpeed's pipeline and optimizers hold beside Megatron's layers, by sums on paper: BLOOM's layout, in 16 bits.
#include <headroom/headroom.hpp>

#include <doctest/doctest.h>

namespace test_deepspeed_pipe {

using namespace headroom;

namespace {

job bloom(std::int64_t tensor, std::int64_t micros) {
  job j{.model = models::bloom_176b, .hardware = {.gpu = gpus::a100_sxm_80gb, .nodes = 48, .gpus_per_node = 8}, .framework = frameworks::megatron_deepspeed_2022, .sharding = zero(1), .batch = {.micro = 2, .sequence = 2048}};
  j.parallel.tensor = tensor;
  j.parallel.pipeline = 12;
  j.parallel.first_stage_layers = j.parallel.last_stage_layers = 5;
  j.batch.accumulation = micros;
  return j;
}
constexpr std::int64_t input = 2 * 2048 * 14336 * 2, part = input / 4;

}  // namespace

TEST_CASE("tensor-parallel stages hand on a quarter each, and make their output again for backward") {
  const auto j = bloom(4, 128);
  const auto s = settle(j);
  const auto first = detail::pipe_of(s, true, false), middle = detail::pipe_of(s, false, false), last = detail::pipe_of(s, false, true);
  CHECK(first.passed.count() == part);
  CHECK(first.received.count() == part);  // the gradient alone
  CHECK(first.output.count() == input);
  CHECK(first.logits == bytes{0});
  CHECK(middle.passed.count() == part);
  CHECK(middle.received.count() == 2 * part);
  CHECK(middle.output.count() == input);
  CHECK(last.passed == bytes{0});
  CHECK(last.received.count() == part);
  CHECK(last.output == bytes{0});
  CHECK(last.logits.count() == std::int64_t{2} * 2048 * 250'880 / 4 * 4);  // fp32, a quarter of the vocabulary
}

TEST_CASE("without tensor parallelism a stage keeps its input twice, and its output") {
  const auto j = bloom(1, 128);
  const auto s = settle(j);
  CHECK(detail::pipe_of(s, true, false).passed.count() == input);
  CHECK(detail::pipe_of(s, false, false).passed.count() == 2 * input);
  CHECK(detail::pipe_of(s, false, true).passed.count() == input);
  CHECK(detail::pipe_of(s, false, false).received.count() == 2 * input);
  CHECK(detail::pipe_of(s, false, false).output == bytes{0});
}

TEST_CASE("two buffers of the last stage: logits of as many micro-batches as there were") {
  for (const std::int64_t micros : {1, 2, 3}) {
    const auto j = bloom(4, micros);
    const auto s = settle(j);
    const auto last = detail::pipe_of(s, false, true);
    CHECK((last.logits > bytes{0}) == (micros > 1));
    CHECK(last.older == (micros > 2));
  }
}

// n parameters: 16-bit gradients take 2 n. In an update a partition's flat copy and fp32 cast (6 n / d) stand beside its own gradients (2 n / d).
TEST_CASE("updates and buckets") {
  const parameters n{1'000'000'000};
  auto j = bloom(4, 128);
  const auto eight = settle(j);
  CHECK(eight.data == 8);
  CHECK(detail::deepspeed_update(eight, n) == bytes{0});  // 8 n / 8 < 2 n
  CHECK(detail::deepspeed_bucket(eight, n).count() == 1'000'000'000);  // 5e8 elements
  CHECK(detail::deepspeed_bucket(eight, parameters{1000}).count() == 1'000'000'000);  // one buffer of its full size (reduce_gradients, pipeline_parallel)
  j.sharding.contiguous_gradients = choice::no;
  CHECK(detail::deepspeed_bucket(settle(j), parameters{1000}).count() == 2000);
  CHECK(detail::deepspeed_bucket(settle(j), n).count() == 1'000'000'000);
  j.sharding.contiguous_gradients = choice::unset;
  CHECK(detail::deepspeed_load(eight, bytes{10}).count() == 10);
  j.hardware.nodes = 6;
  CHECK(detail::deepspeed_update(settle(j), n).count() == 6'000'000'000);  // one rank: 8 n, less 2 n
  j.hardware.nodes = 12;
  CHECK(detail::deepspeed_update(settle(j), n).count() == 2'000'000'000);
  j.sharding.reduce_bucket_size = 1000;
  CHECK(detail::deepspeed_bucket(settle(j), n).count() == 2000);
  j.sharding = zero(0);
  CHECK(detail::deepspeed_update(settle(j), n).count() == 8'000'000'000);  // a list of fp32 gradients, and one tensor of them
  CHECK(detail::deepspeed_load(settle(j), bytes{10}).count() == 30);
  CHECK(detail::other_gradients(settle(j), n) == bytes{0});
}

TEST_CASE("BF16_Optimizer adds up in fp32 beside autograd's own, and reduces what is larger than a bucket where it lies") {
  const parameters n{1'000'000'000};
  auto j = bloom(4, 128);
  j.precision = {"bf16", formats::bf16, formats::bf16, formats::fp32, formats::fp32, formats::fp32, formats::fp32};
  const auto s = settle(j);
  CHECK(detail::other_gradients(s, n).count() == 2'000'000'000);
  CHECK(detail::deepspeed_update(s, n) == bytes{0});
  CHECK(detail::deepspeed_bucket(s, n) == bytes{0});
  CHECK(detail::deepspeed_bucket(s, parameters{400'000'000}).count() == 1'600'000'000);
  CHECK(detail::deepspeed_load(s, bytes{10}).count() == 20);
  CHECK(detail::pipe_of(s, true, false).cast.count() == std::int64_t{250'880} * 14336 / 4 * 4);  // the table's gradient
  CHECK(detail::pipe_of(s, false, false).cast.count() == std::int64_t{57344} * 14336 / 4 * 4);   // an MLP matrix's
}

// Its FP16_Optimizer and BF16_Optimizer: gradients are in the parameters' format, or bf16's are added up in fp32; the copy is fp32.
TEST_CASE("formats that its optimizers have") {
  const auto accepts = [](number_format parameters, number_format compute, number_format gradients, number_format master) {
    job j{.model = models::gpt2_xl, .hardware = {.gpu = gpus::a100_sxm_80gb, .nodes = 1, .gpus_per_node = 8}, .framework = frameworks::megatron_deepspeed, .sharding = zero(1), .batch = {.micro = 2, .sequence = 512}};
    j.model.heads = 20, j.model.vocab = 51'200;
    j.precision = {"own", parameters, compute, gradients, formats::fp32, master, formats::fp32};
    return !objection_to(j);
  };
  using namespace formats;
  CHECK(accepts(fp16, fp16, fp16, fp32));
  CHECK(accepts(bf16, bf16, bf16, fp32));
  CHECK(accepts(bf16, bf16, fp32, fp32));
  CHECK_FALSE(accepts(fp16, fp16, fp32, fp32));
  CHECK_FALSE(accepts(bf16, bf16, fp16, fp32));
  CHECK_FALSE(accepts(fp16, fp16, bf16, fp32));
  CHECK_FALSE(accepts(bf16, fp16, bf16, fp32));
  CHECK_FALSE(accepts(bf16, bf16, bf16, none));
  CHECK_FALSE(accepts(fp32, fp32, fp32, fp32));
}

}  // namespace test_deepspeed_pipe
