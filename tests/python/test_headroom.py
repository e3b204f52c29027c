# Distributed under the Boost Software License, Version 1.0.
# The Python package as it is installed: answers, errors, what shows itself in a notebook, what refuses before the first step.
#   PYTHONPATH=SITE python3 test_headroom.py
import importlib.resources, json, logging, os, pathlib, sys, tempfile, threading, time, types, unittest

import headroom

ROOT = pathlib.Path(__file__).parents[2]
JOBS = ROOT / "examples/jobs"
FITS, OVER = JOBS / "llama-3.1-8b-zero3.json", JOBS / "yi-34b-zero2-16gpus.json"
TINY = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 256}
SEARCH = {"model": "llama-3.1-8b", "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 8}, "framework": "deepspeed", "sharding": "auto",
          "batch": {"micro": "auto", "accumulation": "auto", "global": 64, "sequence": 4096}}


class Answers(unittest.TestCase):
    def test_a_report_has_bytes_seconds_and_a_verdict(self):
        r = headroom.replay(FITS)
        self.assertTrue(r.fits)
        self.assertEqual(r.parameters, 8030261248)  # the model's card
        self.assertEqual(sum(rank.count for rank in r.ranks), 8)
        for amount in (r.device, r.fullest.allocated, r.fullest.capacity, r.host, *r.fullest.at_peak.values()):
            self.assertIs(type(amount), int)
        self.assertEqual(sum(r.fullest.at_peak.values()), r.fullest.allocated)
        self.assertIn(r.device, r.fullest.bounds["device"])
        self.assertIn(r.cost.seconds, r.cost.bounds)
        self.assertEqual(r.cost, headroom.cost(FITS))
        self.assertEqual(r.fullest.allocated, headroom.estimate(FITS).fullest.allocated)
        self.assertEqual(r.advice, ())

    def test_a_job_comes_as_a_file_a_dictionary_or_keywords(self):
        keys = json.loads(FITS.read_text())
        whole = headroom.Job(FITS)
        self.assertEqual(whole, headroom.Job(keys))
        self.assertEqual(whole, headroom.Job(**keys))
        self.assertEqual(whole.having({"batch.micro": 5}).keys["batch"]["micro"], 5)
        self.assertEqual(whole.keys["batch"].get("micro"), keys["batch"].get("micro"))  # it is another job
        self.assertFalse(headroom.replay(whole.having({"batch.micro": 5})).fits)  # `headroom solve` says 4 is the largest
        self.assertEqual(headroom.solve(whole, "batch.micro").value, 4)

    def test_a_config_json_comes_along(self):
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "my-model"
            model.mkdir()
            (model / "config.json").write_text(json.dumps(TINY))
            file = pathlib.Path(folder) / "job.json"
            file.write_text(json.dumps({"model": "my-model", "batch": {"micro": 1, "sequence": 64}}))
            here = headroom.replay(headroom.Job({"model": TINY, "batch": {"micro": 1, "sequence": 64}}))
            for job in (headroom.Job(file), headroom.Job(model=str(model), batch={"micro": 1, "sequence": 64})):
                self.assertEqual(headroom.replay(job).ranks, here.ranks)
                self.assertEqual(list(job.files), ["my-model/config.json"])

    def test_what_is_wrong_is_refused_with_the_sentence(self):
        for job, sentence in (({"model": "gpt5"}, "gpt5"), ({"model": "gpt2", "bach": {}}, 'did you mean "batch"?'), ({"model": {"layers": float("nan")}}, "is no JSON"), ("/nonexistent.json", "cannot be read"),
                              (ROOT / "README.md", "is not valid JSON: line 1")):
            with self.assertRaises(headroom.Refused) as refused:
                headroom.replay(job)
            self.assertIn(sentence, str(refused.exception))
            self.assertTrue(str(refused.exception).startswith("headroom: "))
        self.assertTrue(issubclass(headroom.Refused, ValueError))
        with self.assertRaises(headroom.Refused):
            headroom.Job(sharding="zero3").having({"sharding.stage": 2})
        with self.assertRaises(headroom.NotDecided):
            headroom.replay(FITS, seconds=0)

    def test_a_plan_is_rows_and_a_table(self):
        plans = headroom.plan(SEARCH, top=3)
        self.assertEqual(len(plans), 3)
        self.assertEqual([p.step_seconds for p in plans], sorted(p.step_seconds for p in plans))
        for p in plans:
            self.assertTrue(headroom.replay(p.job).fits)
            self.assertEqual(p.row()["model"], "llama-3.1-8b")
        frame = plans.frame()
        self.assertEqual(list(frame["device"]), [p.device for p in plans])
        start = time.monotonic()
        try:
            headroom.plan(ROOT / "examples/searches/kimi-k2-16384-gpus.json", seconds=0.3)
        except headroom.NotDecided:
            pass
        self.assertLess(time.monotonic() - start, 5)

    def test_fit_diagnose_import_and_export(self):
        f = headroom.fit("qwen2.5-7b", "qlora", "rtx-3090")
        self.assertTrue(headroom.replay(f.job.having({"batch.sequence": f.longest_sequence})).fits)
        self.assertFalse(headroom.replay(f.job.having({"batch.sequence": f.longest_sequence + 1})).fits)
        d = headroom.diagnose(OVER, (ROOT / "tests/data/oom/torch-2.5.log").read_text())
        self.assertFalse(d.fits)
        self.assertIs(type(d.asked), int)
        text = headroom.export(FITS, "deepspeed")
        job = headroom.import_files({"ds.json": text}, model="llama-3.1-8b", gpu="h100-sxm-80gb", set={"hardware.gpus_per_node": 8, "batch.sequence": 8192, "recompute": "full"})
        self.assertEqual(headroom.replay(job).fullest.allocated, headroom.replay(FITS).fullest.allocated)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "ds.json"
            file.write_text(text)
            again = headroom.import_files([file], model="llama-3.1-8b", gpu="h100-sxm-80gb", set={"hardware.gpus_per_node": 8, "batch.sequence": 8192, "recompute": "full"})
            self.assertEqual(job, again)
        self.assertIn("h100-sxm-80gb", headroom.names("gpus"))

    def test_a_report_shows_itself(self):
        r = headroom.replay(OVER)
        shown = r._repr_html_()
        self.assertIn("<svg", shown)
        self.assertIn("DOES NOT FIT", shown)
        self.assertTrue(r.html().startswith("<!"))
        self.assertIn(r.sentence.split(":")[0], str(r))

    def test_threads_run_beside_each_other(self):
        alone = headroom.replay(FITS)
        seen = []
        threads = [threading.Thread(target=lambda: seen.append(headroom.replay(FITS))) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(seen, [alone] * 8)

    def test_the_examples_of_the_documents_run(self):
        text = (ROOT / "examples/README.md").read_text()
        block = text.split("```py\n")[1].split("```")[0]
        transformers = types.ModuleType("transformers")
        transformers.TrainerCallback = type("TrainerCallback", (), {})
        sys.modules["transformers"] = transformers
        added = []
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "job.json").write_text(FITS.read_text())
            (pathlib.Path(folder) / "search.json").write_text(json.dumps(SEARCH))
            os.chdir(folder)
            try:
                exec(block, {"trainer": types.SimpleNamespace(add_callback=added.append), "print": lambda *said: self.assertIs(said[0], True)})
            finally:
                os.chdir(before)
                del sys.modules["transformers"]
        self.assertEqual(len(added), 1)

    def test_it_is_typed(self):
        self.assertTrue((importlib.resources.files("headroom") / "py.typed").is_file())
        self.assertRegex(headroom.__version__, r"^\d+\.\d+\.\d+$")
        self.assertNotIn("torch", sys.modules)
        self.assertNotIn("transformers", sys.modules)


