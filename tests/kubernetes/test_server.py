# Distributed under the Boost Software License, Version 1.0.
# Who is slow, many, endless or late, and certificates: over TLS on the loopback interface.
#   HEADROOM_WEBHOOK=…/headroom_webhook HEADROOM_LOAD=…/headroom_webhook_load python3 test_server.py
import json, os, pathlib, shutil, signal, socket, ssl, subprocess, sys, tempfile, threading, time, unittest, warnings

from served import GROWTH, JOB, SANITIZED, Served, certificate, pod, review, start

WITHIN = 6.0 if SANITIZED else 2.0  # seconds for a decision, and to end: twice what it takes, as other tests run beside this one


class Server(Served):
    OPTIONS = ["--connections", "100"]

    def tls(self):
        return self.trust.wrap_socket(socket.create_connection(("127.0.0.1", self.port), timeout=20), server_hostname="localhost")

    def decides_soon(self, times=5):
        for _ in range(times):
            began = time.monotonic()
            self.assertTrue(self.decide(pod(JOB))["allowed"])
            self.assertLess(time.monotonic() - began, WITHIN)

    def seconds_open(self, connection, text):
        """How long a connection stays open that sends text byte by byte, five a second."""
        began = time.monotonic()
        try:
            for c in text:
                connection.send(bytes([c]))
                time.sleep(0.2)
                if time.monotonic() - began > 20:
                    break
        except OSError:
            pass
        return time.monotonic() - began

    def test_clients_that_drip(self):
        """As many as there may be connections: headers, bodies, the beginning of TLS. Each has its whole request's time and no more."""
        open_for = []
        header = b"POST /admit HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 100
        body = b"POST /admit HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
        plain = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(10)]
        slow = [(s, b"\x16\x03\x01\x02\x00" * 100) for s in plain] + [(self.tls(), header) for _ in range(45)]
        for _ in range(40):
            s = self.tls()
            s.sendall(body)
            slow.append((s, b" " * 500))
        threads = [threading.Thread(target=lambda s=s, text=text: open_for.append(self.seconds_open(s, text))) for s, text in slow]
        for t in threads:
            t.start()
        time.sleep(0.5)
        self.decides_soon(20)
        load = self.load(300)
        self.assertEqual(load.returncode, 0, load.stdout)
        for t in threads:
            t.join()
        self.assertLess(max(open_for), 5 + 2 * WITHIN)
        self.assertGreater(sorted(open_for)[len(open_for) // 2], 3)  # most are slow to the end of their time, not turned away
        for s, _ in slow:
            s.close()
        self.decides_soon()

    def load(self, requests):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.write(json.dumps(review(pod(JOB))) + "\n")
            file.flush()
            return subprocess.run([os.environ["HEADROOM_LOAD"], str(self.port), self.files[0], file.name, str(requests)], capture_output=True, text=True, timeout=300)

    def test_more_connections_than_there_may_be(self):
        before = self.memory()
        kept = self.tls()  # of an API server, between two requests
        self.ask(kept)
        silent = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(300)]
        alive = []
        for _ in range(120):
            alive.append(self.tls())
            self.ask(alive[-1])
        self.decides_soon()
        self.ask(alive[-1])
        with self.assertRaises(OSError):  # the oldest make room
            self.ask(kept)
        for s in (kept, *silent, *alive):
            s.close()
        self.assertLess(self.memory() - before, GROWTH + (24 << 10))

    def ask(self, connection, path="/healthz", more=""):
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n".encode())
        said = connection.recv(4096).decode()
        if not said:
            raise OSError("closed")
        return said

    def test_headers_without_end(self):
        before = self.memory()
        for _ in range(20):
            connection = self.tls()
            connection.sendall(b"POST /admit HTTP/1.1\r\nHost: localhost\r\n")
            try:
                for _ in range(1000):
                    connection.sendall(b"X-Header: " + b"y" * 1000 + b"\r\n")
            except OSError:
                pass
            connection.close()
        self.assertLess(self.memory() - before, GROWTH + (8 << 10))
        for size, status in ((20_000, " 431 "), (10_000, " 200 ")):
            with self.tls() as connection:
                self.assertIn(status, self.ask(connection, more="X-Header: " + "y" * size + "\r\n"))
        for bad in (b"\x00" * 100, b"GET\r\n\r\n", b"POST /admit HTTP/1.1\r\nContent-Length: many\r\n\r\n", b"POST /admit HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n"):
            connection = self.tls()
            connection.sendall(bad)
            self.assertIn(b" 400 ", connection.recv(4096))
            connection.close()

    def test_many_large_bodies(self):
        """Bodies that are stated and do not come give way to one that does."""
        head = f"POST /admit HTTP/1.1\r\nHost: localhost\r\nContent-Length: {4 << 20}\r\n\r\n".encode()
        held = []
        for _ in range(40):
            held.append(self.tls())
            held[-1].sendall(head + b" ")
        self.decides_soon()
        status, _ = self.post(b" " * (3 << 20))
        self.assertEqual(status, 400)
        for s in held:
            s.close()

    def test_a_connection_is_used_for_so_many_requests(self):
        connection, said, asked = self.tls(), b"", 0
        while b"Connection: close" not in said[-4096:] and asked < 11_000:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)
            asked += 50
            while said.count(b"HTTP/1.1 200") < asked and b"Connection: close" not in said[-4096:]:
                more = connection.recv(65536)
                if not more:
                    break
                said += more
        self.assertEqual(said.count(b"HTTP/1.1 200"), 10_000)

    def test_the_end_comes_within_a_second(self):
        process, port = start(self.files)
        began = None
        try:
            connect = lambda: self.trust.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=5), server_hostname="localhost")
            silent, idle, slow = socket.create_connection(("127.0.0.1", port)), connect(), connect()
            self.ask(idle)
            slow.sendall(b"POST /admit HTTP/1.1\r\nContent-Length: 10\r\n\r\n1")
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(30), 0)
            self.assertLess(time.monotonic() - began, WITHIN)
            for s in (silent, idle, slow):
                s.close()
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


