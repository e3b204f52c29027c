// Distributed under the Boost Software License, Version 1.0.
// From a job file to a report: adapters behind a dropout on every linear layer, whose attention blocks have more than 64 tensors.
#include <doctest/doctest.h>

#include <headroom/headroom.hpp>
#include <headroom/io/job_reader.hpp>
#include <headroom/io/report_json.hpp>

#include <string>

namespace test_adapters_with_dropout {

using namespace headroom;

namespace {

constexpr std::int64_t tokens = 1024;

/// The report on a job file of a model, with what its adapter is told beside its rank and targets.
io::ordered_json reported(const std::string& model, const std::string& attention, const std::string& adapter) {
  const auto text = R"({"model": ")" + model + R"(", "hardware": {"gpu": "h200"}, "framework": "hf-trainer", "precision": "bf16", "recompute": "none",
    "attention": ")" + attention + R"(", "batch": {"micro": 1, "sequence": )" + std::to_string(tokens) + R"(},
    "adapter": {"kind": "lora", "rank": 16, "targets": "all-linear")" + adapter + "}}";
  return io::to_json(estimate(io::read_job(io::parse_json(text, "job.json"))));
}

}  // namespace

TEST_CASE("dropout before the adapters of Qwen3, Gemma 2 and OLMo 3") {
  // peft tuners/lora/layer.py Linear.forward: lora_B(lora_A(dropout(x))). Each of a layer's seven matrices saves a mask of one byte an element
  // and what the dropout made, in bf16; no longer the bf16 input that q, k and v share, nor that of gate and up, of o (unless flash attention
  // saves it) and of down. The first layer's input needs no gradient: there the masks of q, k and v are not saved.
  struct point {
    const char* model;
    const char* attention;
    shape m;
  };
  for (const auto& p : {point{"qwen3-8b", "flash", models::qwen3_8b}, point{"gemma-2-9b", "eager", models::gemma_2_9b}, point{"olmo-3-7b", "flash", models::olmo_3_7b}}) {
    CAPTURE(p.model);
    const auto& m = p.m;
    const auto with = reported(p.model, p.attention, R"(, "dropout": 0.05)"), without = reported(p.model, p.attention, "");
    const auto activations = [](const io::ordered_json& r) { return r["ranks"][0]["at_peak"]["activations"].get<std::int64_t>(); };
    const auto h = m.hidden, q = m.query_width(), ffn = m.ffn;
    const auto shared = 2 * h + (m.attention_softcap > 0 ? 2 * q : 0) + 2 * h + 2 * ffn;
    CHECK(activations(with) - activations(without) == m.layers * tokens * (3 * (3 * h + q) + 3 * (2 * h + ffn) - shared) - tokens * 3 * h);
    CHECK(with["ranks"][0]["phases"]["load"] == without["ranks"][0]["phases"]["load"]);
  }
}

}  // namespace test_adapters_with_dropout
