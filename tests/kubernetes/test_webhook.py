# Distributed under the Boost Software License, Version 1.0.
# The webhook at its protocol: reviews as an API server sends them, and what nobody should send, over TLS on the loopback interface.
#   HEADROOM_WEBHOOK=…/headroom_webhook HEADROOM_LOAD=…/headroom_webhook_load python3 test_webhook.py
import gzip, json, os, random, signal, socket, ssl, subprocess, sys, tempfile, unittest

from served import GROWTH, JOB, SANITIZED, Served, container, pod, review, start, workload

REQUESTS = int(os.environ.get("HEADROOM_REQUESTS", "90" if SANITIZED else "6000"))


class Webhook(Served):
    def test_a_pod_without_a_job_is_allowed(self):
        plain = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "web"}]}}
        for of in (plain, {"metadata": {"annotations": {"other": "x"}}}, None):
            self.assertEqual(self.decide(of)["allowed"], True)
        self.assertEqual(self.decide(None, operation="DELETE", uid="another")["allowed"], True)

    def test_what_fits_is_allowed_and_what_does_not_is_denied(self):
        response = self.decide(pod(JOB))
        self.assertTrue(response["allowed"])
        self.assertIn("FITS with", response["status"]["message"])
        self.denied(self.decide(pod(JOB, gpus=1)), 422, "DOES NOT FIT", "GiB too much")
        self.denied(self.decide(pod({**JOB, "batch": {"micro": 64, "sequence": 8192}, "recompute": "none"})), 422, "DOES NOT FIT")
        self.denied(self.decide(pod(JOB, **{"headroom.dev/confidence": "1.5"})), 400, "confidence")

    def test_gpus_are_those_of_the_pods(self):
        large = {**JOB, "model": "llama-3.1-70b"}
        self.denied(self.decide(workload(large, 1)), 422)
        self.assertTrue(self.decide(workload(large, 4))["allowed"])
        self.assertTrue(self.decide(pod(JOB, gpus="8"))["allowed"])
        self.denied(self.decide(pod({**JOB, "hardware": {"gpu": "h100-sxm-80gb", "gpus_per_node": 16}})), 400, "gpus_per_node is 16, and the pods ask for 8")
        roles = {"Master": {"replicas": 1, "template": {"spec": {"containers": [container(8)]}}}, "Worker": {"replicas": 3, "template": {"spec": {"containers": [container(8)]}}}}
        kubeflow = {"kind": "PyTorchJob", "metadata": {"annotations": {"headroom.dev/job": json.dumps(large)}}, "spec": {"pytorchReplicaSpecs": roles}}
        self.assertTrue(self.decide(kubeflow)["allowed"])
        roles["Worker"]["template"]["spec"]["containers"] = [container(4)]
        self.denied(self.decide(kubeflow), 400, "another number of GPUs")
        self.denied(self.decide(pod(JOB, gpus="many")), 400, "nvidia.com/gpu")

    def test_workloads_of_several_roles(self):
        large = {**JOB, "model": "llama-3.1-70b"}
        pods = {"template": {"spec": {"containers": [container(8)]}}}
        def of(api, kind, spec):
            return {"apiVersion": api, "kind": kind, "metadata": {"annotations": {"headroom.dev/job": json.dumps(large)}}, "spec": spec}
        for nodes, fits in ((1, False), (4, True)):
            for one in (of("kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": {"Launcher": {"replicas": 1, "template": {"spec": {"containers": [container(None)]}}}, "Worker": {"replicas": nodes, **pods}}}),
                        of("trainer.kubeflow.org/v1alpha1", "TrainJob", {"trainer": {"numNodes": nodes, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}}}),
                        of("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": [{"name": "w", "replicas": 1, "template": {"spec": {"parallelism": nodes, **pods}}}]}),
                        of("batch.volcano.sh/v1alpha1", "Job", {"tasks": [{"name": "w", "replicas": nodes, **pods}]})):
                self.assertEqual(self.decide(one)["allowed"], fits, one)

    def test_without_time_there_is_no_decision(self):
        """The API server says how long it waits; its failurePolicy decides what an HTTP error means."""
        process, port = start(self.files, "--log", "refused", stderr=subprocess.PIPE)
        try:
            for path in ("/admit?timeout=0s", "/admit?timeout=5s", "/admit?timeout=1m0s", "/admit"):
                status, said = self.post(review(pod(JOB)), path=path, port=port)
                self.assertEqual(status, 503 if "=0s" in path else 200, said)
            process.send_signal(signal.SIGTERM)
            logged = process.communicate(timeout=30)[1]
            self.assertEqual((logged.count("\n"), "headroom: not decided" in logged), (1, True), logged)
        finally:
            process.kill()

    def test_annotations_that_are_no_jobs(self):
        for job, said in (("{", "not valid JSON"), ("[]", "headroom:"), ("", "headroom:"), ('{"model": "gpt3"}', "model"), ({**JOB, "sharing": 1}, "sharding"),
                          ({**JOB, "model": "/etc/passwd"}, "files are not read here"), ({**JOB, "model": {"base": "../../etc"}}, "files are not read here")):
            self.denied(self.decide(pod(job)), 400, said)
        of = pod(JOB)
        of["metadata"]["annotations"]["headroom.dev/job"] = 7
        self.denied(self.decide(of), 400, "annotation headroom.dev/job")

    def test_bodies_that_are_no_reviews(self):
        for body in (b"", b"{", b"[]", b"null", b'{"kind": "AdmissionReview"}', json.dumps({**review(None), "apiVersion": "admission.k8s.io/v1beta1"}), b"\xff\xfe", b"[" * 100000,
                     b'{"a": 1, "a": 2}', json.dumps({**review(None), "request": {"uid": 7}})):
            status, text = self.post(body)
            self.assertEqual(status, 400)
            self.assertTrue(text.startswith("headroom: "), text)
        self.assertEqual(self.post(review(None), path="/other")[0], 404)
        self.assertEqual(self.post(b" " * (5 << 20))[0], 413)

    def test_bodies_without_a_length_or_compressed(self):
        before = self.memory()
        self.assertEqual(self.post(gzip.compress(b" " * (64 << 20)), **{"Content-Encoding": "gzip"})[0], 415)
        connection = self.connect()
        try:
            connection.request("POST", "/admit", (b" " * (1 << 20) for _ in range(64)), encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
            self.assertEqual(connection.getresponse().status, 411)
        except (BrokenPipeError, ConnectionError, ssl.SSLError):
            pass  # refused before all was sent
        finally:
            connection.close()
        self.assertLess(self.memory() - before, GROWTH + (64 << 10))

    def test_connections_that_go_nowhere(self):
        idle = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(20)]
        idle[0].sendall(b"GET / HTTP/1.1\r\n\r\n")  # not TLS
        self.assertTrue(self.decide(pod(JOB))["allowed"])
        for s in idle:
            s.close()
        connection = self.connect()
        connection.request("GET", "/healthz")
        self.assertEqual(connection.getresponse().read(), b"ok\n")
        connection.close()

    def test_hostile_reviews(self):
        dice = random.Random(11)
        text = json.dumps(review(pod(JOB))).encode()
        words = [b"-1", b"1e400", b"null", b"{}", b"[]", b'"\xff"', b"9" * 40, b"true", b'""', b"{" * 2000]
        connection = self.connect()
        for _ in range(300 if SANITIZED else 10000):
            at, to = sorted(dice.randrange(len(text)) for _ in range(2))
            body = dice.choice([text[:at], text[:at] + text[to:], text[:at] + dice.choice(words) + text[to:], text[:at] + bytes([dice.randrange(256)]) + text[at + 1:]])
            connection.request("POST", "/admit", body)
            answer = connection.getresponse()
            said = answer.read().decode()
            if answer.status == 200:
                response = json.loads(said)["response"]
                self.assertTrue(response["allowed"] or "headroom: " in response["status"]["message"], said)
            else:
                self.assertEqual(answer.status, 400, said)
                self.assertTrue(said.startswith("headroom: "), said)
        connection.close()

    def test_load(self):
        """Bounded, on the loopback interface; the rate is printed, not judged."""
        bodies = [json.dumps(review(o)) for o in (pod(JOB), pod(JOB, gpus=1), workload({**JOB, "model": "llama-3.1-70b"}, 4), pod("{"))]
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.write("\n".join(bodies) + "\n")
            file.flush()
            run = lambda n: subprocess.run([os.environ["HEADROOM_LOAD"], str(self.port), self.files[0], file.name, str(n)], capture_output=True, text=True, timeout=600)
            first = run(REQUESTS // 3)
            self.assertEqual(first.returncode, 0, first.stderr)
            before = self.memory()
            second = run(REQUESTS)
            self.assertEqual(second.returncode, 0, second.stderr)
            print(second.stdout.strip(), f"; memory {before} KiB before, {self.memory()} KiB after", file=sys.stderr)
            self.assertLess(self.memory() - before, GROWTH + (8 << 10))


class Commands(Served):
    """Workloads without a job: their own command is one, where an annotation or the cluster says so."""
    OPTIONS = ["--gpu", "a100-sxm-80gb"]
    SFT = ["torchrun", "--nproc_per_node", "8", "trl/scripts/sft.py", "--model_name_or_path", "meta-llama/Llama-3.1-8B", "--dataset_name", "x", "--max_length", "4096",
           "--per_device_train_batch_size", "1", "--bf16", "--output_dir", "o"]

    def workload(self, command, gpus=8, labels=None, **annotations):
        of = pod("", gpus)
        of["metadata"]["annotations"] = {"headroom.dev/" + name.replace("_", "-"): value for name, value in annotations.items()}
        of["spec"]["containers"][0]["command"] = command
        if labels:
            of["spec"]["nodeSelector"] = labels
        return of

    def lora(self, rank=16):
        return [*self.SFT, "--use_peft", "--lora_r", str(rank), "--gradient_checkpointing", "True"]

    def test_the_command_is_judged_where_an_annotation_asks(self):
        # Every GPU holds 8.03 billion weights, gradients and two moments in fp32: 120 GiB of 79.
        self.denied(self.decide(self.workload(self.SFT, **{"import": "true"})), 422, "DOES NOT FIT")
        self.assertIn("FITS with", self.decide(self.workload(self.lora(), **{"import": "true"}))["status"]["message"])
        small = self.workload(self.lora(), labels={"nvidia.com/gpu.product": "Tesla-T4"}, **{"import": "true"})
        self.denied(self.decide(small), 422, "DOES NOT FIT")
        self.assertTrue(self.decide(self.workload(self.SFT))["allowed"])
        self.assertTrue(self.decide(self.workload(self.SFT, **{"import": "false"}))["allowed"])
        self.denied(self.decide(self.workload(self.SFT, **{"import": "yes"})), 400, "headroom.dev/import must be")

    def test_what_the_command_leaves_open_is_set_beside_it(self):
        open_model = [*self.lora()[:5], "/models/mine", *self.lora()[6:], "--lora_target_modules", "all-linear"]
        self.denied(self.decide(self.workload(open_model, **{"import": "true"})), 400, "model")
        self.assertTrue(self.decide(self.workload(open_model, **{"import": "true", "set": "model=llama-3.2-1b\n batch.micro=1"}))["allowed"])
        self.denied(self.decide(self.workload(open_model, **{"import": "true", "set": "nonsense"})), 400, "KEY=VALUE")
        self.denied(self.decide(self.workload(open_model, **{"import": "true", "set": "model=/etc/passwd"})), 400, "headroom:")

    def test_what_is_not_understood_is_refused_where_it_was_asked(self):
        self.denied(self.decide(self.workload(["python", "serve.py"], **{"import": "true"})), 400, "starts no training")
        self.denied(self.decide(self.workload([*self.SFT, "--no_such_argument", "1"], **{"import": "true"})), 400, "no_such_argument")
        self.denied(self.decide(self.workload(self.SFT, gpus=4, **{"import": "true"})), 400, "4 GPUs of each machine are asked for")

    def test_a_pod_of_a_workload_was_judged_with_it(self):
        of = self.workload(self.SFT, **{"import": "true"})
        of["metadata"]["ownerReferences"] = [{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "a", "uid": "1"}]
        self.assertTrue(self.decide(of)["allowed"])


class EveryCommand(Commands):
    OPTIONS = ["--gpu", "a100-sxm-80gb", "--read-commands"]

    def test_the_command_is_judged_where_an_annotation_asks(self):
        self.denied(self.decide(self.workload(self.SFT)), 422, "DOES NOT FIT")
        self.assertIn("FITS with", self.decide(self.workload(self.lora()))["status"]["message"])
        self.assertTrue(self.decide(self.workload(self.SFT, **{"import": "false"}))["allowed"])

    def test_what_is_not_understood_is_allowed_with_a_warning(self):
        said = self.decide(self.workload(["python", "serve.py"]))
        self.assertEqual((said["allowed"], len(said["warnings"])), (True, 1))
        self.assertIn("not judged: headroom: ", said["warnings"][0])
        self.assertNotIn("warnings", self.decide(self.workload(["nginx"], gpus=None)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