class Certificates(Served):
    def peer(self):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with context.wrap_socket(socket.create_connection(("127.0.0.1", self.port), timeout=20)) as s:
            return s.getpeercert(binary_form=True)

    def test_who_does_not_trust_it_is_not_served(self):
        old = ssl.create_default_context(cafile=self.files[0])
        old.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings(action="ignore"):
            old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        for context, name, refusal in ((ssl.create_default_context(), "localhost", ssl.SSLCertVerificationError), (self.trust, "elsewhere", ssl.SSLCertVerificationError), (old, "localhost", OSError)):
            with socket.create_connection(("127.0.0.1", self.port)) as plain, self.assertRaises(refusal):
                context.wrap_socket(plain, server_hostname=name)
        self.assertTrue(self.decide(pod(JOB))["allowed"])

    def test_it_is_renewed_while_the_server_runs(self):
        first = self.peer()
        kept = self.connect()
        kept.request("GET", "/healthz")
        kept.getresponse().read()
        pathlib.Path(self.files[0]).write_text("no certificate")  # half of the new one, say
        time.sleep(2.5)
        self.assertEqual(self.peer(), first)
        with tempfile.TemporaryDirectory() as folder:
            for new, old in zip(certificate(folder), self.files):
                shutil.copy(new, old)
        for _ in range(50):
            if self.peer() != first:
                break
            time.sleep(0.2)
        self.assertNotEqual(self.peer(), first)
        kept.request("GET", "/healthz")
        self.assertEqual(kept.getresponse().read(), b"ok\n")  # under the old one
        kept.close()
        type(self).trust = ssl.create_default_context(cafile=self.files[0])
        self.assertTrue(self.decide(pod(JOB))["allowed"])

    def test_files_that_are_none(self):
        with tempfile.TemporaryDirectory() as folder:
            other = certificate(folder)
            for files in ([self.files[0], other[1]], [__file__, self.files[1]], [self.files[0], __file__]):
                asked = subprocess.run([os.environ["HEADROOM_WEBHOOK"], "--certificate", files[0], "--key", files[1]], capture_output=True, text=True, timeout=30)
                self.assertEqual((asked.returncode, asked.stderr.startswith("headroom: "), asked.stderr.count("\n")), (2, True, 1), asked.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
