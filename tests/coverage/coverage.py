# Distributed under the Boost Software License, Version 1.0.
"""How much of include/ the tests run, by lines and by branches: `sh tests/run.sh coverage`.

coverage.py BUILD PROGRAM…: runs every area's program in BUILD/tests, which clang built with -fprofile-instr-generate -fcoverage-mapping, and
counts them with these other programs together. What only a compiler evaluates, in a static_assert, does not count. It fails below the floors.
"""

import glob
import json
import os
import pathlib
import subprocess
import sys

# Floors only rise: set them to what a full run reaches (98.3 and 90.4 % in 2026-11). The aim is 95 % of the branches.
LINES = 98.0
BRANCHES = 90.0

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tool(name):
  """Of the release of clang that built, where it has a name of its own."""
  for path in (f"/usr/bin/{name}-14", f"/usr/bin/{name}"):
    if os.path.exists(path):
      return path
  sys.exit(f"there is no {name} (Debian: llvm-14)")


def run(areas, folder):
  """Runs all areas and merges what they counted, and names those of which a test fails."""
  failed = []
  for area in areas:
    done = subprocess.run([area, "--minimal"], cwd=folder, env={**os.environ, "LLVM_PROFILE_FILE": f"{folder}/%p-%m.profraw"}, capture_output=True, text=True)
    if done.returncode != 0:
      failed.append(area)
      print(f"{area} fails:\n{done.stdout[-4000:]}{done.stderr[-1000:]}")
  listed = folder / "profiles.txt"
  listed.write_text("\n".join(glob.glob(f"{folder}/*.profraw")))
  merged = folder / "all.profdata"
  subprocess.run([tool("llvm-profdata"), "merge", "-sparse", "-f", listed, "-o", merged], check=True)
  for file in glob.glob(f"{folder}/*.profraw"):
    os.unlink(file)
  return merged, failed


def summary(merged, programs):
  """Every header's counts."""
  objects = [word for program in programs[1:] for word in ("-object", program)]
  text = subprocess.run([tool("llvm-cov"), "export", "-summary-only", f"-instr-profile={merged}", programs[0], *objects],
                        check=True, capture_output=True, text=True).stdout
  # A compiler's cache spells a header from the folder of the build: BUILD/../include.
  named = ((pathlib.Path(f["filename"]).resolve(), f["summary"]) for f in json.loads(text)["data"][0]["files"])
  return {str(path.relative_to(ROOT)): counts for path, counts in named if path.is_relative_to(ROOT / "include")}


def main():
  build = pathlib.Path(sys.argv[1]).resolve()
  folder = build / "coverage"
  folder.mkdir(exist_ok=True)
  areas = sorted(p for p in glob.glob(f"{build}/tests/test_*") if os.access(p, os.X_OK) and os.path.isfile(p))
  merged, failed = run(areas, folder)
  files = summary(merged, areas + [p for p in sys.argv[2:] if os.path.exists(p)])
  (folder / "files.json").write_text(json.dumps(files, indent=1))
  reached = {}
  for what in ("lines", "branches"):
    covered, count = (sum(f[what][key] for f in files.values()) for key in ("covered", "count"))
    reached[what] = 100 * covered / max(1, count)
    print(f"{what}: {covered} of {count}, {reached[what]:.2f} %")
  print("the most branches that no test takes:")
  for name, f in sorted(files.items(), key=lambda x: x[1]["branches"]["covered"] - x[1]["branches"]["count"])[:10]:
    b = f["branches"]
    print(f"  {b['count'] - b['covered']:4} of {b['count']:4}  {name}")
  if failed:
    sys.exit(f"tests fail: {', '.join(failed)}")
  if reached["lines"] < LINES or reached["branches"] < BRANCHES:
    sys.exit(f"coverage is below its floors of {LINES} % of the lines and {BRANCHES} % of the branches")


if __name__ == "__main__":
  main()
