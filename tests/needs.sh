# Distributed under the Boost Software License, Version 1.0.
# Read by the scripts beside it and in examples/: needs PACKAGE… installs those Debian packages that are missing.

needs() {
  command -v dpkg-query >/dev/null || return 0  # not Debian: what is missing shows in CMake's own words
  missing=
  for package in "$@"; do
    case $(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true) in
      *' installed') ;;
      *) missing="$missing $package" ;;
    esac
  done
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" -eq 0 ]; then as_root=; else as_root=sudo; fi
  echo "installing$missing" >&2
  # shellcheck disable=SC2086
  {
    $as_root apt-get -q -o DPkg::Lock::Timeout=900 update &&
      $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y -o DPkg::Lock::Timeout=900 install --no-install-recommends $missing
  } >&2
}
