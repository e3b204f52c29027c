# Distributed under the Boost Software License, Version 1.0.
# The library for C, as other languages load it: the program's own answers, from many threads, and a sentence for everything hostile.
#   HEADROOM=…/headroom HEADROOM_LIBRARY=…/libheadroom.so python3 test_c_interface.py
import ctypes, json, math, os, pathlib, random, resource, subprocess, sys, tempfile, unittest
from concurrent.futures import ThreadPoolExecutor

JOBS = sorted((pathlib.Path(__file__).parents[2] / "examples/jobs").glob("*.json"))
FITS, DOES_NOT_FIT, BAD_INPUT = range(3)
NOT_DECIDED = 4

library = ctypes.CDLL(os.environ["HEADROOM_LIBRARY"])
library.headroom_admit.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_double, ctypes.POINTER(ctypes.c_void_p)]
library.headroom_admit_within.argtypes = [*library.headroom_admit.argtypes[:4], ctypes.c_double, ctypes.POINTER(ctypes.c_void_p)]
library.headroom_free.argtypes = [ctypes.c_void_p]
library.headroom_version.restype = ctypes.c_char_p


def admit(job, folder=None, confidence=0.0):
    """The decision, and the answer as a dictionary."""
    text = job if isinstance(job, bytes) or job is None else job.encode()
    answer = ctypes.c_void_p()
    decision = library.headroom_admit(text, len(text or b""), folder and str(folder).encode(), confidence, ctypes.byref(answer))
    try:
        return decision, json.loads(ctypes.string_at(answer).decode("utf-8"))
    finally:
        library.headroom_free(answer)


def mutated(text, dice):
    """A job file as somebody in a hurry, or with bad intentions, would leave it."""
    at, to = sorted(dice.randrange(len(text) + 1) for _ in range(2))
    word = dice.choice([b"-1", b"0", b"1e30", b"9223372036854775807", b"18446744073709551616", b"1" * 400, b"0.5", b"null", b"[]", b"{}", b"NaN",
                        b"true", b'""', b'"\\u0000"', b'"../../../../etc/passwd"', b'"/dev/zero"', b'"\xff\xfe"', b'"auto"', b'"' + b"x" * 5000 + b'"'])
    numbers = [i for i in range(len(text)) if text[i:i + 1].isdigit() and not text[i - 1:i].isalnum()]
    return dice.choice([
        lambda: text[:at],
        lambda: text[:at] + text[to:],
        lambda: text[:at] + bytes(dice.randrange(256) for _ in range(dice.randrange(1, 9))) + text[at:],
        lambda: text[:at] + b"[" * dice.choice([10, 1000, 100000]) + text[at:],
        lambda: text[:at] + text[at:to] * 3 + text[to:],
        lambda: b'{"model": {"base": ' * dice.choice([2, 500]) + text,
        lambda: text.replace(b"{", b'{"model": "gpt2", ', dice.randrange(1, 3)),
        lambda: (lambda i: text[:i] + word + text[i + 1:])(dice.choice(numbers)) if numbers else word,
        lambda: text[:at] + word + text[to:],
    ])()


class Admission(unittest.TestCase):
    def test_answers_are_those_of_the_program(self):
        for file in JOBS:
            with self.subTest(file.name):
                run = subprocess.run([os.environ["HEADROOM"], "estimate", file, "--json"], capture_output=True)
                decision, answer = admit(file.read_bytes(), file.parent)
                self.assertEqual(decision, run.returncode)
                report = json.loads(run.stdout)
                self.assertEqual({k: answer.get(k) for k in ("ranks", "host", "nvme", "parameters", "fits", "assumptions")},
                                 {k: report.get(k) for k in ("ranks", "host", "nvme", "parameters", "fits", "assumptions")})

    def test_without_time_there_is_no_decision(self):
        text = JOBS[0].read_bytes()
        for seconds, expected in ((0.0, NOT_DECIDED), (600.0, admit(text)[0])):
            answer = ctypes.c_void_p()
            self.assertEqual(library.headroom_admit_within(text, len(text), None, 0.0, seconds, ctypes.byref(answer)), expected)
            said = json.loads(ctypes.string_at(answer))
            library.headroom_free(answer)
            if expected == NOT_DECIDED:
                self.assertEqual(said, {"decision": "not decided", "sentence": "headroom: not decided: there was no time left for an answer"})

    def test_a_confidence_is_stricter_than_the_prediction(self):
        for file in JOBS:
            by_prediction, surely = admit(file.read_bytes())[0], admit(file.read_bytes(), confidence=0.999)[0]
            self.assertGreaterEqual(surely, by_prediction)
        for share in (2.0, -1.0, 0.2, math.nan, math.inf):
            decision, answer = admit(JOBS[0].read_bytes(), confidence=share)
            self.assertEqual(decision, BAD_INPUT)
            self.assertIn("confidence must be a share from 0.5 to 0.999", answer["sentence"])

    def test_no_job_is_bad_input(self):
        for nothing in (None, b"", b" ", b"\0"):
            decision, answer = admit(nothing)
            self.assertEqual(decision, BAD_INPUT)
            self.assertTrue(answer["sentence"].startswith("headroom: "), answer)
        self.assertEqual(library.headroom_admit(b"{}", 2, None, 0.0, None), BAD_INPUT)

    def test_files_are_read_below_a_folder_that_was_named_and_nowhere_else(self):
        config = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 256}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "config.json"
            path.write_text(json.dumps(config))
            job = lambda model: json.dumps({"model": model, "batch": {"micro": 1, "sequence": 64}})
            self.assertEqual(admit(job("config.json"), folder)[0], FITS)
            for model in ("config.json", "./config.json", str(path), folder, {"base": str(path)}):
                decision, answer = admit(job(model))
                self.assertEqual(decision, BAD_INPUT)
                self.assertIn("files are not read here", answer["sentence"])

    def test_hostile_jobs_get_a_sentence(self):
        dice = random.Random(7)
        texts = [file.read_bytes() for file in JOBS]
        seen, start = [0, 0, 0], 0
        for i in range(10000):
            job = mutated(dice.choice(texts), dice)
            decision, answer = admit(job)
            seen[decision] += 1
            if decision == BAD_INPUT and not answer["sentence"].startswith("headroom: "):
                self.fail(f"{answer} for {job[:2000]!r}")
            if i == 2000:
                start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.assertGreater(seen[BAD_INPUT], 5000)
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start, 32 * 1024, "KiB more than after 2,000")

    def test_threads_do_not_meet(self):
        texts = [file.read_bytes() for file in JOBS] + [b"{", b'{"model": "gpt3"}']
        alone = [admit(text) for text in texts]
        order = random.Random(1).choices(range(len(texts)), k=400)
        with ThreadPoolExecutor(8) as pool:
            for i, answer in zip(order, pool.map(lambda i: admit(texts[i]), order)):
                self.assertEqual(answer, alone[i])

    def test_version(self):
        self.assertRegex(library.headroom_version().decode(), r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
