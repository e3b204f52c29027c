// Distributed under the Boost Software License, Version 1.0.
// A model's parameters, added up module by module as its class makes them. Sums are checked: overflow is an error.
#pragma once

#include <headroom/io/huggingface/config.hpp>
#include <headroom/model/inventory.hpp>

namespace headroom::io::detail {

class tally {
 public:
  [[nodiscard]] const parameter_count& counted() const { return sum_; }

  /// `each` parameters, `times` times.
  void add(component part, std::int64_t each, std::int64_t times = 1) { put(part, parameters{each} * times, parameters{each} * times); }

  /// nn.Linear, or a convolution whose `in` counts the window's places: out × in, and out more with a bias.
  void linear(component part, std::int64_t in, std::int64_t out, bool bias, std::int64_t times = 1) {
    add(part, checked::add(checked::mul(in, out), bias ? out : 0), times);
  }
  /// RMSNorm: its weight.
  void rms_norm(std::int64_t width, std::int64_t times = 1) { add(component::norm, width, times); }
  /// nn.LayerNorm, nn.GroupNorm or nn.BatchNorm: weight and bias.
  void layer_norm(std::int64_t width, std::int64_t times = 1) { add(component::norm, checked::mul(2, width), times); }
  void embedding(std::int64_t rows, std::int64_t width) { add(component::embedding, checked::mul(rows, width)); }

  /// `count` experts of `each` parameters in each of `layers` layers; a token visits `active` of them.
  void experts(std::int64_t each, std::int64_t count, std::int64_t active, std::int64_t layers) {
    const auto one = parameters{each} * layers;
    put(component::experts, one * count, one * active);
  }
  /// Parameters that the class never trains. They are in the total.
  void frozen(component part, std::int64_t each) { add(part, each), sum_.frozen += parameters{each}; }

  /// What `body` adds belongs to one part: a tower's norms are the tower's.
  template <class Body>
  void within(component part, const Body& body) {
    const auto before = whole_;
    if (whole_ == component::other) whole_ = part;
    body();
    whole_ = before;
  }

  /// Another model that this one holds.
  void model(const parameter_count& other) {
    for (int i = 0; i < component_count; ++i) {
      const auto part = static_cast<component>(i);
      put(part, other.of(part), parameters{});
    }
    sum_.active += other.active;
    sum_.frozen += other.frozen;
  }

 private:
  void put(component part, parameters all, parameters active) {
    sum_.total += all;
    sum_.active += active;
    sum_.by_component[static_cast<std::size_t>(whole_ == component::other ? part : whole_)] += all;
  }

  parameter_count sum_{};
  component whole_{component::other};  ///< other: each part stands for itself
};

/// A class of transformers whose parameters are counted, and whose layers nobody walks.
struct counted_class {
  const char* name;  ///< as `architectures` spells it
  const char* type;  ///< its model_type
  void (*count)(const config& c, tally& t);
};

}  // namespace headroom::io::detail
