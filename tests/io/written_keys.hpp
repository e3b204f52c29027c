// Distributed under the Boost Software License, Version 1.0.
// Small jobs, each as the file of another program; and what the file is with one key of the job said otherwise.
#pragma once

#include <doctest/doctest.h>

#include <headroom/io/export.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace written_keys {

using namespace headroom;
using io::json_value;

struct small_job {
  const char* name;
  io::export_target target;
  const char* means;
};
using enum io::export_target;
/// What all have that do not say otherwise.
inline constexpr auto common = R"({"model": "llama-3.1-8b", "hardware": {"gpu": "h100-sxm-80gb", "nodes": 2, "gpus_per_node": 8}})";
inline constexpr small_job jobs[] = {
    {"deepspeed", deepspeed, R"({"framework": "deepspeed", "sharding": {"kind": "zero", "stage": 3}, "batch": {"micro": 2, "sequence": 4096}})"},
    {"accelerate", accelerate, R"({"framework": "hf-trainer", "precision": "bf16-mixed", "sharding": {"kind": "fsdp1", "stage": 3}, "batch": {"sequence": 4096}})"},
    {"accelerate deepspeed", accelerate, R"({"framework": "deepspeed", "sharding": {"kind": "zero", "stage": 3}, "batch": {"sequence": 4096}})"},
    {"hf-trainer", hf_trainer, R"({"framework": "hf-trainer", "precision": "bf16-mixed", "sharding": {"kind": "fsdp2"}, "attention": "flash", "recompute": "full", "batch": {"micro": 2, "sequence": 4096}})"},
    {"trl", trl, R"({"framework": "hf-trainer", "precision": "bf16-autocast", "sharding": "ddp", "attention": "flash", "recompute": "full", "batch": {"micro": 2, "sequence": 4096}})"},
    {"trl lora", trl, R"({"framework": "hf-trainer", "precision": {"parameters": "bf16", "compute": "bf16", "gradients": "fp32", "reduce": "fp32", "master": "none", "state": "fp32"}, "sharding": "ddp", "attention": "flash", "recompute": "full",
      "adapter": {"kind": "lora", "rank": 8, "targets": "all-linear", "format": "fp32"}, "batch": {"micro": 2, "sequence": 4096}})"},
    {"llama-factory", llama_factory, R"({"framework": "hf-trainer", "precision": {"parameters": "bf16", "compute": "bf16", "gradients": "fp32", "reduce": "fp32", "master": "none", "state": "fp32"}, "sharding": "ddp", "attention": "flash", "recompute": "full",
      "adapter": {"kind": "lora", "rank": 8, "targets": "all-linear", "format": "fp32"}, "batch": {"micro": 2, "sequence": 4096}})"},
    {"axolotl", axolotl, R"({"framework": "hf-trainer", "precision": "bf16", "sharding": {"kind": "fsdp2"}, "attention": "flash", "recompute": "full", "batch": {"micro": 2, "sequence": 4096}})"},
    {"megatron", megatron, R"({"framework": "megatron", "sharding": "megatron-distributed-optimizer", "attention": "flash", "parallel": {"tensor": 2}, "batch": {"micro": 2, "sequence": 4096}})"},
    {"megatron experts", megatron, R"({"model": {"base": "mixtral-8x7b", "experts": {"fp32_weights": false}}, "hardware": {"gpu": "h100-sxm-80gb", "nodes": 4, "gpus_per_node": 8}, "framework": "megatron", "sharding": "megatron-distributed-optimizer", "attention": "flash", "parallel": {"pipeline": 2, "expert": 4}, "batch": {"sequence": 4096, "accumulation": 8}})"},
    {"megatron fsdp", megatron, R"({"framework": "megatron", "sharding": {"kind": "megatron-fsdp", "stage": 3}, "attention": "flash", "batch": {"sequence": 4096}})"},
    {"torchtitan", torchtitan, R"({"framework": "torchtitan", "sharding": {"kind": "fsdp2"}, "recompute": "full", "batch": {"micro": 2, "sequence": 4096}})"},
    {"torchtitan pipeline", torchtitan, R"({"framework": "torchtitan", "sharding": {"kind": "fsdp2"}, "parallel": {"pipeline": 2, "tensor": 2, "sequence": true}, "batch": {"sequence": 4096, "accumulation": 4}})"},
    {"torchrun", torchrun, R"({"framework": "torchtitan", "sharding": {"kind": "fsdp2"}, "batch": {"sequence": 4096}})"},
    {"sbatch", sbatch, R"({"framework": "torchtitan", "sharding": {"kind": "fsdp2"}, "batch": {"sequence": 4096}})"},
};

/// A file's lines, or the sentence why there is none.
struct file {
  std::vector<std::string> lines{};
  std::string refused{};
};

/// `says`: keys of the job by their paths; an object takes the place of a word.
inline file file_of(const small_job& b, const json_value& says) {
  file f;
  try {
    auto whole = io::parse_json(common, "job");
    whole.update(io::parse_json(b.means, "job"));
    for (const auto& [path, value] : says.items()) {
      auto* at = &whole;
      std::string_view rest = path;
      for (auto dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
        auto& section = (*at)[std::string{rest.substr(0, dot)}];
        if (section.is_string()) section = json_value{{at == &whole && rest.starts_with("model.") ? "base" : rest.starts_with("optimizer.") ? "name" : "kind", section}};
        at = &section;
        rest.remove_prefix(dot + 1);
      }
      (*at)[std::string{rest}] = value;
    }
    std::istringstream text{io::exported(io::read_job(whole, io::no_files), b.target)};
    for (std::string line; std::getline(text, line);) f.lines.push_back(line);
  } catch (const headroom::error& e) {
    f.refused = e.what();
  }
  return f;
}

/// Lines that are new, each behind +, and those that are gone, behind -; or the sentence.
inline json_value difference(const file& before, const file& after) {
  if (!after.refused.empty()) return after.refused;
  auto all = json_value::array();
  const auto missing = [](const std::string& line, const file& f) { return std::find(f.lines.begin(), f.lines.end(), line) == f.lines.end(); };
  for (const auto& line : before.lines)
    if (missing(line, after)) all.push_back("-" + line);
  for (const auto& line : after.lines)
    if (missing(line, before)) all.push_back("+" + line);
  return all;
}

}  // namespace written_keys
