// Distributed under the Boost Software License, Version 1.0.
// What a Python text sets of its process's environment before it trains.
#pragma once

#include <headroom/io/launchers/import_environment.hpp>
#include <headroom/io/launchers/programs/python_calls.hpp>

namespace headroom::io::detail {

class python_environment {
 public:
  python_environment(draft& d, const python_program& p) : d_(&d), p_(&p) {}

  /// os.environ["NAME"] = "value", os.environ.setdefault("NAME", "value"): as if the command set it.
  void import(std::size_t end) const {
    for (std::size_t i = 0; i < end; ++i) {
      const auto t = std::span<const python_token>{p_->statements()[i].tokens};
      for (std::size_t k = 0; k + 3 < t.size(); ++k) {
        if (t[k].text != "environ" || t[k].is != python_word::name) continue;
        const bool item = is_mark(t[k + 1], "[") && k + 5 < t.size() && is_mark(t[k + 3], "]") && is_mark(t[k + 4], "="), standard = k + 6 < t.size() && is_mark(t[k + 1], ".") && t[k + 2].text == "setdefault";
        if (!item && !standard) continue;
        const auto& name = t[item ? k + 2 : k + 4];
        if (name.is == python_word::text) say_environment(name.text, p_->values().value(item ? t.subspan(k + 5) : t.subspan(k + 6, t.size() - k - 7), i), name.line);
      }
    }
  }

 private:
  void say_environment(const std::string& name, const python_value& value, int line) const {
    const auto text = value && value->is_string() ? value->get<std::string>() : std::string{};
    if (name.starts_with("ACCELERATE_") || name.starts_with("FSDP_")) return d_->unmodelled_key(name, json_value("set"), p_->at(line), "it stands beside the calls that are read");
    if (name == "CUDA_VISIBLE_DEVICES" && text.find(',') != std::string::npos) fail("headroom: " + p_->at(line) + ": the text shows its process several GPUs (CUDA_VISIBLE_DEVICES " + in_quotes(text) + "): torch's DataParallel, which the Trainer uses then, is not modelled by this version: show it one, or start it by torchrun");
    if (name != "PYTORCH_CUDA_ALLOC_CONF" && name != "PYTORCH_ALLOC_CONF" && name != "CUBLAS_WORKSPACE_CONFIG" && name != "NCCL_BUFFSIZE") return;
    if (text.empty()) fail("headroom: " + p_->at(line) + ": " + name + " is computed, and nothing is run here: write it out");
    import_setting(*d_, {name + "=" + text, line}, p_->source());
  }

  draft* d_;
  const python_program* p_;
};

}  // namespace headroom::io::detail
