# Distributed under the Boost Software License, Version 1.0.
# The plugin and the Lua filter under a real Slurm: munged, slurmctld and slurmd with eight GPUs that are none, on the loopback
# interface, in a folder of their own.
#   HEADROOM=…/headroom HEADROOM_PLUGIN=…/headroom_spank.so python3 test_slurm.py
import getpass, json, os, pathlib, random, shutil, signal, socket, statistics, subprocess, sys, tempfile, time, unittest

ROOT = pathlib.Path(__file__).parents[2]
JOBS = ROOT / "examples/jobs"
FITS, TOO_LARGE = JOBS / "llama-3.1-8b-zero3.json", JOBS / "yi-34b-zero2-16gpus.json"
HEADROOM, PLUGIN = (pathlib.Path(os.environ[name]).resolve() for name in ("HEADROOM", "HEADROOM_PLUGIN"))
AS_NOBODY = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]

SLURM_CONF = """
ClusterName=headroom
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port0}
SlurmdPort={port1}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={dir}/run/munge.sock
CredType=cred/munge
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmctldPidFile={dir}/run/slurmctld.pid
SlurmdPidFile={dir}/run/slurmd.pid
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool
SlurmctldLogFile={dir}/log/slurmctld.log
SlurmdLogFile={dir}/log/slurmd.log
PlugStackConfig={dir}/{plugstack}
{more}
GresTypes=gpu
NodeName=localhost NodeAddr=127.0.0.1 CPUs=2 RealMemory=500 Gres=gpu:h100:8 State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Cluster:
    """One node of Slurm, up until close()."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="headroom-slurm-"))
        self.folder.chmod(0o755)
        self.daemons = []
        for name in ("run", "state", "spool", "log", "gpu", "lua", "jobs", "plain", "mistaken", "hasty", "audit", "lua-audit"):
            (self.folder / name).mkdir()
        (self.folder / "run").chmod(0o755)
        (self.folder / "jobs").chmod(0o777)
        for i in range(8):
            device = self.folder / f"gpu/gpu{i}"
            if os.geteuid() == 0:
                os.mknod(device, 0o600 | 0o020000, os.makedev(1, 3))
            else:
                device.touch()
        shutil.copy(PLUGIN, self.folder / "headroom_spank.so")
        plugin = f"required {self.folder}/headroom_spank.so"
        (self.folder / "plugstack.conf").write_text(plugin + "\n")
        (self.folder / "mistaken/plugstack.conf").write_text(plugin + " confidence=always nonsense\n")
        (self.folder / "hasty/plugstack.conf").write_text(plugin + " seconds=0\n")
        (self.folder / "audit/plugstack.conf").write_text(plugin + " audit=yes\n")
        (self.folder / "plain/plugstack.conf").write_text("")
        shutil.copy(ROOT / "examples/slurm/cli_filter.lua", self.folder / "lua")
        (self.folder / "lua-audit/cli_filter.lua").write_text((ROOT / "examples/slurm/cli_filter.lua").read_text().replace("local audit = false", "local audit = true"))
        ports = free_ports(2)
        for where, plugstack, more in (("", "plugstack.conf", ""), ("plain", "plain/plugstack.conf", ""), ("mistaken", "mistaken/plugstack.conf", ""), ("hasty", "hasty/plugstack.conf", ""),
                                       ("audit", "audit/plugstack.conf", ""), ("lua", "plain/plugstack.conf", "CliFilterPlugins=lua"),
                                       ("lua-audit", "plain/plugstack.conf", "CliFilterPlugins=lua")):
            text = SLURM_CONF.format(dir=self.folder, port0=ports[0], port1=ports[1], user=getpass.getuser(), plugstack=plugstack, more=more)
            (self.folder / where / "slurm.conf").write_text(text)
            (self.folder / where / "gres.conf").write_text(f"Name=gpu Type=h100 File={self.folder}/gpu/gpu[0-7]\n")
            (self.folder / where / "cgroup.conf").write_text("CgroupAutomount=no\n")
        key = self.folder / "run/munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self.start("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={self.folder}/run/munge.sock",
                   f"--pid-file={self.folder}/run/munged.pid", f"--log-file={self.folder}/log/munged.log", f"--seed-file={self.folder}/run/munged.seed")
        self.wait_for(lambda: (self.folder / "run/munge.sock").exists(), "munged")
        self.start("slurmctld", "-D", "-i")
        self.start("slurmd", "-D", "-N", "localhost")
        self.wait_for(lambda: self.run("sinfo", "-h", "-o", "%T").stdout.strip() == "idle", "the node to be idle")

    def start(self, *command):
        program = shutil.which(command[0], path="/usr/sbin:/usr/bin:/sbin:/bin")
        with open(self.folder / "log" / f"{command[0]}.out", "wb") as log:
            self.daemons.append(subprocess.Popen([program, *command[1:]], env=self.environment(), stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.folder))

    def environment(self, where=""):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SBATCH", "SALLOC", "SRUN"))}
        return {**kept, "SLURM_CONF": str(self.folder / where / "slurm.conf"), "HEADROOM": str(HEADROOM)}

    def run(self, *command, where="", before=(), folder=None):
        return subprocess.run([*before, *map(str, command)], env=self.environment(where), cwd=folder or self.folder / "jobs", text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=60)

    def wait_for(self, condition, what):
        for _ in range(600):
            if condition():
                return
            time.sleep(0.05)
        logs = "\n".join(f"{f.name}: {f.read_text(errors='replace')[-2000:]}" for f in (self.folder / "log").iterdir())
        self.close()
        raise RuntimeError(f"waited 30 s for {what}\n{logs}")

    def jobs(self):
        return self.run("squeue", "-h", "-t", "all", "-o", "%i").stdout.split()

    def close(self):
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
        for daemon in self.daemons:
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.daemons = []
        shutil.rmtree(self.folder, ignore_errors=True)


