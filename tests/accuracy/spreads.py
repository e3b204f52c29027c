#!/usr/bin/env python3
"""Calibrates the spreads of include/headroom/uncertainty.hpp on half of the measured records and judges it by the other half.

    cd tests/accuracy; for f in measured measured_here trainer_measured trainer_expandable; do headroom validate $f.jsonl --json; done | python3 spreads.py [--names] [--families]

--families: each family judged by spreads that it had no part in (test_families.py holds it).

Records are taken in the order of the file; the first, third, fifth, … of each family and metric are calibrated on, and all of a line's
records where half of them are fewer than eight. A spread (one standard deviation) is what makes 80 % of its records, and of one more, lie
where Student's t with four degrees of freedom has 80 % (SHARES: or more), given the spreads calibrated before it. Lines that are not listed here are
derived, and taken from the header as they are."""
import json
import math
import pathlib
import re
import statistics
import sys

LINES = re.compile(r"\{\w+, \"(\w+)\", \w+, error_base::\w+, (-?[\d']+), (-?[\d']+)\}")
HEADER = pathlib.Path(__file__).resolve().parents[2] / "include/headroom/uncertainty.hpp"
QUANTILES = {50: 0.741, 60: 0.941, 70: 1.190, 80: 1.533, 90: 2.132, 95: 2.776, 98: 3.747, 99: 4.604}


# In percent, where a line is not made of 80 % of its records. A decision of the allocator is worth a whole tensor, or nothing: what a replay's order leaves open has
# longer tails than Student's t, and four of five runs of our own are within 1.5 %.
SHARES = {"replay_order": 95}


def live(r):
    return r["metric"] in ("allocated", "active")


def has(r, source):
    return source in r["errors"]


# Source of error; how far it reaches below and above, in proportion; the least that is said of it; its records. Of routing 0.15: a busy rank
# computes up to 1.4 times its share (uncertainty.hpp), two or three standard deviations.
CALIBRATED = [
    ("tensors", 1, 1, 5, lambda r: r["family"] in ("megatron", "simumax", "litgpt") and not any(has(r, s) for s in ("routing", "sample_lengths"))),
    ("recipe", 1, 1, 30, lambda r: r["family"] in ("torchtune", "bridge")),
    ("adapter_base", 1, 1, 20, lambda r: r["family"] == "fms" and not has(r, "adapter_units")),
    ("adapter_units", 0.2, 1, 30, lambda r: r["family"] == "fms"),
    ("sample_lengths", 1, 0, 50, lambda r: r["family"] == "litgpt"),
    ("gather_windows", 1, 1, 50, lambda r: live(r) and not has(r, "routing") and r["errors"]["gather_windows"] > 0.03 * r["predicted"]),
    ("routing", 0.2, 1, 150, lambda r: live(r) and not has(r, "moment_copies")),
    ("replay_order", 1, 1, 30, lambda r: r["metric"] == "reserved"),
    ("stream_pools", 1, 1, 30, lambda r: r["metric"] == "reserved" and not has(r, "compiler")),
    ("compiler", 1, 1, 40, lambda r: r["family"] in ("torchtune", "torchtitan") and not has(r, "eager_stages")),
    ("fp8_tensors", 1, 1, 20, lambda r: r["family"] == "torchtitan" and not has(r, "eager_stages")),
    ("driver_reading", 1, 1, 20, lambda r: not has(r, "stage3_gathers")),
    ("stage3_gathers", 0, 1, 50, lambda r: r["family"] == "qwen"),
]


def deviation(r, spreads, side):
    return math.sqrt(sum((spreads[s][side] / 1000 * base) ** 2 for s, base in r["errors"].items()))


def needed(r, spreads, source, weights):
    """Of one record: the spread with which it would lie exactly where Student's t has 80 %, or the line's share."""
    t = QUANTILES[SHARES.get(source, 80)]
    error = r["measured"] - r["predicted"]
    side = int(error > 0)
    if weights[side] == 0:
        return 0.0
    others = deviation(r, {**spreads, source: (0, 0)}, side)
    return 1000 * math.sqrt(max(0.0, (error / t) ** 2 - others**2)) / (r["errors"][source] * weights[side])


