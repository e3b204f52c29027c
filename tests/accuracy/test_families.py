# Distributed under the Boost Software License, Version 1.0.
# Ranges hold for families that had no part in them: each family of measured.jsonl is judged by spreads calibrated on all others.
#   HEADROOM=…/headroom python3 test_families.py
import copy, os, pathlib, subprocess, unittest

import spreads

HERE = pathlib.Path(__file__).resolve().parent

# What lies outside, and why as far as it is known (README.md). None is out because its range leaves out a mechanism that is known.
OUTSIDE = {
    "fsdp-qlora": {"fsdpqlora-70b-qlora-off-bs2"},  # holes that wrapping left; not explained
    "litgpt": {"litgpt-hub-llama-3.2-3B-lora-1xA10G"},  # 0.5 % off
    "longlora": {"longlora-full32768"},  # grade C: unit and tool unknown
    "megatron": {
        "megatron-gpt3_15b_8t_release-h100",  # its data-parallel degree is inferred
        "megatron-gpt3_mcore_te_tp2_pp1_resume_torch_dist_te_8experts2parallel_groupedGEMM-a100",
        "megatron-gpt3_mcore_te_tp2_pp1_resume_torch_dist_te_8experts2parallel_multi_dist_optimizer_instances_1node-gb200",
        "megatron-gpt3_mcore_te_tp2_pp2_ep4_etp1_memory_speed-h100",  # routing drifts from even after the second step
        "megatron-gpt3_mcore_te_tp2_pp2_ep4_etp1_mtp_resume_torch_dist_fp8-h100",  # likewise
        "megatron-gpt3_weekly_mcore_tp4_cp2_current_scaling_native_fp8_tp_sp_cp_tp_overlap-gb200",  # 15 MiB
    },
    "peft": {"peft-full-finetuning--llama-3.2-3B-lr_0.00001"},  # empties its cache every ten steps
    "qwen": {f"qwen-qwen-7b-lora-multinode-s{n}" for n in (1024, 2048, 4096, 8192)}  # 16 bytes a logit where 6 are derived
    | {"qwen-qwen-7b-lora-s8192"},  # one tensor of 4.6 GiB finds a hole or does not
    "torchtitan": {"titan-pr1690-fsdp8"},  # how its segments were made is not known
    "torchtune": {"tune-pr527", "tune-readme2405-QLoRA-4090", "tune-readme2405-LoRA-4090"},  # grade C: sequence borrowed
}


def predicted():
    run = subprocess.run([os.environ["HEADROOM"], "validate", str(HERE / "measured.jsonl"), "--json"], capture_output=True, text=True)
    return spreads.judged_records(run.stdout)


class Families(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.records, cls.header = predicted(), spreads.lines_of_header()

    def test_ranges_of_95_percent_hold_93_of_families_left_out(self):
        self.assertEqual(len(self.records), 324)
        outside = 0
        for family, own, out, _ in spreads.left_out(self.records, self.header):
            outside += len(out)
            with self.subTest(family):
                self.assertLessEqual({r["id"] for r in out}, OUTSIDE.get(family, set()))
        self.assertGreaterEqual(1 - outside / len(self.records), 0.93)
        # Where a mechanism of which no run is left were said to cost the least that is stated of any.
        least = sum(len(out) for _, _, out, _ in spreads.left_out(self.records, self.header, None))
        self.assertGreaterEqual(1 - least / len(self.records), 0.915)

    def test_a_family_has_no_part_in_its_own_ranges(self):
        moved = copy.deepcopy(self.records)
        for r in moved:
            if r["family"] == "qwen":
                r["measured"] *= 3
        for family in ("qwen", "torchtune"):
            same = spreads.spreads_without(family, moved, self.header) == spreads.spreads_without(family, self.records, self.header)
            self.assertEqual(same, family == "qwen", family)

    def test_a_mechanism_that_one_family_alone_speaks_of_is_one_without_a_record_when_it_is_left_out(self):
        def without(family):
            return spreads.spreads_without(family, self.records, self.header)

        self.assertEqual(without("fms")["adapter_units"], (50, 200))
        self.assertEqual(without("qwen")["stage3_gathers"], (50, 200))
        self.assertNotEqual(without("litgpt")["adapter_units"], (50, 200))
        for line in ("eager_stages", "methods"):  # what the header says of mechanisms hardly any run was compared with
            self.assertEqual(self.header[line], spreads.UNMEASURED)

    def test_a_spread_is_what_makes_four_of_five_records_lie_where_four_of_five_are_expected(self):
        # Errors of 1 to 9 % of what was predicted, and one line proportional to that: eight of ten values (the tenth is the next one) are at most
        # 8 %, where Student's t with four degrees of freedom has 80 % at 1.533 deviations: 52.2 thousandths, rounded up to fives.
        rows = [{"family": "torchtune", "metric": "allocated", "grade": "A", "predicted": 1e9, "unreplayed": 1e9, "measured": 1e9 * (1 + n / 100),
                 "errors": {"recipe": 1e9, "replay_order": 0}, "bound": "equal"} for n in range(1, 10)]
        self.assertEqual(spreads.calibrate(rows, rows, self.header)["recipe"], (55, 55))
        self.assertTrue(spreads.is_inside(rows[8], {"recipe": (33, 33), "replay_order": (0, 0)}))  # 2.776 * 3.3 % = 9.16 %
        self.assertFalse(spreads.is_inside(rows[8], {"recipe": (33, 32), "replay_order": (0, 0)}))  # 8.88 %


if __name__ == "__main__":
    unittest.main()