class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.close)

    def submit(self, job, *more, where="", before=(), tool=("sbatch", "--wrap=true")):
        return self.cluster.run(*tool, *([f"--headroom-job={job}"] if job else []), *more, where=where, before=before)

    def refused(self, run, *said):
        self.assertNotEqual(run.returncode, 0, run.stderr)
        self.assertNotIn("Submitted", run.stdout)
        for text in ("headroom: REFUSED", *said):
            self.assertIn(text, run.stderr)

    def test_a_job_that_fits_is_submitted_and_runs(self):
        run = self.submit(FITS, "--gres=gpu:8", "--wait", "--output=out.txt", tool=("sbatch", "--wrap=echo $CUDA_VISIBLE_DEVICES; srun echo a step"))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("FITS with", run.stderr)
        self.assertEqual((self.cluster.folder / "jobs/out.txt").read_text(), "0,1,2,3,4,5,6,7\na step\n")

    def test_a_job_that_does_not_fit_is_refused_with_the_reports_sentence(self):
        before = self.cluster.jobs()
        for tool in (("sbatch", "--wrap=true"), ("srun", "true"), ("salloc", "true")):
            run = self.cluster.run(tool[0], f"--headroom-job={TOO_LARGE}", *tool[1:])
            self.refused(run, "DOES NOT FIT: ", " GiB too much on each GPU")
        script = self.cluster.folder / "jobs/train.sh"
        script.write_text(f"#!/bin/sh\n#SBATCH --headroom-job={TOO_LARGE}\ntrue\n")
        self.refused(self.cluster.run("sbatch", script), "DOES NOT FIT")
        self.assertEqual(self.cluster.jobs(), before)

    def test_srun_and_salloc_of_what_fits(self):
        for tool in (["srun"], ["salloc"]):
            run = self.cluster.run(*tool, f"--headroom-job={FITS}", "echo", "ran")
            self.assertEqual((run.returncode, run.stdout), (0, "ran\n"), run.stderr)

    def test_confidence(self):
        close = self.cluster.folder / "jobs/close.json"
        job = json.loads(FITS.read_text())
        job["hardware"] = {"gpu": {"name": "made to measure", "memory_gib": 80}, "gpus_per_node": 8}
        need = json.loads(subprocess.run([HEADROOM, "estimate", "-", "--json"], input=json.dumps(job), capture_output=True, text=True).stdout)["ranks"][0]["device"]
        job["hardware"]["gpu"]["memory_gib"] = need / 2**30 * 1.02 + 1
        close.write_text(json.dumps(job))
        self.assertEqual(self.submit(close).returncode, 0)
        self.refused(self.submit(close, "--headroom-confidence=0.999"), "DOES NOT FIT FOR SURE")
        self.refused(self.submit(FITS, "--headroom-confidence=much"), "a confidence must be a share from 0.5 to 0.999")

    def test_without_the_option_nothing_is_looked_at(self):
        for where in ("", "plain", "mistaken"):
            self.assertEqual(self.submit(None, where=where).returncode, 0)

    def test_a_mistake_in_plugstack_conf_refuses_only_who_asked(self):
        self.refused(self.submit(FITS, where="mistaken"), 'a confidence must be a share from 0.5 to 0.999, found "always"')

    def test_without_time_there_is_no_opinion(self):
        run = self.submit(TOO_LARGE, where="hasty")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("Submitted", run.stdout)
        self.refused(self.submit("missing.json", where="hasty"), "cannot be opened")

    def test_files_that_are_no_jobs(self):
        folder = self.cluster.folder / "jobs"
        (folder / "broken.json").write_text('{"model": "gpt2", ')
        (folder / "unknown.json").write_text('{"model": "gpt2", "batch": {"micro": 1, "sequence": 1024}, "sharing": {}}')
        os.mkfifo(folder / "pipe")
        for name, said in (("broken.json", "not valid JSON: line 1"), ("unknown.json", 'did you mean "sharding"?'), ("missing.json", "cannot be opened"), (".", "not a file"),
                           ("pipe", "not a file"), ("/dev/zero", "not a file"), ("x" * 5000, "headroom:")):
            self.refused(self.submit(name), said)
        self.assertEqual(self.submit(None).returncode, 0)

    def test_hostile_files(self):
        dice = random.Random(3)
        text = FITS.read_bytes()
        file = self.cluster.folder / "jobs/hostile.json"
        for _ in range(100):
            at, to = sorted(dice.randrange(len(text)) for _ in range(2))
            file.write_bytes(dice.choice([text[:at], text[:at] + text[to:], text[:at] + bytes([dice.randrange(256)]) + text[at:], b"[" * 10**6, text[:at] + b"%s%n" + text[at:]]))
            run = self.submit(file, "--test-only")
            if run.returncode != 0:
                self.refused(run)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become somebody else")
    def test_an_unprivileged_user(self):
        secret = self.cluster.folder / "jobs/secret.json"
        secret.write_text(FITS.read_text())
        secret.chmod(0o600)
        public = self.cluster.folder / "jobs/public.json"
        public.write_text(FITS.read_text())
        run = self.submit(public, "--output=/dev/null", before=AS_NOBODY)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.refused(self.submit(secret, before=AS_NOBODY), "cannot be opened")
        too_large = self.cluster.folder / "jobs/too-large.json"
        too_large.write_text(TOO_LARGE.read_text())
        self.refused(self.submit(too_large, before=AS_NOBODY), "DOES NOT FIT")

    def test_the_filter_in_lua(self):
        def submit(comment, program=HEADROOM):
            return self.cluster.run("env", f"HEADROOM={program}", "sbatch", "--wrap=true", *([f"--comment={comment}"] if comment else []), where="lua")
        folder = self.cluster.folder / "jobs"
        odd = folder / "it's $(touch owned) \"odd\".json"
        odd.write_text(TOO_LARGE.read_text())
        self.assertEqual(submit(f"headroom:{FITS}").returncode, 0)
        self.assertEqual(submit(None).returncode, 0)
        self.assertEqual(submit("a word").returncode, 0)
        self.refused(submit(f"headroom:{TOO_LARGE}"), "DOES NOT FIT: ", "GiB too much")
        self.refused(submit(f"headroom:{odd}"), "DOES NOT FIT")
        self.refused(submit("headroom:missing.json"), "cannot be opened")
        self.refused(submit("headroom:--help"), "cannot be opened")
        self.assertFalse((folder / "owned").exists())
        os.mkfifo(folder / "filter-pipe")
        self.refused(submit("headroom:filter-pipe"), "a pipe or a device, not a file")
        (folder / "outside.json").write_text(json.dumps({"model": "../../../../etc/passwd", "batch": {"sequence": 8}}))
        self.refused(submit("headroom:outside.json"), "leads out of the job's folder")
        slow = folder / "slow"  # stands for a file system that does not answer
        slow.write_text("#!/bin/sh\nexec sleep 100\n")
        slow.chmod(0o755)
        run = submit(f"headroom:{TOO_LARGE}", program=slow)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("Submitted", run.stdout)

    def test_the_filter_notes_its_decision_in_the_comment(self):
        def comment(said, where):
            run = self.cluster.run("sbatch", "--parsable", "--hold", "--wrap=true", f"--comment={said}", where=where)
            self.assertEqual(run.returncode, 0, run.stderr)
            number = run.stdout.strip()
            noted = self.cluster.run("squeue", "-h", "-j", number, "-o", "%k").stdout.strip()
            self.cluster.run("scancel", number)
            return noted, run.stderr
        noted, _ = comment(f"headroom:{FITS}", "lua")
        self.assertEqual(noted, f"headroom:{FITS} (fits)")
        self.assertEqual(comment(noted, "lua")[0], noted)  # a comment that was noted names the same file
        self.assertEqual(comment("a word", "lua")[0], "a word")
        noted, said = comment(f"headroom:{TOO_LARGE}", "lua-audit")
        self.assertEqual(noted, f"headroom:{TOO_LARGE} (does not fit)")
        self.assertIn("NOT REFUSED", said)
        self.assertIn("GiB too much", said)

    def test_the_filter_notes_it_for_srun_and_salloc_too(self):
        for tool in ("srun", "salloc"):
            def comment(said, where):
                """What squeue shows from inside the job."""
                run = self.cluster.run(tool, f"--comment={said}", "sh", "-c", "squeue -h -j $SLURM_JOB_ID -o %k", where=where)
                self.assertEqual(run.returncode, 0, run.stderr)
                return run.stdout.strip(), run.stderr
            with self.subTest(tool):
                self.assertEqual(comment(f"headroom:{FITS}", "lua")[0], f"headroom:{FITS} (fits)")
                self.assertEqual(comment("a word", "lua")[0], "a word")
                noted, said = comment(f"headroom:{TOO_LARGE}", "lua-audit")
                self.assertEqual(noted, f"headroom:{TOO_LARGE} (does not fit)")
                self.assertIn("NOT REFUSED", said)
                jobs = self.cluster.jobs()
                run = self.cluster.run(tool, f"--comment=headroom:{TOO_LARGE}", "true", where="lua")
                self.refused(run, "DOES NOT FIT: ", "GiB too much")
                self.assertEqual(self.cluster.jobs(), jobs)

    def test_an_audit_refuses_nothing(self):
        for job, said in ((TOO_LARGE, "GiB too much"), (FITS, "FITS with")):
            run = self.submit(job, where="audit")
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("Submitted", run.stdout)
            self.assertIn(said, run.stderr)
            self.assertEqual("NOT REFUSED" in run.stderr, job == TOO_LARGE)

    def test_a_search_as_an_array_is_the_search(self):
        search = ROOT / "examples/searches/llama-3.1-70b-512-gpus.json"
        folder = self.cluster.folder / "jobs"
        run = self.cluster.run("sbatch", "--array=0-3", "--wait", "--output=/dev/null",
                               f"--wrap={HEADROOM} plan {search} --shard $SLURM_ARRAY_TASK_ID/4 --threads 1 --json > part-$SLURM_ARRAY_TASK_ID.json")
        self.assertEqual(run.returncode, 0, run.stderr)
        merged = self.cluster.run(HEADROOM, "merge", *(folder / f"part-{i}.json" for i in range(4)), "--json")
        alone = self.cluster.run(HEADROOM, "plan", search, "--json")
        answers = [json.loads(r.stdout) for r in (merged, alone)]
        for answer in answers:
            answer.pop("seconds", None)
        self.assertEqual(answers[0], answers[1])

    def test_what_a_decision_takes(self):
        """Printed, not judged: a test machine is a busy machine."""
        def median(job):
            times = []
            for _ in range(15):
                start = time.perf_counter()
                self.assertEqual(self.submit(job, "--test-only").returncode, 0)
                times.append(time.perf_counter() - start)
            return statistics.median(times)
        without, judged = median(None), median(FITS)
        print(f"sbatch: {1000 * without:.1f} ms, with a decision {1000 * judged:.1f} ms", file=sys.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
