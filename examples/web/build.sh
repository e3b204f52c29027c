#!/bin/sh
# Distributed under the Boost Software License, Version 1.0.
# Builds the page: one file, build/web/headroom.html, which opens from disk and from any web server.
#   sh examples/web/build.sh        HEADROOM_WEB_OPTIONS=-O1 compiles faster, to a larger page
# On Debian and its like, what is missing is installed first (as root or with sudo).
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
here=$root/examples/web
out=$root/build/web
. "$root/tests/needs.sh"
needs emscripten node-acorn nodejs python3 xz-utils libboost-dev nlohmann-json3-dev libtomlplusplus-dev
options="${HEADROOM_WEB_OPTIONS:--Os} -fwasm-exceptions -DNDEBUG"
mkdir -p "$out/inc"
cd "$out"
export NODE_PATH=/usr/share/nodejs

# Never -I/usr/include: only what is headers alone.
for folder in boost nlohmann toml++; do ln -sfn "/usr/include/$folder" "inc/$folder"; done

# yaml-cpp is compiled from Debian's source package; without it the page reads no YAML.
yaml=0
if [ ! -d yaml-cpp ] && command -v apt-get >/dev/null; then
  mkdir -p apt/lists/partial
  echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main" >apt/sources.list
  sources() { apt-get -q -o Dir::Etc::SourceList="$out/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$out/apt/lists" "$@"; }
  { sources update && sources source --download-only yaml-cpp && mkdir yaml-cpp && tar xf yaml-cpp_*.orig.tar.* -C yaml-cpp --strip-components=1; } >apt/log 2>&1 ||
    { rm -rf yaml-cpp; echo "no source of yaml-cpp ($out/apt/log): the page will read no YAML" >&2; }
fi
[ ! -d yaml-cpp ] || yaml=1

# compile OBJECT SOURCE OPTION…: unless nothing that it may be made of has changed.
compile() {
  object=$1 source=$2
  shift 2
  said="$options $*"
  if [ -f "$object" ] && [ "$(cat "$object.options")" = "$said" ] && [ -z "$(find "$root/include" "$root/examples/calls" "$here" -newer "$object.options" \( -name "*.[ch]pp" -o -path '*/missing/*' \) -print -quit)" ]; then return; fi
  rm -f "$object"
  echo "$said" >"$object.options"  # before: what is edited while it compiles is newer
  # shellcheck disable=SC2086
  em++ $options "$@" -c "$source" -o "$object"
}
compile page.o "$here/page.cpp" -std=c++20 -Wall -Wextra -DHEADROOM_HAS_TOML=1 -DHEADROOM_HAS_YAML=$yaml -isystem "$here/missing" -isystem inc -isystem yaml-cpp/include "-I$root/include"
objects=page.o
if [ $yaml = 1 ]; then
  for file in yaml-cpp/src/*.cpp; do echo "#include \"$file\""; done >yaml.cpp
  compile yaml.o yaml.cpp -std=c++17 -w -Iyaml-cpp/include -I.
  objects="$objects yaml.o"
fi
functions=$(sed -n 's/^const char\* headroom_\([a-z]*\)(.*/_headroom_\1,/p' "$here/page.cpp" | tr -d '\n')
# shellcheck disable=SC2086
em++ $options $objects -o engine.js -sALLOW_MEMORY_GROWTH=1 -sTOTAL_STACK=8388608 -sMODULARIZE=1 -sEXPORT_NAME=headroom -sENVIRONMENT=web,worker,node \
  -sFILESYSTEM=0 -sEXPORTED_RUNTIME_METHODS=ccall,UTF8ToString "-sEXPORTED_FUNCTIONS=${functions}_malloc,_free"
# What the form is made of stands in the page, so that it is there at once.
node -e "require('./engine.js')({wasmBinary: require('fs').readFileSync('engine.wasm')}).then((e) => require('fs').writeFileSync('names.json', e.ccall('headroom_names', 'string', [], [])))"
python3 -B "$here/assemble.py" "$here" "$out"
