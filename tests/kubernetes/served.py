# Distributed under the Boost Software License, Version 1.0.
# A webhook that runs, and what is sent to it.
import http.client, json, os, pathlib, signal, ssl, subprocess, tempfile, unittest

SANITIZED = bool(os.environ.get("HEADROOM_SANITIZE"))
GROWTH = 512 << 10 if SANITIZED else 0  # KiB: AddressSanitizer keeps what was freed for a while

JOB = {"model": "llama-3.1-8b", "framework": "deepspeed", "precision": "bf16-mixed", "sharding": {"kind": "zero", "stage": 3},
       "batch": {"micro": 1, "sequence": 8192}, "recompute": "full", "hardware": {"gpu": "h100-sxm-80gb"}}


def container(gpus):
    return {"name": "train", "image": "trainer", "resources": {"limits": {"nvidia.com/gpu": gpus, "memory": "1Ti"}} if gpus else {}}


def pod(job, gpus=8, **annotations):
    text = job if isinstance(job, str) else json.dumps(job)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train", "annotations": {"headroom.dev/job": text, **annotations}},
            "spec": {"containers": [container(gpus)], "initContainers": [container(None)]}}


def workload(job, nodes, gpus=8):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"annotations": {"headroom.dev/job": json.dumps(job)}},
            "spec": {"parallelism": nodes, "template": {"spec": {"containers": [container(gpus)]}}}}


def review(of, uid="705ab4f5-6393-11e8-b7cc-42010a800002", operation="CREATE"):
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {"uid": uid, "kind": {"group": "", "version": "v1", "kind": "Pod"}, "resource": {"group": "", "version": "v1", "resource": "pods"},
                        "name": "train", "namespace": "ml", "operation": operation, "userInfo": {"username": "somebody", "groups": ["system:authenticated"]},
                        "object": of, "oldObject": None, "dryRun": False, "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"}}}


def certificate(folder, name="localhost"):
    """The files of a certificate for that name, and of its key."""
    files = [str(pathlib.Path(folder) / end) for end in ("tls.crt", "tls.key")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                    "-addext", f"subjectAltName=DNS:{name}", "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    return files


def start(files, *options, **more):
    """The process and its port."""
    process = subprocess.Popen([os.environ["HEADROOM_WEBHOOK"], "--certificate", files[0], "--key", files[1], "--listen", "127.0.0.1:0", *(() if "--log" in options else ("--log", "none")), *options],
                               stdout=subprocess.PIPE, text=True, **more)
    return process, int(process.stdout.readline().rsplit(":", 1)[1])


class Served(unittest.TestCase):
    """A webhook of the class's own, with its OPTIONS, until the class is done."""
    OPTIONS = []

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.files = certificate(folder.name)
        cls.server, cls.port = start(cls.files, *cls.OPTIONS)
        cls.addClassCleanup(cls.stop)
        cls.trust = ssl.create_default_context(cafile=cls.files[0])

    @classmethod
    def stop(cls):
        cls.server.send_signal(signal.SIGTERM)
        code = cls.server.wait(30)
        cls.server.stdout.close()
        assert code == 0, f"the webhook ended with {code}"

    def connect(self, port=None):
        return http.client.HTTPSConnection("localhost", port or self.port, context=self.trust, timeout=20)

    def post(self, body, path="/admit", port=None, **headers):
        connection = self.connect(port)
        try:
            connection.request("POST", path, body if isinstance(body, (bytes, str)) else json.dumps(body), {"Content-Type": "application/json", **headers})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def decide(self, of, **more):
        status, body = self.post(review(of, **more))
        self.assertEqual(status, 200, body)
        answer = json.loads(body)
        self.assertEqual((answer["apiVersion"], answer["kind"]), ("admission.k8s.io/v1", "AdmissionReview"))
        self.assertEqual(answer["response"]["uid"], more.get("uid", "705ab4f5-6393-11e8-b7cc-42010a800002"))
        return answer["response"]

    def denied(self, response, code, *said):
        self.assertEqual((response["allowed"], response["status"]["code"]), (False, code), response)
        for text in ("headroom: ", *said):
            self.assertIn(text, response["status"]["message"])

    def memory(self):
        status = pathlib.Path(f"/proc/{self.server.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])
