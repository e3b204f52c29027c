#!/bin/sh
# Distributed under the Boost Software License, Version 1.0.
# Runs the tests: g++, clang++, both sanitizers, the core without exceptions, the fuzzers. The last line is the sum.
#   sh tests/run.sh            all of these stages, in less than fifteen minutes on two cores
#   sh tests/run.sh gcc fuzz   only these of: gcc clang sanitizers no-exceptions fuzz
# What is slow and rarely breaks runs by name:
#   sh tests/run.sh gcc-long   the stage gcc with trainers on LibTorch, the measuring script, benchmarks, what hostile texts cost, each header by itself, and every way to take the library
#   sh tests/run.sh headers    each header by itself, those of headroom::io too (four minutes)
#   sh tests/run.sh zoo        every model known by name in a constant expression, by both compilers (a minute)
#   sh tests/run.sh sanitizers-long   both sanitizers over the other areas and the programs (fifteen minutes; the fuzzers run readers and estimates under them)
#   sh tests/run.sh reference  the reference of the headers: Doxygen's pages, without a warning, with every name that a user may call (ten seconds)
#   sh tests/run.sh python     the Python package: its wheel, its tests (around a training on Debian's PyTorch, too), its types (three minutes)
#   sh tests/run.sh packages   Debian packages, unpacked and used, and the library in one file (five minutes)
#   sh tests/run.sh mutants    changes the library in 200 places, one at a time, and says which changes no test notices (an hour)
#   sh tests/run.sh web        the page of examples/web and `estimate --html` in chromium (ten minutes, most of it the compiler's)
#   sh tests/run.sh coverage   how many lines and branches of include/ the tests run; it fails below a floor (half an hour)
# HEADROOM_FUZZ_SECONDS: how long each fuzzer runs (30). Where that is longer, they are optimised, which takes the compiler minutes.
# On Debian and its like, what is missing is installed first (as root or with sudo).
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
. tests/needs.sh
needs g++ clang libclang-rt-14-dev cmake ninja-build pkg-config \
  libboost-dev doctest-dev nlohmann-json3-dev libcli11-dev libyaml-cpp-dev libtomlplusplus-dev

