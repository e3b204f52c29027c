#!/bin/sh
# Distributed under the Boost Software License, Version 1.0.
# What the library costs a translation unit: wall time of `-c -O0`, the median of five, in milliseconds and as a multiple of
# including <chrono>. Raw Boost.Units stands beside it, since that is what the core is built on. Then, with -O2 and measured once, what a call at
# run time costs with the headers alone and with headroom::compiled.
#   sh bench/compile_cost.sh [compiler…]
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
[ $# -gt 0 ] || set -- g++ clang++
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/empty.cpp" <<'CPP'
int nothing;
CPP
cat >"$work/chrono.cpp" <<'CPP'
#include <chrono>
std::chrono::seconds value{1};
CPP
cat >"$work/boost_units.cpp" <<'CPP'
#include <boost/units/quantity.hpp>
#include <boost/units/systems/si/length.hpp>
boost::units::quantity<boost::units::si::length> value = 1.0 * boost::units::si::meter;
CPP
cat >"$work/units_only.cpp" <<'CPP'
#include <headroom/units/literals.hpp>
headroom::bytes value{1};
CPP
cat >"$work/umbrella.cpp" <<'CPP'
#include <headroom/headroom.hpp>
headroom::bytes value{1};
CPP
cat >"$work/estimate.cpp" <<'CPP'
#include <headroom/headroom.hpp>
headroom::job job{.model = headroom::models::llama_3_1_8b, .batch = {.micro = 1, .sequence = 4096}};
headroom::report value = headroom::estimate(job);
CPP
cat >"$work/estimate_in_static_assert.cpp" <<'CPP'
#include <headroom/headroom.hpp>
constexpr headroom::job job{
    .model = headroom::models::llama_3_1_8b,
    .hardware = {.gpu = headroom::gpus::h100_sxm_80gb, .gpus_per_node = 8},
    .sharding = headroom::zero(3),
    .batch = {.micro = 1, .sequence = 4096},
    .recompute = headroom::recompute::full,
};
static_assert(headroom::estimate(job).peak() < headroom::bytes{1} * (std::int64_t{1} << 40));
CPP
cat >"$work/calls_estimate.cpp" <<'CPP'
#include <headroom/estimate.hpp>
headroom::report answer(const headroom::job& job) { return headroom::estimate(job); }
CPP
cat >"$work/calls_cost.cpp" <<'CPP'
#include <headroom/cost/cost.hpp>
headroom::step_cost answer(const headroom::job& job) { return headroom::cost(job); }
CPP
cat >"$work/calls_replay.cpp" <<'CPP'
#include <headroom/replay.hpp>
headroom::report answer(const headroom::job& job) { return headroom::replay(job); }
CPP
cat >"$work/calls_admit.cpp" <<'CPP'
#include <headroom/io/admission.hpp>
headroom::io::decision answer(const char* text) { return headroom::io::admit({.job = text}).decision; }
CPP

now() { date +%s%N; }
kinds='empty chrono boost_units units_only umbrella estimate estimate_in_static_assert'

for compiler in "$@"; do
  echo
  "$compiler" --version | sed -n 1p
  rm -f "$work"/*.ms
  for round in warm-up 1 2 3 4 5; do # all kinds in each round, so that a busy moment touches all of them
    for kind in $kinds; do
      start=$(now)
      "$compiler" -std=c++20 -O0 -c -I"$root/include" -o "$work/out.o" "$work/$kind.cpp"
      [ "$round" = warm-up ] || echo $((($(now) - start) / 1000000)) >>"$work/$kind.ms"
    done
  done
  unit=$(sort -n "$work/chrono.ms" | sed -n 3p)
  for kind in $kinds; do
    sort -n "$work/$kind.ms" | sed -n 3p |
      awk -v kind="$kind" -v unit="$unit" '{ printf "%-28s %6d ms  %5.2f x <chrono>\n", kind, $1, $1 / unit }'
  done
  for kind in calls_estimate calls_cost calls_replay calls_admit; do
    for how in '' -DHEADROOM_COMPILED=1; do
      start=$(now)
      "$compiler" -std=c++20 -O2 -c $how -I"$root/include" -o "$work/out.o" "$work/$kind.cpp"
      printf '%-28s %6d ms  -O2 %s\n' $kind $((($(now) - start) / 1000000)) "$how"
    done
  done
done