def quantile(values, share=80):
    """Below which one more value would lie with a chance of so many percent."""
    return sorted(values)[min(math.ceil(share * (len(values) + 1) / 100), len(values)) - 1]


def calibrate(half, records, header, say=lambda *_: None):
    spreads = {s: (0, 0) if any(s == c[0] for c in CALIBRATED) else v for s, v in header.items()}
    replayed = [r["predicted"] / r["unreplayed"] - 1 for r in half if has(r, "replay_order")]
    spreads["fragmentation"] = (0, 5 * math.ceil(200 * quantile(replayed) / QUANTILES[80]))
    for turn in range(3):
        for source, below, above, least, chosen in CALIBRATED:
            for taken in (half, records):
                rows = [r for r in taken if r["grade"] < "C" and r["errors"].get(source, 0) > 0 and chosen(r)]
                if len(rows) >= 8:
                    break
            scale = max(least, quantile([needed(r, spreads, source, (below, above)) for r in rows], SHARES.get(source, 80)) if rows else 0)
            scale = 5 * math.ceil(scale / 5)
            spreads[source] = (round(scale * below), round(scale * above))
            if turn == 2:
                say(source, rows)
    return spreads


def judged(records, spreads, t):
    inside, widths = 0, []
    for r in records:
        low, high = (sign * t * deviation(r, spreads, side) for side, sign in ((0, -1), (1, 1)))
        inside += low <= r["measured"] - r["predicted"] <= high
        widths.append((min(-low, r["predicted"]) + high) / r["predicted"])
    return f"{inside / len(records):7.1%} inside, median width {statistics.median(widths):6.1%}"


# What is said of a mechanism that no run was compared with, below and above: as of pipelines of eager layers and of training methods
# (uncertainty.hpp, eager_stages and methods).
UNMEASURED = (50, 200)
# ... or what the header derives of its like: samples that are shorter than the longest only take less, at most all that grows with their length.
LIKE = {"sample_lengths": "generated_lengths"}


def spreads_without(family, records, header, unmeasured=UNMEASURED):
    """Calibrated on the records of all other families; a line of which none of them has a record is one that no run was compared with."""
    others = [r for r in records if r["family"] != family]
    spreads = calibrate(others, others, header)
    for source, *_, chosen in CALIBRATED:
        if unmeasured and not any(r["grade"] < "C" and r["errors"].get(source, 0) > 0 and chosen(r) for r in others):
            spreads[source] = header[LIKE[source]] if source in LIKE else unmeasured
    return spreads


OF_UNKNOWN_LENGTHS = ("longest_sample", "unknown_lengths", "program_beside")


def unknown_lengths(records, header, runs):
    """The three lines of jobs whose samples' lengths nobody knows. Of recipes' figures: how far below, and of `allocated` how far above. Then what lengths
    leave cached, of the family `runs`, whose data set is one; what a process has beside, of all other figures. Where a line has no record it is taken from
    what records of reserved memory there are, or it is a mechanism that no run was compared with."""
    of_runs = lambda r: r["family"] == runs
    chosen = (
        ("longest_sample", 0, lambda r: not of_runs(r)),
        ("longest_sample", 1, lambda r: r["metric"] == "allocated"),
        ("unknown_lengths", 1, of_runs),
        ("program_beside", 1, lambda r: not of_runs(r) and r["metric"] != "allocated"),
    )
    spreads = {**header, **{line: (0, 0) for line in OF_UNKNOWN_LENGTHS}}
    for _ in range(3):
        for line, side, speaks in chosen:
            rows = [r for r in records if r["errors"].get(line, 0) > 0]
            rows = [r for r in rows if speaks(r)] or [r for r in rows if line != "longest_sample"]
            values = [needed(r, spreads, line, (1, 1)) if (r["measured"] > r["predicted"]) == (side == 1) else 0.0 for r in rows]
            found = list(spreads[line])
            found[side] = quantile(values) if values else UNMEASURED[side]
            spreads[line] = tuple(found)
    return spreads


