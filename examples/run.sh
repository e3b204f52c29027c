#!/bin/sh
# Distributed under the Boost Software License, Version 1.0.
# Builds the program and runs it on the main job, or on the arguments given:
#   sh examples/run.sh
#   sh examples/run.sh estimate examples/jobs/other.json --json
#   sh examples/run.sh serve     (which needs OpenSSL, and is built when it is asked for)
# On Debian and its like, what is missing is installed first (as root or with sudo).
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/tests/needs.sh"
needs g++ cmake ninja-build libboost-dev nlohmann-json3-dev libcli11-dev libyaml-cpp-dev libtomlplusplus-dev

server=OFF # a third of a minute of the compiler's, for one command
[ "${1:-}" != serve ] || {
  needs libssl-dev
  server=ON
}

# A build folder that is there already is used as it is configured; a new one builds the program and nothing else.
build() {
  if [ ! -f "$root/build/CMakeCache.txt" ]; then
    # What judges lies in headroom::compiled, at -O2; what reads and writes is built in half the time without it, as one file beside it.
    cmake -S "$root" -B "$root/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHEADROOM_PROGRAM_ALONE=ON -DHEADROOM_SERVER=$server \
      -DHEADROOM_BUILD_TESTS=OFF -DHEADROOM_BUILD_BENCH=OFF -DHEADROOM_INSTALL=OFF -DHEADROOM_PROGRAM_OPTIONS=-O0 || return
  elif [ $server = ON ]; then
    cmake -DHEADROOM_SERVER=ON "$root/build" || return
  fi
  cmake --build "$root/build" --target headroom_program
}
# What is built for longer than a moment is said, on a terminal with a clock.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
build >"$log" 2>&1 &
building=$!
trap 'kill "$building" 2>/dev/null; exit 130' INT TERM
waited=0 # fifths of a second
while kill -0 "$building" 2>/dev/null; do
  if [ -t 2 ]; then
    [ "$waited" -lt 10 ] || printf '\rBuilding the program, about a minute the first time: %d s ' $((waited / 5)) >&2
  elif [ "$waited" -eq 10 ]; then
    echo "Building the program, about a minute the first time …" >&2
  fi
  sleep 0.2
  waited=$((waited + 1))
done
[ ! -t 2 ] || printf '\r\033[K' >&2
if ! wait "$building"; then
  cat "$log" >&2
  exit 2
fi

if [ $# -eq 0 ]; then
  set -- estimate "$root/examples/jobs/llama-3.1-8b-zero3.json"
fi
"$root/build/bin/headroom" "$@"
