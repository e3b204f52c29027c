# Distributed under the Boost Software License, Version 1.0.
# Collects every sentence with which the library and the program refuse, from their sources, and writes examples/ERRORS.md.
#   python3 tests/docs/errors.py > examples/ERRORS.md
import pathlib, re, sys

ROOT = pathlib.Path(__file__).parents[2]

# Groups in the order of the page: a title, where the sentences stand, and what they mean and ask for. The first that a path begins with takes it.
GROUPS = [
    ("A key or a value of a job file", ["io/job/", "io/options/", "io/job_", "io/frameworks.hpp", "io/syntax/names.hpp", "io/syntax/keys.hpp", "io/syntax/json_value.hpp"],
     "A key that is not known, a value that it cannot have, or one that is missing. Write one of the values that the sentence accepts; "
     "[JOB.md](JOB.md) has every key, with its values and its default."),
    ("A job that contradicts itself", ["settle/", "layout/", "recipe/", "framework/", "hardware/", "rollout/", "fits.hpp", "bounds.hpp", "uncertainty.hpp", "report"],
     "Each key is right by itself, and together they say two things, or a thing that the framework would refuse, too. Change one of the keys that "
     "the sentence names."),
    ("A job that this version does not walk", ["engine/", "block/", "step/", "sharding/", "states/", "finished_rank.hpp", "ranks.hpp", "objection.hpp", "fragmentation.hpp", "allocator/", "replay", "cost/", "estimate.hpp", "full_report.hpp"],
     "The job may well run; what its step allocates, or how long it takes, is not modelled, and nothing is guessed. Use another of the values named, or leave out "
     "what is not walked; [LIMITS.md](LIMITS.md) says what is walked. Parameters and states are counted all the same (`headroom count`, `states()`)."),
    ("A model", ["model/", "io/huggingface", "io/counted"],
     "A shape that cannot be, or a `config.json` with a key that shapes the network and that nobody here models. Such a key is never passed over. Give "
     "the model by a name of `headroom list models`, by its configuration without that part, or as own layers ([extend.cpp](extend.cpp))."),
    ("A file of another program", ["io/launchers/", "io/import.hpp", "io/export.hpp", "io/change_spelling.hpp"],
     "A launch script or a configuration asks for something that is not read, leaves a value open, or says two things. `--env NAME=VALUE` says what a "
     "script takes from its environment, `--set KEY=VALUE` what a file leaves open, `--line N` which of several commands is meant, and `--ignore KEY` passes over a "
     "key of which you know that it takes no memory; the report then says so."),
    ("A text that is no JSON, YAML, TOML or shell", ["io/syntax/", "io/yaml.hpp", "io/toml.hpp"],
     "The file does not parse, is too large, nests too deeply, or is none. The sentence has the line. A script is read and never run: what depends on the machine it "
     "would run on is asked for."),
    ("A search, a solver or advice", ["solve/", "plan/", "diagnose/", "decide.hpp", "io/search_", "io/sweep_", "io/plan_", "io/price_", "io/diagnosis_"],
     "A key that cannot be searched or solved for, a search too large or empty, or parts of a search that do not belong together."),
    ("An answer in time", ["deadline.hpp"], "Not decided within `--seconds` or a deadline: it says nothing of the job. Ask again with more time."),
    ("A measured run, or a report to write", ["measured", "io/measured", "io/report", "io/cost_", "io/admission", "compiled/"],
     "Figures of a measured run that lack something or cannot be those of the job, or a report that cannot be written so."),
    ("Arithmetic", ["units/", "error.hpp", "name.hpp"],
     "A size beyond 63 bits, or a division by zero: an `overflow_error`. One of the job's numbers is far too large; nothing is ever cut or wrapped."),
    ("The program, its calls and its server", ["examples/"],
     "A command line, a request or a file that cannot be read or written. `headroom COMMAND --help` has the options of each command, `GET /openapi.json` the requests."),
]

HEAD = """# What headroom refuses, and what to do

Every sentence with which the library or the program stops, grouped by what is wrong. `…` stands for what is found: a key's value, a file's name, a line, the values that are
accepted. A refusal of a job is a `headroom::job_error` in C++ (`headroom.Refused` in Python, exit status 2 of the program, decision "bad input" of
an admission); a job that does not fit is none, but an answer. Where a sentence ends in a key and its value, that is the value found.

Written by [tests/docs/errors.py](../tests/docs/errors.py) from the sources, and held equal to them by a test.
"""

STRING = re.compile(r'R"(\w*)\((.*?)\)\1"|"((?:[^"\\\n]|\\.)*)"', re.S)
START = re.compile(r'\b(?:fail|no|refuse|raise<\w+>|overflowed)\s*\(|"headroom: ')


