# Distributed under the Boost Software License, Version 1.0.
# Figures that trainers print of their own example scripts (tests/data/tables_*.jsonl): rounded, many with sample lengths or a GPU that nobody says. What is
# known of them is how far predictions are off, how many lie in their ranges, and what is refused; none may become worse unseen.
#   HEADROOM=…/headroom python3 test_tables.py
import json, os, pathlib, statistics, subprocess, unittest

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"


def records(name):
    run = subprocess.run([os.environ["HEADROOM"], "validate", str(DATA / name), "--json"], capture_output=True, text=True)
    return json.loads(run.stdout)["records"]


def judged(all_records):
    rows = [r for r in all_records if r["bound"] == "equal" and not r["refused"]]
    return statistics.median(abs(r["error"]) for r in rows), sum(r["low"] <= r["measured"] <= r["high"] for r in rows), len(rows)


class Tables(unittest.TestCase):
    def check(self, all_records, most, inside, walked):
        median, held, rows = judged(all_records)
        self.assertLessEqual(median, most)
        self.assertGreaterEqual(median, most / 2, "better than is said here: say so")
        self.assertGreaterEqual(held, inside)
        self.assertGreaterEqual(rows, walked)

    def test_memory(self):
        self.check(records("tables_measured.jsonl"), 0.14, 68, 83)

    def test_unknown_lengths(self):
        """The range of jobs that do not say how long their samples are is calibrated on the rows with an even number: these are the odd ones."""
        order = {json.loads(line)["id"]: i for i, line in enumerate((DATA / "tables_measured.jsonl").read_text().splitlines())}
        rows = [r for r in records("tables_measured.jsonl") if r["bound"] == "equal" and not r["refused"]]
        unknown = [r for r in rows if "longest_sample" in r["errors"] and order[r["id"]] % 2 == 1]
        self.assertEqual(len(unknown), 22)
        self.assertGreaterEqual(sum(r["low"] <= r["measured"] <= r["high"] for r in unknown), 20)
        packed = [r for r in rows if "pack" in r["id"] and "padded" not in r["id"]]
        self.assertGreaterEqual(len(packed), 4)
        for r in packed:  # rows that are full are of one length
            self.assertNotIn("longest_sample", r["errors"], r["id"])

    def test_time(self):
        self.check(records("tables_throughput.jsonl"), 0.165, 65, 74)

    def test_attention_over_a_million_tokens(self):
        rows = [r for r in records("tables_throughput.jsonl") if r["id"].startswith("trl6845")]
        self.assertEqual(len(rows), 3)
        for r in rows:
            self.assertLess(abs(r["error"]), 0.05, r["id"])  # 124 to 129 % too slow by FlashAttention-2's kernel

    def test_nvfp4(self):
        rows = [r for r in records("tables_throughput.jsonl") if "llama" in r["id"] and "nvfp4" in r["id"]]
        self.assertEqual(len(rows), 10)
        self.assertLess(statistics.median(abs(r["error"]) for r in rows[1::2]), 0.06)  # those that the rate is not calibrated on

    def test_one_sided(self):
        for r in records("tables_measured.jsonl"):
            self.assertFalse(r["violation"], r["id"])


if __name__ == "__main__":
    unittest.main()
