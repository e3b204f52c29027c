#!/bin/sh
# Distributed under the Boost Software License, Version 1.0.
# Builds the program and runs it on the main job, or on the arguments given:
#   sh examples/run.sh
#   sh examples/run.sh estimate examples/jobs/other.json --json
# On Debian and its like, what is missing is installed first (as root or with sudo).
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tests/needs.sh"
needs g++ cmake ninja-build libboost-dev nlohmann-json3-dev libcli11-dev libyaml-cpp-dev libtomlplusplus-dev

# A build folder that is there already is used as it is configured; a new one builds the program and nothing else.
build() {
  if [ ! -f "$root/build/CMakeCache.txt" ]; then
    cmake -S "$root" -B "$root/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
      -DHEADROOM_BUILD_TESTS=OFF -DHEADROOM_BUILD_BENCH=OFF || return
  fi
  cmake --build "$root/build" --target headroom_program
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! build >"$log" 2>&1; then
  cat "$log" >&2
  exit 2
fi

if [ $# -eq 0 ]; then
  set -- estimate "$root/examples/jobs/llama-3.1-8b-zero3.json"
fi
"$root/build/bin/headroom" "$@"
