#!/bin/sh
# Distributed under the Boost Software License, Version 1.0.
# Builds the program and the page of examples/web, and tries the page and `estimate --html` in Debian's chromium, headless. Screenshots lie in
# build/web/pictures afterwards. The last line is the sum.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
cd "$root"
. tests/needs.sh
needs chromium fonts-dejavu-core nodejs
command -v npm >/dev/null || needs npm

cmake --preset default >/dev/null
cmake --build build --target headroom_program >build/program.log 2>&1 || {
  tail -n 40 build/program.log
  exit 1
}
sh examples/web/build.sh
mkdir -p build/web/node
cp tests/web/package.json tests/web/package-lock.json build/web/node/
npm ci --prefix build/web/node --no-audit --no-fund --silent
node tests/web/main.js "$root"
