# Distributed under the Boost Software License, Version 1.0.
# The calls of the library for C: what the program writes, from threads with little stack, in time, and a sentence for all that is wrong.
#   HEADROOM=…/headroom HEADROOM_LIBRARY=…/libheadroom.so python3 test_calls.py
import ctypes, json, os, pathlib, random, subprocess, sys, threading, time, unittest

ROOT = pathlib.Path(__file__).parents[2]
JOBS = sorted((ROOT / "examples/jobs").glob("*.json"))
FITS, DOES_NOT_FIT, BAD_INPUT, NO_MEMORY, NOT_DECIDED = range(5)
NAMES = ("estimate", "replay", "cost", "plan", "solve", "fit", "diagnose", "import", "export")

library = ctypes.CDLL(os.environ["HEADROOM_LIBRARY"])
SIGNATURE = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_double, ctypes.POINTER(ctypes.c_void_p)]
for name in NAMES:
    getattr(library, "headroom_" + name).argtypes = SIGNATURE
library.headroom_call.argtypes = [ctypes.c_char_p, *SIGNATURE]
library.headroom_free.argtypes = [ctypes.c_void_p]
library.headroom_version.restype = ctypes.c_char_p


def raw(name, text, seconds=-1.0):
    """The decision and the answer's text, or None."""
    answer = ctypes.c_void_p()
    own = getattr(library, "headroom_" + name, None) if name in NAMES else None
    size = len(text or b"")
    decision = own(text, size, seconds, ctypes.byref(answer)) if own else library.headroom_call(name.encode(), text, size, seconds, ctypes.byref(answer))
    try:
        return decision, ctypes.string_at(answer) if answer else None
    finally:
        library.headroom_free(answer)


def call(name, request, seconds=-1.0):
    decision, answer = raw(name, json.dumps(request).encode(), seconds)
    return decision, json.loads(answer)


def job(name):
    return json.loads((ROOT / "examples/jobs" / name).read_text())


def program(*words):
    run = subprocess.run([os.environ["HEADROOM"], *map(str, words)], capture_output=True)
    return run.returncode, run.stdout


