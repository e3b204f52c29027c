// Distributed under the Boost Software License, Version 1.0.
// Shapes and images that no model has: each is refused in a sentence, by every call, and none divides by zero on its way there.
#include <headroom/cost/cost.hpp>
#include <headroom/estimate.hpp>
#include <headroom/io/job_reader.hpp>

#include <doctest/doctest.h>

#include <string>

namespace test_hostile_shapes {

using namespace headroom;

TEST_CASE("what a tower, its images or an encoder lack is said") {
  const struct {
    const char* model;
    const char* images;
    const char* says;
  } all[] = {
      {R"("glm-4.1v-9b")", R"({"width": 0, "height": 224})", "a width and a height, or neither"},
      {R"("glm-4.1v-9b")", R"({"width": 448})", "a width and a height, or neither"},
      {R"("glm-4.1v-9b")", R"({"max_pixels": 16})", "a width and a height: this tower reads images of any size"},
      {R"("qwen2.5-vl-3b")", R"({"height": 777})", "a width and a height, or neither"},
      {R"("qwen3-vl-2b")", R"({"min_pixels": 32000})", "a width and a height: this tower reads images of any size"},
      {R"("smolvlm2-2.2b")", R"({"width": 2})", "a width and a height, or neither"},
      {R"("llava-onevision-qwen2-0.5b")", R"({"width": 128})", "a width and a height, or neither"},
      {R"({"base": "pixtral-12b", "vision": {"image": 0}})", R"({"width": 8, "height": 8})", "an image's edge must be a patch's at least"},
      {R"({"base": "internvl3.5-30b-a3b", "vision": {"projector": "glm-merger"}})", R"({"width": 448, "height": 448})", "projector_hidden must be at least 1 for a glm-merger"},
      {R"({"base": "qwen2.5-vl-3b", "vision": {"newline": true}})", R"({"width": 448, "height": 224})", "model.vision.newline is of towers"},
      {R"({"base": "qwen2-vl-2b", "vision": {"newline": true}})", R"({"width": 448, "height": 224})", "model.vision.newline is of towers"},
      {R"({"base": "qwen3-vl-2b", "vision": {"newline": true}})", R"({"width": 448, "height": 224})", "model.vision.newline is of towers"},
      {R"({"base": "glm-4.1v-9b", "vision": {"newline": true}})", R"({"width": 448, "height": 224})", "model.vision.newline is of towers"},
      {R"({"base": "pixtral-12b", "vision": {"newline": true}})", R"({"width": 448, "height": 224})", "model.vision.newline is of towers"},
      {R"({"base": "qwen2-vl-2b", "vision": {"newline": true, "image": 448}})", R"({"width": 448, "height": 224})", "model.vision.newline is of towers"},
      {R"({"base": "qwen2.5-vl-3b", "vision": {"newline": true, "image": 448}})", R"({"width": 448, "height": 224})", "model.vision.newline is of towers"},
      {R"({"base": "qwen3-vl-2b", "vision": {"newline": true, "image": 448}})", R"({"width": 448, "height": 224})", "model.vision.newline is of towers"},
      {R"({"base": "falcon-mamba-7b", "encoder": {"cross_attention": true}})", "", "cross_attention needs an encoder"},
      {R"({"base": "qwen2.5-0.5b", "encoder": {"cross_attention": true}})", "", "cross_attention needs an encoder"},
  };
  for (const auto& one : all)
    for (const auto* framework : {"hf-trainer", "deepspeed", "fsdp-qlora", "litgpt", "libtorch", "torchtune", "megatron", "unsloth"}) {
      const std::string images = *one.images != '\0' ? std::string(R"(, "images": )") + one.images : "";
      const auto j = io::read_job(io::parse_json(R"({"model": )" + std::string(one.model) + R"(, "framework": ")" + framework + R"(", "batch": {"sequence": 4096)" + images + "}}", "job"));
      CAPTURE(std::string(one.model));
      CAPTURE(images);
      CAPTURE(std::string(framework));
      CHECK_THROWS_AS((void)estimate(j), job_error);
      CHECK_THROWS_AS((void)cost(j), job_error);
      try {
        (void)states(j);
      } catch (const job_error&) {
      }
      if (std::string(framework) != "hf-trainer") continue;
      const auto why = objection_to(j);
      CHECK_MESSAGE(std::string(why.sentence != nullptr ? why.sentence : "").find(one.says) != std::string::npos, why.sentence);
    }
}

TEST_CASE("sparse layers that never come are not counted to") {
  // 48 layers, none of which is the 49th.
  const auto of = [](const char* every) {
    return io::read_job(io::parse_json(std::string(R"({"model": {"base": "qwen3-next-80b-a3b", "experts": {"every": )") + every + R"(}}, "framework": "deepspeed", "sharding": {"kind": "zero", "stage": 3}, "batch": {"sequence": 4096}})", "job"));
  };
  const auto never = of("1000000000000"), beyond = of("49");
  CHECK(estimate(never).ranks[0].allocated == estimate(beyond).ranks[0].allocated);
  CHECK(never.model.sparse_layers(0, never.model.layers) == 0);
}

}  // namespace test_hostile_shapes
