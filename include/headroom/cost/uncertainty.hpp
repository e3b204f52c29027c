// Distributed under the Boost Software License, Version 1.0.
// Where a step's time may be wrong, and by how much: a line each, which cost/bounds.hpp reads.
#pragma once

#include <headroom/cost/assumed.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace headroom {

/// What an error of a step's time is proportional to.
enum class time_base : std::uint8_t { step, attention, launch, communication, data_parallel, offload, matmul, not_multiplied, other_models, generation, sync };

/// One standard deviation, in thousandths of its base, where `when` is assumed. Plans of one search run on one machine, so that an error is
/// the same factor of the same base in all of them, but for what is a plan's `own` of it: shapes of its kernels, order of its traffic.
struct time_uncertainty {
  std::string_view from{};
  time_assumption when{};
  time_base of{};
  std::int32_t per_mille{};
  std::int32_t own{};
};

/// Calibrated on the published runs that the rates are calibrated on too (cost/rates.hpp): the greatest likelihood of Student's t with four
/// degrees of freedom, families weighed by the root of their size, rounded. tests/accuracy/test_throughput.cpp holds what the others
/// come to. `processor_update`, `another_gpu`, `mixed`, `methods`, `generation` and `sync` are stated: no run, two, and none; and `experts`: the busiest rank computes up to 1.4 times an
/// even share, and the others wait for it.
/// `known_recipe` is calibrated on the 47 of them that are Megatron-Bridge's with a row in io/options/bridge_releases.hpp (the others would have given 240).
/// `own` is calibrated on the pairs of those runs' tables that differ only in what a search opens, 1,964 of them: with it 95, 78 and 53 % of
/// their differences are where 95, 80 and 50 % are expected.
inline constexpr std::array time_uncertainties{
    time_uncertainty{"rates", time_assumption::rates_calibrated, time_base::step, 75, 50},
    time_uncertainty{"launch", time_assumption::rates_calibrated, time_base::launch, 480},
    time_uncertainty{"communication", time_assumption::rates_calibrated, time_base::communication, 300},
    time_uncertainty{"data_parallel", time_assumption::traffic_overlapped, time_base::data_parallel, 250},
    time_uncertainty{"recipe", time_assumption::release_recipe, time_base::not_multiplied, 430},
    time_uncertainty{"known_recipe", time_assumption::recipe_of_release, time_base::not_multiplied, 270},
    time_uncertainty{"fp8", time_assumption::fp8_in_one_share, time_base::matmul, 100},
    time_uncertainty{"experts", time_assumption::even_experts, time_base::step, 150},
    time_uncertainty{"quantised", time_assumption::quantised_base, time_base::step, 80},
    time_uncertainty{"best_matmul", time_assumption::best_matmul_assumed, time_base::matmul, 300},
    time_uncertainty{"another_gpu", time_assumption::rates_of_another_gpu, time_base::step, 200},
    time_uncertainty{"processor_update", time_assumption::host_update, time_base::offload, 500},
    time_uncertainty{"mixed", time_assumption::mixed_kinds, time_base::step, 100, 50},
    time_uncertainty{"methods", time_assumption::methods_from_parts, time_base::other_models, 300},
    time_uncertainty{"generation", time_assumption::generation_by_bandwidth, time_base::generation, 600},
    time_uncertainty{"sync", time_assumption::generation_by_bandwidth, time_base::sync, 600},
    time_uncertainty{"documents", time_assumption::documents_unknown, time_base::attention, 500},  // derived: of short ones it takes next to nothing
};

}  // namespace headroom
