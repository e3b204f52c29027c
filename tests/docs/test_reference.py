# Distributed under the Boost Software License, Version 1.0.
# The reference is whole: every name that a user may call or write has a sentence, with its errors and units; examples/ERRORS.md has every refusal.
# HEADROOM_PAGES=1: Doxygen makes pages of it without a warning, which have every one of these names.
#   python3 test_reference.py
import os, pathlib, re, shutil, subprocess, sys, tempfile, unittest

import errors
from public_names import public_names, without_template

ROOT = pathlib.Path(__file__).parents[2]
LIBRARY = ROOT / "include/headroom"

# All of the core, and of io/ what users include and what the map names as something to call.
REFUSES = re.compile(r"\b(?:refuse|fail|overflowed|wrong_value|unknown_name)\(|\bthrow\b")
ERRORS = re.compile(r"\bErrors?:|[Tt]hrows|[Rr]efuse|_error")
UNITS = re.compile(r"pairs|[Ff]eatures|counts|tiles|second|share|times|ratio|multiple|bits|byte|FLOP|currency|money|days|token|metric|rate|of what there is|thousandth|per cent|%", re.I)


def front():
    """The headers that a user may include, as paths in include/headroom."""
    called = (LIBRARY / "README.md").read_text().split("## What there is to call")[1].split("\n## ")[0]
    named = set(re.findall(r"`([a-z_/]+\.hpp)`", called))
    paths = sorted(str(p.relative_to(LIBRARY)) for p in LIBRARY.rglob("*.hpp"))
    return [p for p in paths if p in named or not p.startswith("io/") or p.count("/") == 1]


class TheReference(unittest.TestCase):
    names = [d for p in front() for d in public_names(p, (LIBRARY / p).read_text())]

    def test_every_name_has_a_sentence(self):
        self.assertGreater(len(self.names), 1200)
        self.assertEqual([f"{d.file}:{d.line} {d.name}" for d in self.names if not d.doc], [])

    def test_what_refuses_says_so(self):
        silent = [f"{d.file}:{d.line} {d.name}" for d in self.names if d.kind == "function" and REFUSES.search(d.body) and not ERRORS.search(d.doc)]
        self.assertEqual(silent, [], "a function that refuses says with which error and when: /// Errors: …")

    def test_real_numbers_have_units(self):
        bare = []
        for d in self.names:
            if d.kind == "function" and re.search(r"\bdouble\s+\w+\(", d.head) and not UNITS.search(d.doc + d.name):
                bare.append(f"{d.file}:{d.line} {d.name}()")
            if d.kind == "type":
                for name, rest in re.findall(r"^  double (\w+)[^;(]*;(.*)$", d.body, re.M):
                    if "///<" not in rest and not UNITS.search(d.doc + name + d.name):
                        bare.append(f"{d.file}:{d.line} {d.name}::{name}")
        self.assertEqual(bare, [], "a double says what it is counted in")

    def test_what_is_not_described_is_seen(self):
        text = """
namespace headroom {
/// A number of bytes.
struct good { double seconds{}; };
struct bad {
  int x{};
  void f() { refuse("no"); }
};
/// Two of a kind.
constexpr int one(int a) { return a; }
constexpr int two(int a) { return a; }

template <class T>
constexpr T three(T a = {}) {
  if (a) refuse("headroom: no");
  return a;
}
inline constexpr auto four = [] { return 4; }();
enum class five { a, b };
namespace detail { struct hidden {}; }
/// All of them.
namespace tens {
inline constexpr int ten = 10;
}
struct good;
constexpr bool operator==(good, good) { return true; }
}
"""
        found = public_names("x.hpp", text)
        self.assertEqual([d.name for d in found], ["good", "bad", "one", "two", "three", "four", "five", "ten"])
        self.assertEqual([d.name for d in found if not d.doc], ["bad", "three", "four", "five"])
        self.assertEqual([d.kind for d in found], ["type", "type", "function", "function", "function", "value", "type", "value"])
        self.assertTrue(REFUSES.search(found[4].body))


class TheErrors(unittest.TestCase):
    def test_the_page_has_every_refusal(self):
        self.assertEqual((ROOT / "examples/ERRORS.md").read_text(), errors.page(), "python3 tests/docs/errors.py > examples/ERRORS.md")

    def test_sentences_are_read_from_sources(self):
        text = '''
  // refuse("headroom: in a comment");
  if (x) refuse("headroom: the batch must be " "positive; batch.micro", j.batch.micro);
  fail("headroom: " + path + " must be " + listed(names, "a, b") + ", found \\"" + shown(v) + "\\"");
  std::string begin = "headroom: a beginning of " + name;
  fail(place + what + " is not modelled by this version");
  return no("headroom: one of three (" "1, 2 or 3)");
'''
        said = [one for s in errors.sentences_of(text) if (one := errors.clean(s))]
        self.assertEqual(sorted(set(said)), sorted(["the batch must be positive; batch.micro", '… must be …, found "…"', "a beginning of …", "… is not modelled by this version",
                                                    "one of three (1, 2 or 3)"]))

    def test_no_refusal_is_left_out(self):
        """Counted in another way: each literal that begins with "headroom: " stands on the page, up to its first value."""
        page = (ROOT / "examples/ERRORS.md").read_text().replace("\\", "")
        for file in (ROOT / "include/headroom").rglob("*.hpp"):
            for literal in re.findall(r'\b(?:refuse|no)\("headroom: ([^"\\\n]+)"', file.read_text()):
                self.assertIn(literal.strip().replace("\\", ""), page, str(file))


@unittest.skipUnless(os.environ.get("HEADROOM_PAGES"), "`sh tests/run.sh reference` makes the pages")
class ThePages(unittest.TestCase):
    def test_doxygen_makes_pages_of_every_name(self):
        with tempfile.TemporaryDirectory() as folder:
            settings = (ROOT / ".github/Doxyfile").read_text() + f"\nOUTPUT_DIRECTORY = {folder}\n"
            run = subprocess.run([shutil.which("doxygen") or "doxygen", "-"], input=settings, cwd=ROOT, capture_output=True, text=True, timeout=300)
            self.assertEqual(run.returncode, 0, run.stderr)
            warnings = [line for line in run.stderr.splitlines() if not re.search(r"\.md:\d+: warning: unable to resolve reference", line)]  # links out of the reference
            self.assertEqual(warnings, [])
            html = pathlib.Path(folder) / "html"
            shown = set(re.findall(r">([A-Za-z_]\w*)<", "".join(p.read_text() for p in [*html.glob("namespace*.html"), html / "annotated.html"])))
            self.assertEqual({d.name for d in TheReference.names if d.kind in ("type", "function")} - shown - {""}, set())
            described = {p.stem.rpartition("_1_1")[2].replace("__", "_") for p in [*html.glob("struct*.html"), *html.glob("class*.html")]}
            self.assertEqual({d.name for d in TheReference.names if re.match(r"(?:struct|class)\b", without_template(d.head))} - described, set())
            self.assertIn("What headroom refuses", "".join(p.read_text() for p in html.glob("md_*ERRORS.html")))


if __name__ == "__main__":
    unittest.main()
