#!/bin/sh
# Distributed under the Boost Software License, Version 1.0.
# Debian packages are built, unpacked into a folder of their own, and used from there; the library in one file is compiled by both compilers.
#   sh tests/packages/check.sh BUILD      HEADROOM_PACKAGES_JOBS: how many compilers at once; HEADROOM_PACKAGES_OPTIONS: of CMake
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=$1
mkdir -p "$build"

# One file.
sh "$root/examples/packaging/single_header.sh" >"$build/headroom.hpp"
if grep -n '#include <headroom/' "$build/headroom.hpp"; then exit 1; fi
cat >"$build/one.cpp" <<'END'
#include "headroom.hpp"
constexpr headroom::job job{.model = headroom::models::llama_3_2_1b, .hardware = {.gpu = headroom::gpus::h100_sxm_80gb}, .batch = {.micro = 1, .sequence = 1024}};
static_assert(headroom::require_fits<job>);
int main() { return headroom::estimate(job).fits() ? 0 : 1; }
END
for compiler in g++ clang++; do
  command -v "$compiler" >/dev/null || continue
  "$compiler" -std=c++20 -O0 -Wall -Wextra -Werror -I"$build" "$build/one.cpp" -o "$build/one"
  "$build/one"
done

# Packages.
# shellcheck disable=SC2086
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHEADROOM_COMPILED=ON -DHEADROOM_COMPILED_SHARED=ON -DHEADROOM_BUILD_TESTS=OFF -DHEADROOM_BUILD_BENCH=OFF \
  -DHEADROOM_PROGRAM_OPTIONS=-O0 ${HEADROOM_PACKAGES_OPTIONS:-} >/dev/null
cmake --build "$build" --parallel "${HEADROOM_PACKAGES_JOBS:-$(nproc)}" --target headroom_compiled headroom_shared headroom_program headroom_webhook \
  headroom_c headroom_spank >"$build/build.log" 2>&1 || {
  tail -n 40 "$build/build.log"
  exit 1
}
rm -f "$build"/*.deb
(cd "$build" && cpack -G DEB >cpack.log 2>&1) || {
  cat "$build/cpack.log"
  exit 1
}
unpacked=$build/unpacked
rm -rf "$unpacked"
for package in "$build"/*.deb; do
  dpkg -x "$package" "$unpacked"
  dpkg -f "$package" Package Version Depends
done
for name in headroom headroom-webhook headroom-slurm libheadroom0 libheadroom-c-dev libheadroom-dev libheadroom-compiled0.1; do
  ls "$build/$name"_*.deb >/dev/null
done
"$unpacked/usr/bin/headroom" estimate "$root/examples/jobs/llama-3.1-8b-zero3.json" | grep -q 'FITS with'
"$unpacked/usr/bin/headroom_webhook" --help >/dev/null
"$unpacked/usr/bin/headroom" --version

# A consumer of the headers and of headroom::compiled.
cmake -S "$root/tests/consumer/find_package" -B "$build/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$unpacked/usr" -DHEADROOM_MUST_LIE_IN="$unpacked/usr" \
  -DHEADROOM_COMPILED=ON >/dev/null
cmake --build "$build/consumer" >/dev/null
ctest --test-dir "$build/consumer" --output-on-failure >/dev/null

# … of headroom::shared …
mkdir -p "$build/shared"
cat >"$build/shared/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(shared CXX)
find_package(headroom 0.1 CONFIG REQUIRED COMPONENTS shared)
add_executable(shared "$root/tests/consumer/linked.cpp")
target_link_libraries(shared PRIVATE headroom::shared)
END
cmake -S "$build/shared" -B "$build/shared/build" -G Ninja -DCMAKE_PREFIX_PATH="$unpacked/usr" >/dev/null
cmake --build "$build/shared/build" >/dev/null
"$build/shared/build/shared"
objdump -p "$build/shared/build/shared" | grep -q 'NEEDED *libheadroom_compiled.so.0.1$'

# … and of the library for C.
libraries=$(dirname "$(find "$unpacked/usr" -name libheadroom.so)")
cc -Wall -Wextra -Werror -I"$unpacked/usr/include" "$root/examples/c/admit.c" -L"$libraries" -lheadroom -o "$build/admit"
LD_LIBRARY_PATH=$libraries "$build/admit" "$root/examples/jobs/llama-3.1-8b-zero3.json" | grep -q ': fits$'
objdump -p "$libraries/libheadroom.so" | grep -q 'SONAME *libheadroom.so.0$'
echo "packages: built, unpacked and used"
