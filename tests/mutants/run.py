# Distributed under the Boost Software License, Version 1.0.
"""Changes the library in many places, one at a time, and counts how many of these mutants the tests notice: `sh tests/run.sh mutants`.

All mutants are in one build (schemata.py), and each test case's first run says which of them it reaches. A mutant is killed when a test case
that reaches it fails, crashes, or takes far longer than it should. Environment:

  HEADROOM_MUTANTS        how many (200)
  HEADROOM_MUTANTS_SEED   which ones (a seed is drawn and printed)
  HEADROOM_MUTANTS_IN     only files whose name this pattern finds
  HEADROOM_MUTANTS_AREAS  only these folders of tests, "cost plan": quicker to build, and what they let pass another may notice
  HEADROOM_MUTANTS_JOBS   how many run at once (as many as there are cores)
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import time

import places
import schemata

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build-mutants"
ORIGINAL = FOLDER / "original"
COPY = FOLDER / "source"
BUILD = FOLDER / "build"
FLAGS = "-std=c++20 -DHEADROOM_HAS_YAML=1 -DHEADROOM_HAS_TOML=1 -w".split()
JOBS = int(os.environ.get("HEADROOM_MUTANTS_JOBS", os.cpu_count()))


def areas():
  """The folders of tests that were asked for, without trainers on LibTorch."""
  every = {p.parent.name for p in (ORIGINAL / "tests").glob("*/test_*.cpp")} - {"libtorch"}
  asked = set(os.environ.get("HEADROOM_MUTANTS_AREAS", "").split()) or every
  if asked - every:
    sys.exit(f"no folder of tests: {' '.join(sorted(asked - every))}; there are {' '.join(sorted(every))}")
  return sorted(asked)


def unit(root):
  file = FOLDER / f"all_{root.name}.cpp"
  file.write_text("".join(f'#include "{h}"\n' for h in places.headers(root)))
  return file


def drop(mutants, numbers):
  for k in numbers:
    mutants.pop(k)
  print(f"  {len(numbers)} do not compile: {len(mutants)} are left", flush=True)


def compile_headers(mutants):
  """Drops what the compiler refuses in the headers alone, which is most of what it refuses."""
  while True:
    schemata.write_headers(ORIGINAL, COPY, mutants)
    done = subprocess.run(["g++", "-fsyntax-only", "-fmax-errors=0", *FLAGS, "-include", COPY / "headroom_mutants.hpp", "-I", COPY / "include", unit(COPY)],
                          capture_output=True, text=True)
    if done.returncode == 0:
      return
    numbers, _ = schemata.blamed(done.stderr, COPY, mutants, ORIGINAL)
    if not numbers:
      sys.exit(f"the changed headers do not compile:\n{done.stderr[:4000]}")
    drop(mutants, numbers)


def build(mutants):
  """Builds the tests, optimised as in every other stage. Lines that a compiler must evaluate are remembered by their text for the next run."""
  known = FOLDER / "kept.json"
  texts = {tuple(x) for x in json.loads(known.read_text())} if known.exists() else set()
  kept = schemata.lines_with(ORIGINAL, texts)
  while True:
    schemata.write_headers(ORIGINAL, COPY, mutants)
    schemata.write_tests(ORIGINAL, COPY, kept)
    options = {"CMAKE_BUILD_TYPE": "Release", "CMAKE_CXX_FLAGS_RELEASE": "-DNDEBUG", "CMAKE_CXX_FLAGS": f"-w -include {COPY}/headroom_mutants.hpp", "HEADROOM_WERROR": "OFF",
               "HEADROOM_BUILD_TESTS": "ON", "HEADROOM_BUILD_EXAMPLES": "OFF", "HEADROOM_BUILD_BENCH": "OFF", "HEADROOM_INSTALL": "OFF",
               "HEADROOM_TEST_COMPILATION": "OFF", "HEADROOM_TEST_LONG": "OFF", "HEADROOM_TEST_AREAS": ";".join(areas())}
    subprocess.run(["cmake", "-S", COPY, "-B", BUILD, "-G", "Ninja", "-DCMAKE_CXX_COMPILER=g++", *(f"-D{k}={v}" for k, v in options.items())],
                   check=True, stdout=subprocess.DEVNULL)
    targets = [f"test_{a}" for a in areas()]
    done = subprocess.run(["cmake", "--build", BUILD, "--target", *targets, "-j", str(JOBS), "--", "-k", "0"], capture_output=True, text=True)
    (FOLDER / "build.log").write_text(done.stdout + done.stderr)
    if done.returncode == 0:
      return
    numbers, lines = schemata.blamed(done.stdout + done.stderr, COPY, mutants, ORIGINAL, kept)
    if not numbers and not lines:
      sys.exit(f"the tests do not build with mutants: {FOLDER / 'build.log'}")
    kept |= lines
    known.write_text(json.dumps(sorted(schemata.texts_of(ORIGINAL, kept) | texts)))
    drop(mutants, numbers)


def limited():
  resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
  resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run_area(area, mutant, limit, arguments=(), reached=None):
  """True where all tests of an area pass."""
  environment = {**os.environ, "HEADROOM_MUTANT": str(mutant)}
  if reached:
    environment["HEADROOM_MUTANTS_REACHED"] = str(reached)
  try:
    done = subprocess.run([BUILD / "tests" / f"test_{area}", *arguments], env=environment, cwd=FOLDER, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=limit, preexec_fn=limited)
  except subprocess.TimeoutExpired:
    return False
  (FOLDER / f"last_{area}.log").write_bytes(done.stdout) if not mutant else None
  return done.returncode == 0


def reach():
  """For each mutant and area: the names of the test cases that reach it and their seconds."""
  tests, totals = {}, {}
  for area in areas():
    file = FOLDER / f"reached_{area}.txt"
    if not run_area(area, 0, 1200, reached=file):
      sys.exit(f"without a mutant the tests of {area} fail: {FOLDER}/last_{area}.log")
    rows = [line.split("\t") for line in file.read_text(errors="surrogateescape").splitlines()]
    totals[area] = sum(float(row[0]) for row in rows)
    for seconds, name, numbers in rows:
      for k in map(int, numbers.split()):
        tests.setdefault(k, {}).setdefault(area, []).append((name, float(seconds)))
  print(f"  without a mutant all pass, in {sum(totals.values()):.0f} s", flush=True)
  return tests, totals


def killer(k, tests, totals):
  """The area that notices mutant k, or none. The cheapest first."""
  by_cost = sorted((sum(s for _, s in cases) if cases[0][0] else totals[area], area) for area, cases in tests.get(k, {}).items())
  for seconds, area in by_cost:
    names = {name for name, _ in tests[k][area]}
    only = [] if "" in names else ["--test-case=" + ",".join(re.sub(r"([,\\])", r"\\\1", name) for name in sorted(names))]
    if sum(map(len, only)) > 100_000:
      only = []
    if not run_area(area, k, 20 + 10 * seconds, ["--abort-after=1", "--minimal", *only]):
      return area
  return None


def main():
  count = int(os.environ.get("HEADROOM_MUTANTS", 200))
  seed = int(os.environ.get("HEADROOM_MUTANTS_SEED") or random.SystemRandom().randrange(10**6))
  pattern = os.environ.get("HEADROOM_MUTANTS_IN", "")
  FOLDER.mkdir(exist_ok=True)
  schemata.snapshot(ROOT, ORIGINAL)
  start = time.time()
  print(f"{count} mutants, HEADROOM_MUTANTS_SEED={seed}", flush=True)
  every = [p for p in places.find(ORIGINAL, unit(ORIGINAL), [*FLAGS, f"-I{ORIGINAL}/include"]) if re.search(pattern, p["file"])]
  mutants = schemata.choose(every, count, random.Random(seed))
  print(f"  {len(mutants)} of {len(every)} places, {time.time() - start:.0f} s", flush=True)
  schemata.copy_rest(ORIGINAL, COPY, len(mutants))
  compile_headers(mutants)
  build(mutants)
  print(f"  built, {time.time() - start:.0f} s", flush=True)
  tests, totals = reach()

  survivors = []
  with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
    judged = {pool.submit(killer, k, tests, totals): k for k in mutants}
    for done in concurrent.futures.as_completed(judged):
      k = judged[done]
      mutants[k]["killer"] = done.result()
      if not done.result():
        place, cases = mutants[k], sum(map(len, tests.get(k, {}).values()))
        survivors.append(k)
        print(f"survived: {place['file']}:{place['line']}: {place['what']}: {place['changed'][:100]} (reached by {cases or 'no'} tests)", flush=True)
  (FOLDER / "mutants.json").write_text(json.dumps(mutants, indent=1))
  by_folder = collections.Counter(pathlib.Path(place["file"]).parent.name for place in mutants.values())
  missed = collections.Counter(pathlib.Path(mutants[k]["file"]).parent.name for k in survivors)
  for folder, drawn in sorted(by_folder.items()):
    print(f"  {folder}: {drawn - missed[folder]} of {drawn}")
  killed = len(mutants) - len(survivors)
  print(f"mutants: {killed} of {len(mutants)} killed, {100 * killed / max(1, len(mutants)):.1f} %, seed {seed}, {time.time() - start:.0f} s")


if __name__ == "__main__":
  main()