def is_inside(r, spreads, t=QUANTILES[95]):
    error = r["measured"] - r["predicted"]
    return abs(error) <= t * deviation(r, spreads, int(error > 0))


def left_out(records, header, unmeasured=UNMEASURED):
    """Of each family: its records, those outside their range of 95 %, and the spreads by which, in which it had no part."""
    for family in sorted({r["family"] for r in records}):
        own = [r for r in records if r["family"] == family]
        spreads = spreads_without(family, records, header, unmeasured)
        yield family, own, [r for r in own if not is_inside(r, spreads)], spreads


def by_class(records, models):
    """The Trainer's runs are one stack of a hundred model classes, each with code of its own: each class as a family. `models`: by record, what the job says of its."""
    return [{**r, "family": f"{r['family']}:{models[r['id']]}"} if r["id"] in models else r for r in records]


def leave_out_each(records, header):
    outside = 0
    for family, own, out, spreads in left_out(records, header):
        outside += len(out)
        print(f"  {family:16s} {len(own) - len(out)} of {len(own)}, {judged(own, spreads, QUANTILES[95])}")
        for r in out if "--names" in sys.argv else ():
            print(f"    {r['id']}  {r['measured'] / r['predicted'] - 1:+.2%}")
    inside = len(records) - outside
    print(f"  {inside} of {len(records)}: {inside / len(records):.1%}")
    least = sum(len(out) for _, _, out, _ in left_out(records, header, None))
    print(f"  lines without a record at the least that is stated: {1 - least / len(records):.1%}")


def lines_of_header():
    return {s: (int(b.replace("'", "")), int(a.replace("'", ""))) for s, b, a in LINES.findall(HEADER.read_text())}


def judged_records(text):
    """Of what `validate --json` printed, once or several times."""
    found, at, text = [], 0, text.strip()
    while at < len(text):
        one, end = json.JSONDecoder().raw_decode(text, at)
        found += [r for r in one["records"] if r["bound"] == "equal" and not r["refused"]]
        at = end + len(text[end:]) - len(text[end:].lstrip())
    return found


def halves_of(records):
    seen, halves = {}, ([], [])
    for r in records:
        n = seen[r["family"], r["metric"]] = seen.get((r["family"], r["metric"]), -1) + 1
        halves[n % 2].append(r)
    return halves


def main():
    header = lines_of_header()
    records = judged_records(sys.stdin.read())
    halves = halves_of(records)

    def say(source, rows):
        print(f"{source}: {len(rows)} records")
        if "--names" in sys.argv:
            for r in rows:
                print(f"    {r['id']}  {r['measured'] / r['predicted'] - 1:+.2%}")

    if "--families" in sys.argv:
        print("at 95 %, each family by spreads that it had no part in:")
        return leave_out_each(records, header)
    found = calibrate(halves[0], records, header, say)
    swapped = calibrate(halves[1], records, header)
    print("\nsource            calibrated   other half   header")
    for source, calibrated in found.items():
        three = ["{:>6d} {:<6d}".format(*of[source]) for of in (found, swapped, header)]
        print(f"{source:16s}", *three, "" if header[source] == calibrated else "<- differs")
    print("\nat 95 %, by the spreads in the header:")
    for name, rows in (("calibrated on", halves[0]), ("the other half", halves[1]), ("all", records)):
        print(f"  {name:16s} {len(rows):4d} records {judged(rows, header, QUANTILES[95])}")
    print("at 95 %, by those found now:")
    for name, rows in (("calibrated on", halves[0]), ("the other half", halves[1]), ("all", records)):
        print(f"  {name:16s} {len(rows):4d} records {judged(rows, found, QUANTILES[95])}")
    print("the halves swapped:")
    for name, rows in (("calibrated on", halves[1]), ("the other half", halves[0]), ("all", records)):
        print(f"  {name:16s} {len(rows):4d} records {judged(rows, swapped, QUANTILES[95])}")
    print("at other confidences, all records, those found now:")
    for share, t in QUANTILES.items():
        print(f"  {share} %: {judged(records, found, t)}")


if __name__ == "__main__":
    main()
