// Distributed under the Boost Software License, Version 1.0.
// The keys of a job that say how it is divided, and the environment: parallel, sharding, offload, environment.
#pragma once

#include <headroom/io/job/hardware.hpp>
#include <headroom/io/job/zero_keys.hpp>
#include <headroom/io/syntax/keys.hpp>
#include <headroom/job.hpp>

namespace headroom::io {

template <class Keys>
void describe(Keys& k, degrees& d) {
  constexpr std::int64_t most = std::int64_t{1} << 20;
  const std::int64_t one{1};
  k.whole("data", d.data, {}, 1, most);
  k.whole("replicate", d.replicate, one, 1, most);
  k.whole("tensor", d.tensor, one, 1, most);
  k.flag("sequence", d.sequence);
  k.whole("pipeline", d.pipeline, one, 1, most);
  const json_value* order = nullptr;
  if constexpr (Keys::reads) {
    order = k.take("schedule");
    if (order != nullptr) d.schedule = name_at<schedule>(*order, k.at("schedule"));
  }
  const auto chunks = std::max(one, properties_of(d.schedule).chunks);
  if constexpr (Keys::reads) d.virtual_pipeline = chunks;
  k.whole("virtual_pipeline", d.virtual_pipeline, chunks, 1, most);
  k.whole("first_stage_layers", d.first_stage_layers, {}, 0, most);
  k.whole("last_stage_layers", d.last_stage_layers, {}, 0, most);
  k.whole("context", d.context, one, 1, most);
  k.word("context_kind", d.context_kind);
  k.whole("expert", d.expert, one, 1, most);
  k.whole("expert_tensor", d.expert_tensor, one, 1, most);
  k.scaled("expert_imbalance", d.expert_imbalance_percent, std::int64_t{100}, 100.0, 1e3);
  if constexpr (Keys::reads) {
    if (order == nullptr) d.schedule = usual_schedule(d.virtual_pipeline);
    if (const auto* v = k.take("stage_layers")) {
      d.chunks = 0;
      each_at(*v, k.at("stage_layers"), "a list of layers, one number for each chunk",
              [&](const json_value& n, const std::string& path) {
                if (d.chunks == degrees::max_entries)
                  fail("headroom: " + k.at("stage_layers") + " must have at most 256 entries");
                d.stage_layers[d.chunks++] = whole_at(n, path, 0, 65'535);
              });
    }
  } else {
    k.word("schedule", d.schedule, usual_schedule(d.virtual_pipeline));
    if (const auto given = chunks_given(d); given > 0) {
      auto list = json_value::array();
      for (std::int64_t i = 0; i < given; ++i) list.push_back(std::int32_t{d.stage_layers[i]});
      k.put("stage_layers", list);
    }
  }
}

/// ZeRO has no usual stage: where the job does not state one, a DeepSpeed configuration may; read_job() refuses a job in which neither does.
inline constexpr std::int64_t stage_not_stated = -1;

template <class Keys>
void describe(Keys& k, sharding& s) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t unset = -1;
  if constexpr (Keys::reads) {
    s.kind = name_at<sharding_kind>(
        k.need("kind", "one of " + listed(texts(names_of<sharding_kind>, [](const auto& n) { return n.text; }))),
        k.at("kind"));
    s.stage = properties_of(s.kind).usual_stage;
    if (s.kind == sharding_kind::zero) s.stage = stage_not_stated;
    k.whole("stage", s.stage, s.stage, 0, s.divides() ? 3 : 0);
    if (const auto* unit = k.take("unit"); unit != nullptr && string_at(*unit, k.at("unit")) != "layer")
      wrong_value(k.at("unit"), "\"layer\"", *unit);
  } else {
    k.put("kind", text_of(s.kind));
    k.whole("stage", s.stage, s.kind == sharding_kind::zero ? unset : properties_of(s.kind).usual_stage);
  }
  k.flag("reshard_after_forward", s.reshard_after_forward);
  k.flag("no_sync", s.no_sync);
  k.flag("loads_once", s.loads_once);
  k.word("root", s.root);
  k.flag("towers_in_root", s.towers_in_root);
  for (const auto& z : zero_switches) k.flag(z.key, s.*z.member);
  for (const auto& z : zero_sizes) {
    k.whole(z.key, s.*z.member, unset, 0, most);
    if constexpr (Keys::reads)
      if (!z.bare().empty()) k.whole(z.bare(), s.*z.member, unset, 0, most);
  }
  k.flag("gradient_as_bucket_view", s.gradient_as_bucket_view);
  k.flag("backward_prefetch", s.backward_prefetch);
  k.whole("suggested_communication_unit_size", s.communication_unit, unset, 1, most);
  k.flag("fsdp_double_buffer", s.double_buffer);
}

/// An object, or a bare word: a kind, or "zero" with its stage.
inline sharding read_sharding(const json_value& value, const std::string& path) {
  sharding s;
  if (!value.is_string()) {
    read_keys(value, path, s);
    return s;
  }
  const auto& word = *value.get_ptr<const json_value::string_t*>();
  if (word.size() == 5 && word.starts_with("zero") && word[4] >= '0' && word[4] <= '3') return zero(word[4] - '0');
  std::vector<std::string_view> accepted{"zero1", "zero2", "zero3"};
  for (const auto& n : names_of<sharding_kind>) {
    if (n.value == sharding_kind::zero) continue;
    if (n.text == word) {
      s.kind = n.value;
      s.stage = properties_of(n.value).usual_stage;
      return s;
    }
    accepted.push_back(n.text);
  }
  unknown_name(path, word, accepted);
}

template <class Keys>
void describe(Keys& k, offload& o) {
  constexpr std::int64_t unset = -1;
  k.word("optimizer", o.optimizer);
  k.word("parameters", o.parameters);
  k.word("activations", o.activations);
  if constexpr (Keys::reads)
    if (o.activations == place::on_nvme)
      fail("headroom: " + k.at("activations") + " must be \"none\" or \"cpu\", found \"nvme\"");
  k.flag("pin_memory", o.pin_memory, true);
  k.scaled("optimizer_fraction", o.optimizer_fraction, std::int32_t{1'000'000}, 1e6, 1.0);
  k.whole("optimizer_buffer_count", o.optimizer_buffer_count, unset);
  k.whole("parameter_buffer_count", o.parameter_buffer_count, unset);
  k.whole("parameter_buffer_size", o.parameter_buffer_size, unset);
  k.whole("max_in_cpu", o.max_in_cpu, unset);
}

/// ":SIZE:COUNT" pairs in KiB, as CUBLAS_WORKSPACE_CONFIG has them (ATen/cuda/CublasHandlePool.cpp), or bytes.
inline bytes read_cublas_workspace(const json_value& value, const std::string& path) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  if (!value.is_string()) return bytes{whole_at(value, path, 0, most)};
  constexpr std::string_view expected = "\":SIZE:COUNT\" in KiB, e.g. \":4096:8\", or a number of bytes";
  std::string_view rest = *value.get_ptr<const json_value::string_t*>();
  const auto number = [&] {
    if (rest.empty() || rest[0] != ':') wrong_value(path, expected, value);
    std::size_t digits = 1;
    std::int64_t n = 0;
    for (; digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9' && digits < 10; ++digits)
      n = n * 10 + (rest[digits] - '0');
    if (digits == 1) wrong_value(path, expected, value);
    rest.remove_prefix(digits);
    return n;
  };
  if (rest.empty()) wrong_value(path, expected, value);
  bytes sum{0};
  while (!rest.empty()) {
    const auto size = number();
    sum += bytes{checked::mul(size, number(), 1024)};
  }
  if (sum.count() > most) wrong_value(path, "at most 1 TiB", value);
  return sum;
}

/// "2.12", "2.12.0a0+0291f96": 212.
inline std::int32_t read_torch_version(const json_value& value, const std::string& path) {
  constexpr std::string_view expected = "a version of PyTorch, e.g. \"2.12\"";
  if (!value.is_string()) wrong_value(path, expected, value);
  const std::string_view text = *value.get_ptr<const json_value::string_t*>();
  std::size_t at = 0;
  const auto number = [&] {
    std::int32_t n = 0;
    const auto from = at;
    for (; at < text.size() && at < from + 3 && text[at] >= '0' && text[at] <= '9'; ++at) n = n * 10 + (text[at] - '0');
    if (at == from || n > 99) wrong_value(path, expected, value);
    return n;
  };
  const auto major = number();
  if (major < 1 || at == text.size() || text[at++] != '.') wrong_value(path, expected, value);
  return major * 100 + number();
}

template <class Keys>
void describe(Keys& k, environment& e) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  if constexpr (Keys::reads) {
    if (const auto* v = k.take("cublas_workspace")) e.cublas_workspace = read_cublas_workspace(*v, k.at("cublas_workspace"));
    if (const auto* v = k.take("allocator")) {
      key_reader inner{*v, k.at("allocator")};
      inner.flag("expandable_segments", e.expandable_segments);
      if (const auto* mb = inner.take("max_split_size_mb")) e.max_split_size = whole_at(*mb, inner.at("max_split_size_mb"), 21, 1 << 20) * mib;
      if (const auto* n = inner.take("roundup_power2_divisions")) {
        const auto path = inner.at("roundup_power2_divisions");
        e.roundup_power2_divisions = static_cast<std::int32_t>(whole_at(*n, path, 1, 64));
        if ((e.roundup_power2_divisions & (e.roundup_power2_divisions - 1)) != 0) wrong_value(path, "a power of two", *n);
      }
      if (const auto* part = inner.take("garbage_collection_threshold")) {
        e.garbage_collection_threshold = probability::of(number_at(*part, inner.at("garbage_collection_threshold"), 0.0, 1.0));
      }
      inner.finish();
    }
    if (const auto* v = k.take("nccl_buffsize")) e.nccl_buffsize = bytes{whole_at(*v, k.at("nccl_buffsize"), 0, most)};
    if (const auto* v = k.take("torch")) e.torch = read_torch_version(*v, k.at("torch"));
  } else {
    if (e.cublas_workspace >= bytes{0}) k.put("cublas_workspace", e.cublas_workspace.count());
    json_value a = json_value::object();
    if (e.expandable_segments != choice::unset) a["expandable_segments"] = e.expandable_segments == choice::yes;
    if (e.max_split_size >= bytes{0}) a["max_split_size_mb"] = e.max_split_size.count() / mib.count();
    if (e.roundup_power2_divisions > 0) a["roundup_power2_divisions"] = e.roundup_power2_divisions;
    if (e.garbage_collection_threshold.positive()) a["garbage_collection_threshold"] = e.garbage_collection_threshold.per_million / 1e6;
    if (!a.empty()) k.put("allocator", a);
    if (e.nccl_buffsize >= bytes{0}) k.put("nccl_buffsize", e.nccl_buffsize.count());
    if (e.torch > 0) k.put("torch", std::to_string(e.torch / 100) + "." + std::to_string(e.torch % 100));
  }
}

}  // namespace headroom::io