def without_comments(text):
    """The text with comments blanked; strings stay."""
    return re.sub(r'R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)\'|//[^\n]*|/\*.*?\*/',
                  lambda m: re.sub(r"[^\n]", " ", m[0]) if m[0].startswith("/") else m[0], text, flags=re.S)


def literal(match):
    raw = match[2] if match[2] is not None else match[3].encode().decode("unicode_escape").encode("latin-1").decode() if "\\" in match[3] and match[3].isascii() else match[3].replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")
    return raw


def sentence_at(text, at):
    """The string expression that begins at `at`: its literals, and … for each value between them. Ends at a comma or bracket of its own level."""
    parts, depth, i, value = [], 0, at, False
    while i < len(text):
        if depth == 0 and (m := STRING.match(text, i)):
            if value and not (parts and parts[-1] == "…"):
                parts.append("…")
            value = False
            parts.append(literal(m))
            i = m.end()
            continue
        if m := STRING.match(text, i):
            i, value = m.end(), True
            continue
        c = text[i]
        if c == "'" and (m := re.compile(r"'(?:[^'\\]|\\.)'").match(text, i)):
            i = m.end()
            continue
        if c in "([{":
            depth += 1
            value = True
        elif c in ")]}":
            if depth == 0:
                break
            depth -= 1
        elif depth == 0 and c in ",;":
            break
        elif not c.isspace() and c != "+":
            value = True
        i += 1
    if value and not (parts and parts[-1] == "…"):
        parts.append("…")
    return "".join(parts)


def sentences_of(text):
    text = without_comments(text)
    found = []
    end = -1
    for m in START.finditer(text):
        if m.start() < end:
            continue
        at = m.start() if m[0].startswith('"') else m.end()
        said = sentence_at(text, at)
        end = at + 1 if m[0].startswith('"') else m.end() if '"headroom' not in said else m.end()
        found.append(said)
        if not m[0].startswith('"'):
            continue
    return found


def rows_of(path, text):
    """Tables whose rows end a sentence: programs that are not read, families that are not built."""
    if path.endswith("launchers/other_programs.hpp"):
        for name, rest in re.findall(r'\{\.name = "([^"]+)"(.*?)\}(?=,\n|\n|\}\))', text, re.S):
            if m := re.search(r"\.instead = (.*)", rest, re.S):
                yield f"headroom: … is for {name}, which is not read by this version: " + sentence_at(m[1], 0)
    if path.endswith("huggingface/refusals.hpp"):
        for kind, reason in re.findall(r'^    \{"([\w-]+)", "([^"]+)"\},$', text, re.M):
            yield f"headroom: {kind}: {reason} (a family that is not built)"


def clean(said):
    """One line, as a person reads it; None for what is no sentence."""
    said = " ".join(said.replace("headroom: ", "", 1).split())
    said = re.sub(r"…(\s*…)+", "…", said)
    words = re.sub(r"[^\w ]", " ", said.replace("…", " ")).split()
    said = re.sub(r"; found$", "; found …", said)
    return said if len(words) > 2 and said != "the memory of an LLM training job, before it is launched" else None


def collected():
    groups = {title: set() for title, _, _ in GROUPS}
    files = [*(ROOT / "include/headroom").rglob("*.[hc]pp"), *(ROOT / "examples").glob("headroom.cpp"), *(ROOT / "examples/program").glob("*.[hc]pp"),
             *(ROOT / "examples/calls").glob("*.[hc]pp"), *(ROOT / "examples/server").glob("*.[hc]pp")]
    for file in sorted(files):
        path = str(file.relative_to(ROOT)).removeprefix("include/headroom/")
        title = next((title for title, starts, _ in GROUPS if any(path.startswith(s) for s in starts)), None)
        text = file.read_text()
        for said in [*sentences_of(text), *rows_of(path, text)]:
            if one := clean(said):
                if title is None:
                    raise SystemExit(f"{path} refuses, and no group of tests/docs/errors.py has it")
                groups[title].add(one)
    return groups


def shown(said):
    """As a line of Markdown."""
    return "- " + re.sub(r"([*<>\[\]_|#])", r"\\\1", said)


def page():
    out = [HEAD]
    groups = collected()
    for title, _, means in GROUPS:
        if groups[title]:
            out.append(f"## {title}\n\n{means}\n\n" + "\n".join(shown(s) for s in sorted(groups[title], key=lambda s: (s.startswith("…"), s.lower()))) + "\n")
    return "\n".join(out)


if __name__ == "__main__":
    sys.stdout.write(page())
