// Distributed under the Boost Software License, Version 1.0.
// An optimizer that a file names by its Python class.
#pragma once

#include <headroom/io/job/optimizer_names.hpp>
#include <headroom/io/launchers/nested_values.hpp>

namespace headroom::io::detail {

struct torch_optimizer {
  json_value job;     ///< the job's optimizer
  std::string state;  ///< the format of its moments; empty: the parameters'
};

/// "torch.optim.AdamW", "AdamW", "bitsandbytes.optim.PagedAdamW8bit". `fused`, `foreach`: what the file says of them, or null.
inline torch_optimizer read_torch_optimizer(const std::string& said, const json_value* fused, const json_value* foreach, const std::string& path) {
  const auto name = said.substr(said.rfind('.') == std::string::npos ? 0 : said.rfind('.') + 1);
  const auto* known = optimizer_called(optimizer_namer::torch_class, name).is;
  const bool ours = said == name || said.starts_with("torch.optim.") || said.starts_with("bitsandbytes.optim.") || said.starts_with("bnb.optim.") || said.starts_with("torchao.");
  if (known == nullptr || !ours)
    fail("headroom: " + path + " " + in_quotes(said) + " is not modelled by this version; accepted: " + listed(optimizer_names_of(optimizer_namer::torch_class)));
  const bool bitsandbytes = known->paged_from > 0 || said.starts_with("bitsandbytes.") || said.starts_with("bnb.");
  torch_optimizer r{.job = {{"name", known->label.view()}}, .state = {}};
  if (bitsandbytes || (fused != nullptr && flag_at(*fused, path + ".fused")))
    r.job["implementation"] = "fused";
  else if (foreach != nullptr)
    r.job["implementation"] = flag_at(*foreach, path + ".foreach") ? "foreach" : "loop";
  if (name.find("8bit") != std::string::npos)
    r.state = "int8";
  else if (bitsandbytes)
    r.state = "fp32";
  return r;
}

/// Weights, gradients and what is computed in one format, without a master copy.
inline json_value one_format(std::string_view format, const std::string& state) {
  if (state.empty() && format != "fp16") return std::string{format};  // a recipe of that name
  return json_value{{"parameters", format}, {"compute", format}, {"gradients", format}, {"reduce", format}, {"master", "none"}, {"state", state.empty() ? std::string{format} : state}};
}

}  // namespace headroom::io::detail
