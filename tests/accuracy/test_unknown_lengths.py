# Distributed under the Boost Software License, Version 1.0.
# Ranges of jobs whose samples' lengths nobody knows hold for families that had no part in them: each is judged by spreads calibrated on all others.
#   HEADROOM=…/headroom python3 test_unknown_lengths.py
import json, os, pathlib, subprocess, tempfile, unittest

import spreads

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
RUNS = "swift-2024-01"  # ms-swift's table over one data set (swift_lengths.jsonl); all other families are figures of recipes (tables_measured.jsonl)

# What lies outside, and why as far as it is known.
OUTSIDE = {
    "axolotl": {"axolotl-ministral-8b-qlora"},  # a "~" figure below one of the same recipe for a smaller model (9.8 of 11.3 GiB for 7B); not explained
    # 20 steps of Alpaca, whose samples are mostly far below its 512 tokens; few rows of other families say how much less shorter samples take.
    "liger": {"liger-gemma-7b-b32-plain", "liger-gemma-7b-b64-liger", "liger-qwen2-7b-b32-plain"},
    "swift-examples": {"swift-ex-train-tuners-dora-train"},  # 7 % less than predicted, where other recipes take more
}


def validated(path):
    run = subprocess.run([os.environ["HEADROOM"], "validate", str(path), "--json"], capture_output=True, text=True)
    return [r for r in spreads.judged_records(run.stdout) if "longest_sample" in r["errors"]]


def unknown(lines, into):
    """The same runs, of whose lengths nothing is said."""
    for line in lines:
        r = json.loads(line)
        r["job"]["batch"]["lengths"] = {"unknown": True}
        into.write(json.dumps(r) + "\n")
    into.flush()


class UnknownLengths(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.header = spreads.lines_of_header()
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            unknown((DATA / "swift_lengths.jsonl").read_text().splitlines(), file)
            cls.runs = validated(file.name)
        cls.tables = validated(DATA / "tables_measured.jsonl")

    def test_the_header_has_what_half_of_the_rows_say(self):
        found = spreads.unknown_lengths(self.tables[::2] + self.runs[::2], self.header, RUNS)
        for line in spreads.OF_UNKNOWN_LENGTHS:
            self.assertLess(abs(found[line][1] / self.header[line][1] - 1), 0.12, (line, found[line]))
        # How far below hangs on few rows (0 to 98 thousandths, by which family is left out): the header's stays the wider one.
        self.assertGreaterEqual(self.header["longest_sample"][0], found["longest_sample"][0])

    def test_ranges_of_95_percent_hold_90_of_families_left_out(self):
        records = self.tables + self.runs
        self.assertEqual(len(self.runs), 27)
        self.assertGreaterEqual(len(self.tables), 45)
        families = sorted({r["family"] for r in records})
        self.assertEqual(families, ["axolotl", "liger", RUNS, "swift-examples", "swift-npu"])
        outside = 0
        for family in families:
            lines = spreads.unknown_lengths([r for r in records if r["family"] != family], self.header, RUNS)
            out = {r["id"] for r in records if r["family"] == family and not spreads.is_inside(r, lines)}
            outside += len(out)
            with self.subTest(family):
                self.assertLessEqual(out, OUTSIDE.get(family, set()))
        self.assertGreaterEqual(1 - outside / len(records), 0.93)

    def test_without_these_lines_half_as_many_are_inside(self):
        plain = {**self.header, **{line: (0, 0) for line in spreads.OF_UNKNOWN_LENGTHS}}
        self.assertLess(sum(spreads.is_inside(r, plain) for r in self.tables + self.runs), 36)


if __name__ == "__main__":
    unittest.main()