class Calls(unittest.TestCase):
    def same(self, answer, expected, but=()):
        """An answer is what the program writes, and says which interface and version it is of."""
        own = {k: v for k, v in answer.items() if k not in ("interface", "version", "decision", "sentence", *but)}
        self.assertEqual(own, {k: v for k, v in expected.items() if k not in but})
        self.assertEqual(answer["interface"], library.headroom_interface())
        self.assertEqual(answer["version"], library.headroom_version().decode())

    def test_replays_are_the_reports_of_the_program(self):
        for name in ("llama-3.1-8b-zero3.json", "yi-34b-zero2-16gpus.json"):
            status, written = program("estimate", ROOT / "examples/jobs" / name, "--json")
            decision, answer = call("replay", {"job": job(name)})
            self.assertEqual(decision, status)
            self.same(answer, json.loads(written))

    def test_an_estimate_is_the_replay_without_fragmentation(self):
        estimate, replay = (call(name, {"job": job("llama-3.1-8b-zero3.json")})[1] for name in ("estimate", "replay"))
        for rank, replayed in zip(estimate["ranks"], replay["ranks"]):
            self.assertEqual(rank["allocated"], replayed["allocated"])
        self.assertEqual(estimate["parameters"]["total"], 8030261248)  # of the model's card
        self.assertEqual(call("cost", {"job": job("llama-3.1-8b-zero3.json")})[1]["step_seconds"], replay["step_seconds"])

    def test_solve_fit_diagnose_and_export_are_the_programs(self):
        file = ROOT / "examples/jobs/llama-3.1-8b-zero3.json"
        status, written = program("solve", file, "--for", "batch.micro", "--json")
        decision, answer = call("solve", {"job": job(file.name), "for": "batch.micro"})
        self.assertEqual((decision, answer["value"]), (status, 4))
        self.same(answer, json.loads(written))
        status, written = program("fit", "gpt2", "--lora", "--gpu", "rtx-3090", "--set", "attention=flash", "--json")
        decision, answer = call("fit", {"model": "gpt2", "method": "lora", "gpu": "rtx-3090", "set": {"attention": "flash"}})
        self.assertEqual(decision, status)
        self.same(answer, json.loads(written))
        log = ROOT / "tests/data/oom/torch-2.5.log"
        over = ROOT / "examples/jobs/yi-34b-zero2-16gpus.json"
        status, written = program("diagnose", over, "--message", log, "--json")
        decision, answer = call("diagnose", {"job": job(over.name), "message": log.read_text()})
        self.assertEqual(decision, status)
        self.same(answer, json.loads(written), but=("fits",))
        self.assertEqual(call("export", {"job": job(file.name), "to": "deepspeed"})[1]["text"], program("export", file, "--to", "deepspeed")[1].decode())

    def test_a_plan_is_the_programs_but_for_its_seconds(self):
        search = {"model": "llama-3.1-8b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "framework": "deepspeed", "sharding": "auto",
                  "batch": {"micro": "auto", "accumulation": "auto", "global": 64, "sequence": 4096}}
        run = subprocess.run([os.environ["HEADROOM"], "plan", "-", "--top", "2", "--json"], input=json.dumps(search).encode(), capture_output=True)
        status, written = run.returncode, run.stdout
        decision, answer = call("plan", {"job": search, "top": 2, "threads": 2})
        self.assertEqual(decision, status)
        self.same(answer, json.loads(written), but=("seconds",))

    def test_files_come_with_a_request_and_from_nowhere_else(self):
        config = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 256}
        of = lambda model: {"model": model, "batch": {"micro": 1, "sequence": 64}}
        inside = {"model/config.json": json.dumps(config)}
        whole = call("replay", {"job": of(config)})[1]
        for model in ("model/config.json", "model", "./model/"):
            decision, answer = call("replay", {"job": of(model), "files": inside})
            self.assertEqual((decision, answer["ranks"]), (FITS, whole["ranks"]))
        decision, answer = call("replay", {"job": "job.json", "files": {"job.json": json.dumps(of(config))}})
        self.assertEqual((decision, answer["ranks"]), (FITS, whole["ranks"]))
        real = str(ROOT / "examples/models/llama-3.1-8b/config.json")
        for files in ({}, inside):
            for model in (real, "../config.json", "/etc/passwd", "other.json"):
                decision, answer = call("replay", {"job": of(model), "files": files})
                self.assertEqual(decision, BAD_INPUT)
                self.assertIn("is no name of the model zoo" if not files else "is neither a name of the model zoo nor a file", answer["sentence"])
        # A job file that is imported names a model's file: one of the machine is not read either.
        decision, answer = call("import", {"files": {"job.json": json.dumps({**of(real), "hardware": {"gpu": "h100-sxm-80gb"}})}})
        self.assertEqual(decision, BAD_INPUT)
        for name in ("", "/etc/passwd", "../up.json", "a/../../b"):
            self.assertIn("is no name of a file", call("replay", {"job": of("gpt2"), "files": {name: "{}"}})[1]["sentence"])

    def test_an_import_is_the_programs(self):
        zero3 = {"zero_optimization": {"stage": 3}, "bf16": {"enabled": True}, "train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 4}
        said = {"hardware.gpus_per_node": 8, "batch.sequence": 8192}
        folder = pathlib.Path(self.enterContext(__import__("tempfile").TemporaryDirectory()))
        (folder / "ds.json").write_text(json.dumps(zero3))
        status, written = program("import", folder / "ds.json", "--model", "llama-3.1-8b", "--gpu", "h100-sxm-80gb", *(w for k, v in said.items() for w in ("--set", f"{k}={v}")))
        for files in ({"ds.json": json.dumps(zero3)}, {"ds.json": zero3}, [{"name": "ds.json", "text": json.dumps(zero3)}]):
            decision, answer = call("import", {"files": files, "model": "llama-3.1-8b", "gpu": "h100-sxm-80gb", "set": said})
            self.assertEqual((decision, answer["decision"], status), (FITS, "done", 0), answer)
            self.assertEqual(answer["job"], json.loads(written))
        # What a file says wrongly is said with its place.
        wrong = '{\n "zero_optimization": {\n  "stage": 7}}'
        decision, answer = call("import", {"files": {"ds.json": wrong}, "model": "gpt2", "gpu": "h100-sxm-80gb"})
        self.assertEqual(decision, BAD_INPUT)
        self.assertIn("ds.json:3", answer["sentence"])

    def test_a_deadline_is_kept(self):
        search = json.loads((ROOT / "examples/searches/kimi-k2-16384-gpus.json").read_text())
        for request, seconds in (({"job": search, "threads": 1}, 0.2), ({"job": search, "threads": 1, "seconds": 0.2}, -1.0), ({"job": search, "seconds": 1e6}, 0.2)):
            start = time.monotonic()
            decision, answer = call("plan", request, seconds)
            self.assertLess(time.monotonic() - start, 5)
            self.assertIn(decision, (FITS, NOT_DECIDED))
        for name in NAMES:
            self.assertEqual(call(name, {"job": job(JOBS[0].name)}, 0.0), (NOT_DECIDED, {
                "interface": 1, "version": library.headroom_version().decode(), "decision": "not decided", "sentence": "headroom: not decided: there was no time left for an answer"}))

    def test_what_is_wrong_gets_a_sentence(self):
        fine = {"job": job(JOBS[0].name)}
        for name, request, sentence in (
                ("estimate", {}, "the request.job is required"),
                ("estimate", {**fine, "jobs": 1}, 'unknown key "jobs" in the request; did you mean "job"?'),
                ("estimate", {**fine, "interface": 2}, "interface 2 is not spoken here: this is 1"),
                ("estimate", {**fine, "confidence": 2}, "the request.confidence"),
                ("estimate", {"job": {"model": "gpt5"}}, "gpt5"),
                ("estimate", {"job": 5}, "a job"),
                ("solve", {**fine, "for": "batch.macro"}, "for must be one of"),
                ("export", {**fine, "to": "deepsped"}, 'did you mean "deepspeed"?'),
                ("fit", {"model": "gpt2", "method": "dora", "gpu": "rtx-3090"}, "method must be qlora, lora or full"),
                ("diagnose", {**fine, "message": "all is well"}, "no out-of-memory message"),
                ("import", {"files": {}}, "files is required"),
                ("list", {"what": "gpuz"}, 'did you mean "gpus"?'),
                ("estimates", fine, 'did you mean "estimate"?')):
            decision, answer = call(name, request)
            self.assertEqual(decision, BAD_INPUT, (name, request))
            self.assertTrue(answer["sentence"].startswith("headroom: "), answer)
            self.assertIn(sentence, answer["sentence"])
        for text in (None, b"", b"[]", b"{", b'{"job": 1, "job": 2}', b"\xff", b"[" * 100000):
            for name in NAMES:
                decision, answer = raw(name, text)
                self.assertEqual(decision, BAD_INPUT)
                self.assertTrue(json.loads(answer)["sentence"].startswith("headroom: "), answer)
        self.assertEqual(library.headroom_estimate(b"{}", 2, -1.0, None), BAD_INPUT)

    def test_threads_of_64_kb_may_call(self):
        texts = [(name, json.dumps({"job": job("yi-34b-zero2-16gpus.json"), **more}).encode()) for name, more in
                 (("estimate", {}), ("replay", {}), ("solve", {"for": "batch.micro"}), ("export", {"to": "deepspeed"}), ("text", {}), ("html", {}))]
        texts.append(("import", json.dumps({"files": {"run.sh": "if true; then " * 60 + "torchrun x.py" + "; fi" * 60}, "model": "gpt2"}).encode()))
        alone = [raw(*one) for one in texts]
        said = [None] * len(texts)

        def ask(i):
            said[i] = raw(*texts[i])

        before = threading.stack_size(64 * 1024)
        try:
            threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(texts))]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        finally:
            threading.stack_size(before)
        self.assertEqual(said, alone)

    def test_hostile_requests_get_a_sentence(self):
        dice = random.Random(11)
        seeds = [json.dumps({"job": job(f.name), "for": "batch.micro", "to": "deepspeed", "message": "x"}).encode() for f in JOBS]
        seeds += [json.dumps({"files": {f.name: f.read_text()}, "model": "gpt2", "gpu": "h100-sxm-80gb"}).encode() for f in sorted((ROOT / "tests/data/launchers").iterdir()) if f.is_file()]
        for i in range(600):
            text = dice.choice(seeds)
            at, to = sorted(dice.randrange(len(text) + 1) for _ in range(2))
            text = dice.choice([text[:at], text[:at] + text[to:], text[:at] + bytes([dice.randrange(256)]) + text[at + 1:], text])
            name = dice.choice(("estimate", "cost", "export", "import", "import"))
            decision, answer = raw(name, text, 5.0)
            self.assertIn(decision, (FITS, DOES_NOT_FIT, BAD_INPUT, NOT_DECIDED))
            if decision == BAD_INPUT:
                self.assertTrue(json.loads(answer)["sentence"].startswith("headroom: "), (answer, text[:500]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