class Guards(unittest.TestCase):
    STATS = {"allocated_bytes.all.peak": 20 * 2**30, "reserved_bytes.all.peak": 22 * 2**30}

    def test_what_does_not_fit_is_refused_before_the_block(self):
        with self.assertRaises(headroom.DoesNotFit) as refused:
            with headroom.fitting(OVER):
                self.fail("the block ran")
        self.assertIn("would fit: ", str(refused.exception))
        self.assertFalse(refused.exception.report.fits)
        with headroom.fitting(OVER, refuse=False) as guard:
            pass
        self.assertEqual(guard.compared, [])  # torch is not loaded

    def test_a_measured_peak_is_compared(self):
        r = headroom.replay(FITS)
        allocated, reserved = headroom.compare(r, self.STATS)
        self.assertEqual((allocated.predicted, allocated.measured), (r.fullest.allocated, 20 * 2**30))
        self.assertAlmostEqual(allocated.error, r.fullest.allocated / (20 * 2**30) - 1)
        own = headroom.compare(r, {"allocated_bytes.all.peak": r.fullest.allocated, "reserved_bytes.all.peak": r.fullest.reserved})
        self.assertTrue(all(c.inside and c.error == 0 for c in own))

    def test_the_trainers_callback(self):
        """transformers and torch are stood in for by what of them is used."""
        torch = types.ModuleType("torch")
        torch.cuda = types.SimpleNamespace(is_available=lambda: True, memory_stats=lambda: self.STATS)
        transformers = types.ModuleType("transformers")
        transformers.TrainerCallback = type("TrainerCallback", (), {})
        sys.modules.update(torch=torch, transformers=transformers)
        try:
            state = types.SimpleNamespace(global_step=2)
            good = headroom.trainer.callback(FITS)
            self.assertIsInstance(good, transformers.TrainerCallback)
            with self.assertLogs("headroom", logging.INFO) as logs:
                good.on_train_begin(None, state, None, model=None)
                good.on_step_end(None, state, None)
            self.assertEqual(len(good.guard.compared), 2)
            self.assertIn("allocated: ", logs.output[1])
            with self.assertRaises(headroom.DoesNotFit), self.assertLogs("headroom", logging.INFO):
                headroom.trainer.callback(OVER).on_train_begin(None, state, None)
        finally:
            del sys.modules["torch"], sys.modules["transformers"]
        with self.assertRaises(ImportError):
            headroom.trainer.callback(FITS)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