[ $# -gt 0 ] || set -- gcc clang sanitizers no-exceptions fuzz
jobs=$(nproc)
passed=0
failed=0
LC_ALL=C
export LC_ALL

# tally JUNIT: adds what a run of ctest counted. A doctest program counts for as many as it has test cases.
tally() {
  counts=$(awk '
    function close_test() {
      if (status == "") return
      if (status == "run") { passed += cases ? cases_passed : 1 }
      else if (cases && cases_failed > 0) { passed += cases_passed; failed += cases_failed }
      else if (status != "disabled") { failed += 1 }
    }
    /<testcase / {
      close_test()
      cases = 0; cases_passed = 0; cases_failed = 0
      match($0, /status="[a-z]*"/); status = substr($0, RSTART + 8, RLENGTH - 9)
    }
    /\[doctest\] test cases:/ {
      cases = 1
      for (i = 2; i <= NF; ++i) { if ($i == "passed") cases_passed = $(i - 1); if ($i == "failed") cases_failed = $(i - 1) }
    }
    END { close_test(); print passed + 0, failed + 0 }' "$1")
  passed=$((passed + ${counts% *}))
  failed=$((failed + ${counts#* }))
}

fail() {
  echo "FAILED: $*"
  failed=$((failed + 1))
}

# stage PRESET WITHOUT [CMAKE-OPTION…]: configures, builds as far as it can be built, and runs what ctest knows, without the
# tests that match WITHOUT.
stage() {
  preset=$1
  without=$2
  shift 2
  start=$(date +%s)
  echo "== $preset"
  folder=build
  [ "$preset" = default ] || folder=build-$preset
  cmake --preset "$preset" "$@" >/dev/null || {
    fail "configuring $preset"
    return 0
  }
  cmake --build "$folder" -- -k 0 >"$folder/build.log" 2>&1 || {
    grep -E 'error|warning|FAILED' "$folder/build.log" | head -n 40
    fail "building $preset ($folder/build.log)"
  }
  built=$(date +%s)
  if [ "$preset" != fuzz ]; then
    # One more than there are cores: some wait for a daemon or a connection.
    ctest --test-dir "$folder" -E "$without" -j $((jobs + 1)) --output-on-failure --no-tests=error --output-junit "$root/$folder/tests.xml" \
      --test-output-size-passed 1000000 --test-output-size-failed 1000000 || true
    if [ -f "$folder/tests.xml" ]; then tally "$folder/tests.xml"; else fail "running $preset"; fi
  fi
  echo "== $preset: built in $((built - start)) s, ran in $(($(date +%s) - built)) s"
}

# The fuzzer for each reader, all at once, over the examples and the tests' data.
fuzz() {
  seconds=${HEADROOM_FUZZ_SECONDS:-30}
  fuzzer=build-fuzz/bin/fuzz
  [ -x "$fuzzer" ] || {
    fail "no fuzzer was built"
    return 0
  }
  started=
  for reader in job search config review json yaml toml shell env log; do
    case $reader in
      yaml) ends='*.y*ml' ;;
      toml | log | env) ends="*.$reader" ;;
      shell) ends='*.s[hl]*' ;;
      *) ends='*.json' ;;
    esac
    mkdir -p "build-fuzz/seeds/$reader" "build-fuzz/corpus/$reader" build-fuzz/found
    find examples/jobs examples/models examples/searches tests/data -type f -size -64k -name "$ends" | while read -r file; do
      cp "$file" "build-fuzz/seeds/$reader/$(echo "$file" | tr '/' '_')"
    done
    "$fuzzer" "--reader=$reader" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=16384 -print_final_stats=1 \
      -artifact_prefix="build-fuzz/found/$reader-" "build-fuzz/corpus/$reader" "build-fuzz/seeds/$reader" >"build-fuzz/fuzz-$reader.log" 2>&1 &
    started="$started $!:$reader"
  done
  for one in $started; do
    name=${one#*:}
    if wait "${one%%:*}"; then
      passed=$((passed + 1))
      echo "fuzz $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "build-fuzz/fuzz-$name.log") inputs, nothing found"
    else
      tail -n 40 "build-fuzz/fuzz-$name.log"
      fail "fuzz $name (build-fuzz/fuzz-$name.log)"
    fi
  done
}

fuzz_options=-O0
[ "${HEADROOM_FUZZ_SECONDS:-30}" -le 30 ] || fuzz_options=-O1

# The fuzzer takes a compiler as long as several stages: where it is asked for behind others, it begins beside them.
ahead=
begin_fuzzer() {
  case " $* " in *" fuzz "*) ;; *) return 0 ;; esac
  [ -z "$ahead" ] || return 0
  mkdir -p build-fuzz
  { cmake --preset fuzz "-DHEADROOM_FUZZ_OPTIONS=$fuzz_options" && cmake --build build-fuzz; } >build-fuzz/ahead.log 2>&1 &
  ahead=$!
}

# Every area's program and the program that they start, counting what they run.
coverage() {
  flags='-fprofile-instr-generate -fcoverage-mapping'
  areas=$(find tests -name 'test_*.cpp' ! -path '*/libtorch/*' | cut -d/ -f2 | sort -u | sed 's/^/test_/')
  # shellcheck disable=SC2086
  if cmake --preset clang -B build-coverage -DCMAKE_CXX_FLAGS_DEBUG=-O0 "-DCMAKE_CXX_FLAGS=$flags" -DHEADROOM_BUILD_BENCH=OFF -DHEADROOM_TEST_COMPILATION=OFF \
    -DHEADROOM_TEST_LONG=OFF >/dev/null && cmake --build build-coverage --target headroom_program $areas -- -k 0 >build-coverage/build.log 2>&1 &&
    python3 -B tests/coverage/coverage.py build-coverage build-coverage/bin/headroom; then
    passed=$((passed + 1))
  else
    fail "coverage"
  fi
}

# The wheel, built without a network from what Debian has, installed into a folder of its own and tested there.
python_package() {
  folder=$root/build-python
  rm -rf "$folder/wheels" "$folder/site"
  mkdir -p "$folder"
  HEADROOM_BUILD=${HEADROOM_BUILD:-$folder/cmake} HEADROOM_CMAKE=-DHEADROOM_PROGRAM_OPTIONS=-O0 \
    /usr/bin/python3 -m pip wheel -q --no-index --no-deps --no-build-isolation -w "$folder/wheels" examples/python || return 1
  /usr/bin/python3 -m pip install -q --no-index --no-deps --target "$folder/site" "$folder"/wheels/headroom-*.whl || return 1
  (cd examples/python && /usr/bin/python3 -m mypy --cache-dir "$folder/mypy" headroom) || return 1
  PYTHONPATH=$folder/site /usr/bin/python3 -B -W error tests/python/test_headroom.py || return 1
  PYTHONPATH=$folder/site /usr/bin/python3 -B tests/python/test_torch.py
}

