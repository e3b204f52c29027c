#!/bin/sh
# Distributed under the Boost Software License, Version 1.0.
# The constexpr core in one file, for who wants to copy one; it needs Boost.Units:
#   sh examples/packaging/single_header.sh > headroom.hpp
#   sh examples/packaging/single_header.sh fits.hpp headroom.hpp > headroom.hpp      other headers than headroom.hpp and fits.hpp
# Each header stands once, after those that it includes.
set -eu
LC_ALL=C
export LC_ALL

root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
[ $# -gt 0 ] || set -- headroom.hpp fits.hpp
cd "$root/include/headroom"

awk -v asked="$*" '
  # Prints a header after what it includes of the library; headers of others stay as they are, each once.
  function put(name,   file, line, inner) {
    if (name in seen) return
    seen[name] = 1
    file = name
    while ((got[name] = (getline line < file)) > 0) {
      if (line == "#pragma once") continue
      if (line ~ /^#include <headroom\//) {
        inner = line
        sub(/^#include <headroom\//, "", inner)
        sub(/>.*/, "", inner)
        put(inner)
        continue
      }
      if (line ~ /^\/\/ Distributed under/) continue
      print line
    }
    if (got[name] < 0) {
      print "headroom: no header " name > "/dev/stderr"
      exit failed = 1
    }
    close(file)
  }
  BEGIN {
    print "// Distributed under the Boost Software License, Version 1.0."
    print "// headroom in one file, made by examples/packaging/single_header.sh of: " asked
    print "#pragma once\n"
    n = split(asked, names, " ")
    for (i = 1; i <= n; ++i) put(names[i])
    exit failed
  }'
