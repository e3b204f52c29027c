# Distributed under the Boost Software License, Version 1.0.
# headroom serve: what the program answers, over HTTP, for many at once, and its limits.
#   HEADROOM=…/headroom python3 test_serve.py
import http.client, json, os, pathlib, signal, socket, subprocess, sys, time, unittest
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).parents[2]
FITS, OVER = (json.loads((ROOT / "examples/jobs" / name).read_text()) for name in ("llama-3.1-8b-zero3.json", "yi-34b-zero2-16gpus.json"))


class Served(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = subprocess.Popen([os.environ["HEADROOM"], "serve", "--listen", "127.0.0.1:0", "--seconds", "30", "--body", "64"], stdout=subprocess.PIPE, text=True)
        cls.port = int(cls.server.stdout.readline().rsplit(":", 1)[1])

    @classmethod
    def tearDownClass(cls):
        cls.server.send_signal(signal.SIGTERM)
        code = cls.server.wait(30)
        cls.server.stdout.close()
        assert code == 0, code

    def ask(self, path, body=None, method=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method or ("GET" if body is None else "POST"), path, body if body is None or isinstance(body, bytes) else json.dumps(body))
            answer = connection.getresponse()
            text = answer.read().decode()
            return answer.status, json.loads(text) if answer.getheader("Content-Type") == "application/json" else text
        finally:
            connection.close()

    def test_answers_are_the_programs(self):
        for job, expected in ((FITS, "fits"), (OVER, "does not fit")):
            run = subprocess.run([os.environ["HEADROOM"], "estimate", "-", "--json"], input=json.dumps(job), capture_output=True, text=True)
            status, answer = self.ask("/v1/replay", {"job": job})
            self.assertEqual((status, answer["decision"]), (200, expected))
            self.assertEqual({k: v for k, v in answer.items() if k not in ("interface", "version", "decision", "sentence")}, json.loads(run.stdout))

    def test_what_is_wrong_has_a_status_and_a_sentence(self):
        for path, body, status, said in (("/v1/replay", {"job": {"model": "gpt5"}}, 400, "gpt5"), ("/v1/replay", b"{", 400, "not valid JSON"), ("/v1/replay", {"job": {"model": "/etc/passwd"}}, 400, "files are not read here"),
                                         ("/v1/replay", {"job": FITS, "seconds": 0}, 503, "not decided")):
            found, answer = self.ask(path, body)
            self.assertEqual(found, status)
            self.assertIn(said, answer["sentence"])
        self.assertEqual(self.ask("/v1/nothing", {})[0], 404)
        self.assertEqual(self.ask("/v1/replay")[0], 405)
        self.assertEqual(self.ask("/v1/replay", b" " * (65 << 10))[0], 413)

    def test_many_at_once(self):
        alone = self.ask("/v1/estimate", {"job": FITS})
        with ThreadPoolExecutor(16) as pool:
            for answer in pool.map(lambda _: self.ask("/v1/estimate", {"job": FITS}), range(200)):
                self.assertEqual(answer, alone)

    def test_who_sends_nothing_is_let_go(self):
        with socket.create_connection(("127.0.0.1", self.port)) as idle:
            idle.sendall(b"POST /v1/replay HTTP/1.1\r\n")
            self.assertEqual(self.ask("/healthz"), (200, "ok\n"))
            idle.settimeout(20)
            start = time.monotonic()
            self.assertEqual(idle.recv(1), b"")  # closed, when the time for a request is over
            self.assertLess(time.monotonic() - start, 15)

    def test_it_says_what_can_be_asked(self):
        status, document = self.ask("/openapi.json")
        self.assertEqual((status, document["openapi"]), (200, "3.1.0"))
        self.assertGreater(len(document["paths"]), 10)
        self.assertIn("model", document["components"]["schemas"]["job"]["properties"])
        for path, offer in document["paths"].items():
            schema = offer["post"]["requestBody"]["content"]["application/json"]["schema"]
            # Every key that is named is known, and what is required is missed when it is not there.
            _, answer = self.ask(path, {"nonsense": 1})
            self.assertRegex(answer["sentence"], "is required|must be|unknown key")
            values = {"string": "?", "integer": 1, "number": 1, "object": {}, "array": []}
            for key, of in schema["properties"].items():
                value = values[(of["oneOf"][0] if "oneOf" in of else of)["type"]]
                _, answer = self.ask(path, {**{k: FITS if k == "job" else "?" for k in schema["required"]}, key: value})
                self.assertNotIn(f'unknown key "{key}"', answer["sentence"], (path, key))

    def test_metrics(self):
        self.ask("/v1/cost", {"job": FITS})
        text = self.ask("/metrics")[1]
        self.assertRegex(text, r'headroom_calls_total\{call="cost"\} [1-9]')
        self.assertRegex(text, r'headroom_answers_total\{outcome="done"\} [1-9]')
        self.assertRegex(text, r'headroom_call_seconds_bucket\{le="\+Inf"\} [1-9]')


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
