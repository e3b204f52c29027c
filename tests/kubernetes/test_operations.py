# Distributed under the Boost Software License, Version 1.0.
# What operators see of the webhook: metrics, readiness, a line of JSON for each decision, an audit that refuses nothing, and advice.
#   HEADROOM_WEBHOOK=…/headroom_webhook python3 test_operations.py
import json, pathlib, re, signal, ssl, sys, tempfile, unittest

from served import JOB, Served, certificate, pod, review, start

OVER = {**JOB, "batch": {"micro": 64, "sequence": 8192}}


def lines(text):
    """{"name{labels}": value} of Prometheus' text format."""
    samples = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            samples[name] = float(value)
    return samples


class Operated(Served):
    def get(self, path):
        connection = self.connect()
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.getheader("Content-Type"), answer.read().decode()
        finally:
            connection.close()


class Metrics(Operated):
    def test_decisions_are_counted_by_result_and_reason(self):
        self.decide(pod(JOB))
        self.decide(pod(JOB))
        self.decide(pod(OVER))
        self.decide(pod("nonsense"))
        self.decide(pod({**JOB, "hardware": {**JOB["hardware"], "host_memory_gib": 1}, "offload": {"optimizer": "cpu"}}))
        self.decide({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "other"}})
        self.post("no review")
        status, kind, text = self.get("/metrics")
        self.assertEqual((status, kind), (200, "text/plain; version=0.0.4"))
        samples = lines(text)
        counts = {k: v for k, v in samples.items() if "decisions_total" in k or "refusals_total" in k}
        self.assertEqual(counts, {'headroom_decisions_total{decision="fits"}': 2, 'headroom_decisions_total{decision="does_not_fit"}': 2, 'headroom_decisions_total{decision="bad_input"}': 2,
                                  'headroom_decisions_total{decision="not_asked"}': 1, 'headroom_refusals_total{reason="gpu_memory"}': 1, 'headroom_refusals_total{reason="host_memory"}': 1,
                                  'headroom_refusals_total{reason="bad_input"}': 1, 'headroom_refusals_total{reason="no_review"}': 1})
        buckets = [(float(re.search('le="([^"]+)"', k)[1]), v) for k, v in samples.items() if "_bucket" in k]
        self.assertEqual(buckets, sorted(buckets))
        self.assertEqual(buckets[-1], (float("inf"), 7))
        self.assertEqual(samples["headroom_decision_seconds_count"], 7)
        self.assertGreater(samples["headroom_decision_seconds_sum"], 0)
        for name in ("headroom_decisions_total", "headroom_refusals_total", "headroom_decision_seconds"):
            self.assertEqual(len(re.findall(rf"^# TYPE {name} ", text, re.M)), 1)


class Answers(Operated):
    def test_it_is_ready(self):
        self.assertEqual(self.get("/readyz")[::2], (200, "ok\n"))
        self.assertEqual(self.get("/ready")[0], 404)

    def test_a_refusal_says_what_would_fit(self):
        said = self.decide(pod(OVER))
        self.denied(said, 422, "DOES NOT FIT", "; would fit: batch.")


class Audit(Operated):
    OPTIONS = ["--audit"]

    def test_what_would_be_refused_is_allowed_with_a_warning(self):
        for job, said in ((OVER, "DOES NOT FIT"), ("nonsense", "not valid JSON")):
            response = self.decide(pod(job))
            self.assertTrue(response["allowed"])
            self.assertIn(said, response["warnings"][0])
            self.assertNotIn("status", response)
        self.assertNotIn("warnings", self.decide(pod(JOB)))
        self.assertEqual(lines(self.get("/metrics")[2])['headroom_refusals_total{reason="gpu_memory"}'], 1)


class Log(Operated):
    def test_a_line_for_each_decision(self):
        with tempfile.TemporaryDirectory() as folder, open(pathlib.Path(folder) / "log", "w+") as log:
            files = certificate(folder)
            process, port = start(files, "--log", "all", stderr=log)
            try:
                trust = ssl.create_default_context(cafile=files[0])
                for job in (JOB, OVER):
                    own, self.trust = self.trust, trust
                    try:
                        self.post(review(pod(job)), port=port)
                    finally:
                        self.trust = own
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(30)
                process.stdout.close()
            log.seek(0)
            fits, over = [json.loads(line) for line in log]
        self.assertEqual((fits["decision"], fits["allowed"], "reason" in fits), ("fits", True, False))
        self.assertEqual((over["decision"], over["allowed"], over["reason"], over["audit"]), ("does_not_fit", False, "gpu_memory", False))
        for line in (fits, over):
            self.assertEqual((line["uid"], line["kind"], line["namespace"], line["name"], line["user"]), ("705ab4f5-6393-11e8-b7cc-42010a800002", "Pod", "ml", "train", "somebody"))
            self.assertGreater(line["seconds"], 0)
        self.assertIn("DOES NOT FIT", over["sentence"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