for what in "$@"; do
  [ "$what" = gcc ] || [ "$what" = gcc-long ] || begin_fuzzer "$@"
  case $what in
    gcc | gcc-long)
      needs slurmctld slurmd slurm-client slurm-wlm-basic-plugins libslurm-dev munge           # what tests/slurm runs
      needs libssl-dev openssl python3-yaml                                                           # … tests/kubernetes talks to
      long=OFF
      benches=
      [ "$what" = gcc ] || {
        long=ON
        benches=-DHEADROOM_BENCH_OPTIONS=-O0
        needs libtorch-dev python3-torch libbenchmark-dev
      }
      stage default '^$' -DHEADROOM_BUILD_TESTS=ON -DHEADROOM_BUILD_EXAMPLES=ON -DHEADROOM_PROGRAM_OPTIONS=-O0 -DHEADROOM_COMPILED=ON -DHEADROOM_COMPILED_OPTIONS=-O1 \
        -DHEADROOM_TEST_LONG=$long -DHEADROOM_LIBTORCH=$long -DHEADROOM_BUILD_BENCH=$long ${benches:+"$benches"}
      ;;
    # The next stages compile areas and readers with clang, too: here are its sentences for what must not compile, and the core's examples.
    clang) stage clang '^headers|^consumer' -DHEADROOM_BUILD_BENCH=OFF -DHEADROOM_IO=OFF ;;
    # Areas of constant expressions are checked by the compiler that evaluates them, readers and estimates under both sanitizers by the fuzzers.
    sanitizers) stage asan-ubsan '^$' -DHEADROOM_BUILD_EXAMPLES=OFF -DHEADROOM_TEST_AREAS=units ;;
    sanitizers-long) stage asan-ubsan '^$' -DHEADROOM_BUILD_EXAMPLES=ON '-DHEADROOM_TEST_AREAS=diagnose;estimate;io;plan;replay;solve;step' ;;
    headers)
      cmake --preset default -DHEADROOM_VERIFY_IO=ON >/dev/null
      if cmake --build build --target all_verify_interface_header_sets -- -k 0; then passed=$((passed + 1)); else fail "a header by itself"; fi
      ;;
    zoo)
      cmake --preset default >/dev/null
      cmake --preset clang -DHEADROOM_IO=OFF >/dev/null
      for folder in build build-clang; do
        if cmake --build "$folder" --target headroom_zoo; then passed=$((passed + 1)); else fail "the zoo in $folder"; fi
      done
      ;;
    no-exceptions) stage no-exceptions '^$' -DHEADROOM_BUILD_EXAMPLES=OFF ;;
    # /usr/bin/python3: the bindings are Debian's. The score is read, not held to: it differs from one draw to the next.
    mutants)
      needs python3 python3-clang-14
      if /usr/bin/python3 -B tests/mutants/run.py; then passed=$((passed + 1)); else fail "mutants"; fi
      ;;
    reference)
      needs doxygen python3
      if HEADROOM_PAGES=1 python3 -B tests/docs/test_reference.py; then passed=$((passed + 1)); else fail "reference"; fi
      ;;
    python)
      needs python3 python3-dev python3-pip python3-setuptools python3-wheel python3-pybind11 pybind11-dev python3-mypy python3-pandas python3-torch
      if python_package; then passed=$((passed + 1)); else fail "python"; fi
      ;;
    web)
      mkdir -p build
      sh tests/web/run.sh >build/web.log 2>&1 || true
      cat build/web.log
      counts=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' build/web.log | tail -n 1)
      if [ -n "$counts" ]; then
        passed=$((passed + ${counts% *}))
        failed=$((failed + ${counts#* }))
      else
        fail "web (build/web.log)"
      fi
      ;;
    packages)
      needs libssl-dev libslurm-dev dpkg-dev
      if sh tests/packages/check.sh "$root/build-packages"; then passed=$((passed + 1)); else fail "packages"; fi
      ;;
    coverage)
      needs llvm-14
      coverage
      ;;
    fuzz)
      wait "$ahead" || true  # what fails is said by the stage
      stage fuzz '^$' "-DHEADROOM_FUZZ_OPTIONS=$fuzz_options"
      fuzz
      ;;
    *) fail "there is no stage $what" ;;
  esac
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
