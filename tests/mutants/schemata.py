# Distributed under the Boost Software License, Version 1.0.
"""A copy of the sources in which every chosen place has both forms, and a number in the environment says which one runs.

(a + b) becomes (headroom_mutants::on(17) ? (a - b) : (a + b)). In a constant expression on() is false, so what only a compiler evaluates is as
ever. No line moves, so that a compiler's error names the mutant that it is about.
"""

import collections
import pathlib
import re
import shutil

SWITCH = """#pragma once
namespace headroom_mutants {
extern int active;
extern unsigned char reached[];
constexpr bool on(int k) {
  if (__builtin_is_constant_evaluated()) return false;
  reached[k] = 1;
  return active == k;
}
}  // namespace headroom_mutants
"""


def snapshot(root, original):
  """The sources as they are now: who edits them later does not move the places."""
  shutil.rmtree(original, ignore_errors=True)
  for name in ("include", "tests", "examples"):
    shutil.copytree(root / name, original / name, ignore=shutil.ignore_patterns("__pycache__"))
  for name in ("CMakeLists.txt", "CMakePresets.json"):
    shutil.copy(root / name, original / name)


def choose(places, count, random):
  """As many places as asked for, none of which overlaps another."""
  chosen, taken = [], collections.defaultdict(list)
  for place in random.sample(places, len(places)):
    spans = taken[place["file"]]
    if all(place["end"] <= begin or place["begin"] >= end for begin, end in spans):
      spans.append((place["begin"], place["end"]))
      chosen.append(place)
      if len(chosen) == count:
        break
  return {k: place for k, place in enumerate(chosen, 1)}


def write_headers(root, copy, mutants):
  """Writes the headers with these mutants. A file that is as it was keeps its time, so that what includes it is not compiled again."""
  by_file = collections.defaultdict(list)
  for k, place in mutants.items():
    by_file[place["file"]].append((place["begin"], place["end"], k, place))
  for source in (root / "include").rglob("*"):
    if source.is_dir():
      continue
    name = str(source.relative_to(root))
    text = source.read_bytes().decode("latin-1")
    for begin, end, k, place in sorted(by_file[name], key=lambda x: -x[0]):
      was = text[begin:end]
      if place["what"] == "statement dropped":
        both = f"(headroom_mutants::on({k}) ? void() : void({was}))"
      elif place["what"] == "condition negated":
        both = f"(headroom_mutants::on({k}) ? {place['changed']} : static_cast<bool>({was}))"
      else:
        both = f"(headroom_mutants::on({k}) ? ({place['changed']}) : ({was}))"
      text = text[:begin] + both + text[end:]
    write(copy / name, text)


def write(path, text):
  raw = text.encode("latin-1")
  if not path.exists() or path.read_bytes() != raw:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)


def copy_rest(root, copy, count):
  """Everything else, with the tests' main replaced. What is no longer there goes."""
  for old in [p for p in copy.rglob("*") if p.is_file() and not (root / p.relative_to(copy)).exists()]:
    old.unlink()
  for name in ("CMakeLists.txt", "CMakePresets.json"):
    write(copy / name, (root / name).read_bytes().decode("latin-1"))
  for folder in ("tests", "examples"):
    for source in (root / folder).rglob("*"):
      if source.is_file() and not re.search(r"/tests/\w+/test_\w+\.cpp$|/both\.hpp$", str(source)):  # write_tests() has these
        write(copy / source.relative_to(root), source.read_bytes().decode("latin-1"))
  write(copy / "tests" / "main.cpp", f"#define HEADROOM_MUTANTS {count}\n" + (root / "tests/mutants/main.cpp").read_bytes().decode("latin-1"))
  write(copy / "headroom_mutants.hpp", SWITCH)


# What a test has evaluated by the compiler is evaluated while it runs, too.

STATIC = re.compile(r"^( *)static_assert\((.*)\);(?: *//.*)?$")
LOCAL = re.compile(r"^( +)constexpr ((?!std::|int |bool |double |char )[\w:]+ \w+(?: = |\{).*)$")


def run_time_line(line, name, number):
  """The line of a test, with what it asks of the compiler asked while it runs."""
  found = STATIC.match(line)
  if found and not re.search(r'_v<|own_|sizeof|alignof|require_fits|", |"$', found[2]):
    check = f"CHECK(({found[2]}));"
    return found[1] + check if found[1] else f'TEST_CASE("constant {name}:{number}") {{ {check} }}'
  found = LOCAL.match(line)
  return found[1] + found[2] if found else line


def texts_of(root, lines):
  """Lines (file, number) as (file, text)."""
  return {(name, (root / name).read_text("latin-1").split("\n")[number - 1]) for name, number in lines}


def lines_with(root, texts):
  """The lines (file, number) that have these texts (file, text)."""
  return {(name, i) for name in {n for n, _ in texts} if (root / name).exists()
          for i, line in enumerate((root / name).read_text("latin-1").split("\n"), 1) if (name, line) in texts}


def write_tests(root, copy, kept):
  """The test files that way, apart from lines (file, number) in kept, which a compiler must evaluate, and from tests that start the program."""
  for source in (root / "tests").glob("*/test_*.cpp"):
    name = str(source.relative_to(root))
    lines = source.read_bytes().decode("latin-1").split("\n")
    if any("program.hpp" in line for line in lines):
      continue
    doctests = any("doctest.h" in line or "both.hpp" in line for line in lines)
    lines = [line if (name, i) in kept or not doctests else run_time_line(line, source.name, i) for i, line in enumerate(lines, 1)]
    write(copy / name, "\n".join(lines))
  both = (root / "tests/both.hpp").read_bytes().decode("latin-1")
  write(copy / "tests/both.hpp", both.replace("static_assert(__VA_ARGS__);", "                            "))


def blamed(output, copy, mutants, root, kept=frozenset()):
  """What a compiler's output complains about: numbers of mutants, and lines of tests that were changed. Those in kept are not any more: where
  an error names no other, what its notes name is to blame."""
  numbers, lines = set(), set()
  at = collections.defaultdict(set)
  for k, place in mutants.items():
    last = place["line"] + (root / place["file"]).read_bytes()[place["begin"]:place["end"]].count(b"\n")
    for line in range(place["line"], last + 1):
      at[place["file"], line].add(k)
  complaints = [m.groups() for m in re.finditer(rf"{re.escape(str(copy))}/([\w./-]+):(\d+):(?:\d+:)? (error|fatal error|note|required)?", output)]
  for strict in (True, False):
    for name, number, kind in complaints:
      if strict and kind not in ("error", "fatal error"):
        continue
      numbers |= at[name, int(number)]
      source = root / name
      if name.startswith("tests/") and source.exists():
        text = source.read_bytes().decode("latin-1").split("\n")
        if (name, int(number)) not in kept and int(number) <= len(text) and run_time_line(text[int(number) - 1], "", 0) != text[int(number) - 1]:
          lines.add((name, int(number)))
    if numbers or lines:
      break
  return numbers, lines
