# Distributed under the Boost Software License, Version 1.0.
# The documents' commands run, and their programs compile.
#   HEADROOM=…/headroom HEADROOM_LIBRARY=…/libheadroom.so CXX=g++ python3 test_docs.py
import os, pathlib, pickle, re, subprocess, sys, tempfile, unittest

ROOT = pathlib.Path(__file__).parents[2]
PROGRAM = pathlib.Path(os.environ["HEADROOM"]).resolve()


def blocks(file, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / file).read_text(), re.M | re.S)


class Documents(unittest.TestCase):
    def test_commands(self):
        environment = {**os.environ, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}
        count = 0
        with tempfile.TemporaryDirectory() as folder:
            for line in "\n".join(blocks("examples/README.md", "sh")).splitlines():
                code = int(re.search(r"# exits (\d)", line)[1]) if "# exits" in line else 0
                command = line.split("  #")[0].replace("build/", f"{folder}/")
                with self.subTest(command):
                    run = subprocess.run(command, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
                    self.assertEqual(run.returncode, code, run.stdout[-2000:] + run.stderr)
                    count += 1
        self.assertGreater(count, 8)

    def test_cpp(self):
        includes = [f"-I{ROOT / 'include'}"]
        for file in ("README.md", "examples/README.md"):
            for block in blocks(file, "cpp"):
                with self.subTest(block[:60]):
                    run = subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", *includes, "-x", "c++", "-"], input=block,
                                         capture_output=True, text=True)
                    self.assertEqual(run.returncode, 0, run.stderr[:4000])

    @unittest.skipUnless(os.environ.get("HEADROOM_LIBRARY"), "the library for C is not built")
    def test_python(self):
        library = pathlib.Path(os.environ["HEADROOM_LIBRARY"]).resolve()
        environment = {**os.environ, "LD_LIBRARY_PATH": str(library.parent)}
        for block in blocks("examples/README.md", "python"):
            run = subprocess.run([sys.executable, "-c", block], env=environment, capture_output=True, text=True, timeout=60)
            self.assertEqual((run.returncode, run.stdout[:14]), (0, "True FITS with"), run.stderr)

    def test_snapshot(self):
        """The lines that read a snapshot of torch's allocator: 18 GiB live at the end, 30 at most, in segments of 48, of 54 before one was given back."""
        gib = 6 * 2**30
        event = lambda action, size: {"action": action, "size": size * gib}
        snapshot = {"segments": [{"device": 0, "total_size": 8 * gib, "blocks": [{"size": 3 * gib, "state": "active_allocated"}, {"size": 5 * gib, "state": "inactive"}]},
                                 {"device": 1, "total_size": 64 * gib, "blocks": [{"size": 64 * gib, "state": "active_allocated"}]}],
                    "device_traces": [[event("segment_alloc", 2), event("alloc", 2), event("free_requested", 1), event("free_completed", 1), event("free_requested", 1),
                                       event("segment_free", 1)], []]}
        lines = next(b for b in blocks("examples/README.md", "py") if b.startswith("import pickle"))
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "run.pickle").write_bytes(pickle.dumps(snapshot))
            run = subprocess.run([sys.executable, "-c", lines], cwd=folder, capture_output=True, text=True, timeout=60)
        self.assertEqual(run.stdout.strip(), "allocated=30.000000GiB,reserved=54.000000GiB", run.stderr)
        run = subprocess.run([PROGRAM, "estimate", ROOT / "examples/jobs/llama-3.1-8b-zero3.json", "--brief", "--measured", run.stdout.strip()], capture_output=True, text=True, timeout=60)
        self.assertIn(run.returncode, (0, 1), run.stderr)

    def test_links(self):
        for file in ("README.md", "examples/README.md", "examples/LIMITS.md", "examples/ERRORS.md", "tests/accuracy/README.md", "include/headroom/README.md", ".github/CONTRIBUTING.md", ".github/CHANGELOG.md"):
            folder = (ROOT / file).parent
            for link in re.findall(r"\]\(([^)#:]+)\)", (ROOT / file).read_text()):
                self.assertTrue((folder / link).exists(), f"{file}: {link}")

    def test_output_in_the_readme(self):
        run = subprocess.run([PROGRAM, "estimate", "examples/jobs/llama-3.1-8b-zero3.json", "--brief"], cwd=ROOT, capture_output=True, text=True, timeout=60)
        said = iter(run.stdout.splitlines())
        for line in "".join(blocks("README.md", "text")).splitlines():
            if line != "…":
                self.assertIn(line, said, "the README shows what the program does not print")

    def test_pictures_in_the_readme(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, command in (("step", ["estimate", "examples/jobs/llama-3.1-8b-zero3.json", "--svg"]), ("accuracy", ["validate", "tests/accuracy/measured.jsonl", "--plot"])):
                file = pathlib.Path(folder) / name
                subprocess.run([PROGRAM, *command, file], cwd=ROOT, stdout=subprocess.DEVNULL, check=True, timeout=120)
                self.assertEqual(file.read_text(), (ROOT / f".github/{name}.svg").read_text(), f"headroom {' '.join(command)} .github/{name}.svg draws another picture")

    def test_the_readme_is_short(self):
        self.assertLessEqual(len((ROOT / "README.md").read_text().split()), 900)

    def test_job_in_the_documents(self):
        for block in blocks("examples/README.md", "json"):
            if '"model"' not in block or not block.startswith("{"):
                continue
            run = subprocess.run([PROGRAM, "plan", "/dev/stdin", "--top", "1"], input=block, capture_output=True, text=True, timeout=120)
            self.assertEqual(run.returncode, 0, run.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
