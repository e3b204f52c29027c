# Distributed under the Boost Software License, Version 1.0.
"""measure.py on a CPU: what it builds and counts beside what headroom predicts, what it records, what it refuses.

HEADROOM names headroom's program."""

import io
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import torch  # noqa: E402

from measure import accelerator, build, command, environment, hugging_face, meters, modules, records, shapes, worker  # noqa: E402
from measure.grid import grid  # noqa: E402
from measure.jobs import read_job  # noqa: E402
from measure.keys import Mistake  # noqa: E402

HEADROOM = os.environ.get("HEADROOM", "headroom")
LLAMA = {"layers": 2, "hidden": 64, "heads": 4, "kv_heads": 2, "head_dim": 16, "ffn": 176, "vocab": 512}
QWEN2 = {**LLAMA, "attention_bias": True, "tied": True}
QWEN3 = {**LLAMA, "qk_norm": True}
GPT2 = {"base": "gpt2", "layers": 2, "hidden": 64, "heads": 4, "ffn": 256, "vocab": 512, "max_positions": 128}
MIXTRAL = {**LLAMA, "experts": {"count": 4, "active": 2, "ffn": 96}}
ALL_LINEAR = {"kind": "lora", "rank": 8, "targets": "all-linear", "format": "fp32"}
Q_AND_V = {"kind": "lora", "rank": 8, "targets": ["q_proj", "v_proj"], "format": "bf16"}
MIXED = {"parameters": "bf16", "compute": "bf16", "gradients": "fp32", "reduce": "fp32", "master": "none", "state": "fp32"}


def small(model, **keys):
    """A job that torch of any age runs on a CPU within a second."""
    return {**{"model": model, "hardware": {"gpu": "cpu"}, "framework": "libtorch", "precision": "fp32", "attention": "eager",
               "optimizer": {"name": "adamw", "implementation": "loop"}, "batch": {"micro": 1, "sequence": 128}}, **keys}


def predicted(job):
    done = subprocess.run([HEADROOM, "estimate", "-", "--json"], input=json.dumps(job), text=True, capture_output=True)
    if done.returncode == 2:
        raise AssertionError(f"headroom does not read {json.dumps(job)}: {done.stderr}")
    return json.loads(done.stdout)


def validated(made):
    lines = "".join(json.dumps(record) + "\n" for record in made)
    done = subprocess.run([HEADROOM, "validate", "-", "--json"], input=lines, text=True, capture_output=True)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)["records"]


def counted(job, **how):
    return worker.run_here(read_job(job), "cpu", how.get("transformers", False), how.get("keep_gradients", False), 2)


def said(*arguments):
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = command.main(arguments)
    return code, out.getvalue(), err.getvalue()


class Models(unittest.TestCase):
    def test_models_of_the_grid_have_the_parameters_that_headroom_counts(self):
        kinds = {json.dumps([entry.job["model"], entry.job.get("adapter")]): entry for entry in grid()}
        for entry in kinds.values():
            with self.subTest(entry.name):
                report = predicted(entry.job)["parameters"]
                self.assertEqual(build.count(build.on_meta(read_job(entry.job), False)), (report["total"], report["trainable"]))

    def test_every_name_is_the_model_that_headroom_knows_by_it(self):
        done = subprocess.run([HEADROOM, "count", "--json", *shapes.ZOO], text=True, capture_output=True, check=True)
        for known in json.loads(done.stdout)["models"]:
            model = build.on_meta(read_job(small(known["model"], batch={"sequence": 16})), False)
            self.assertEqual(build.count(model), (known["total"], known["trainable"]), known["model"])

    def test_configurations_mean_what_headroom_reads_in_them(self):
        common = {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
                  "intermediate_size": 176, "vocab_size": 512, "hidden_act": "silu", "max_position_embeddings": 128}
        for config in ({**common, "model_type": "llama", "attention_bias": True, "mlp_bias": True}, {**common, "model_type": "mistral"},
                       {**common, "model_type": "qwen2", "tie_word_embeddings": True}, {**common, "model_type": "qwen3", "head_dim": 32},
                       {**common, "model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2},
                       {"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 2, "vocab_size": 512, "n_positions": 128}):
            job = small(config)
            self.assertEqual(build.count(build.on_meta(read_job(job), False))[0], predicted(job)["parameters"]["total"], config)


def by_sum(self, x):
    """RMSNorm with the mean written as a sum: before 2.0, torch kept what a mean was made of."""
    wide = x.to(torch.float32)
    wide = wide * torch.rsqrt(wide.pow(2).sum(-1, keepdim=True) / wide.shape[-1] + 1e-6)
    return self.weight * wide.to(x.dtype)


class Steps(unittest.TestCase):
    def test_parameters_gradients_and_states_are_headrooms_to_the_byte(self):
        """So few tokens that the update is the peak: there the report shows all three whole."""
        batch = {"micro": 1, "sequence": 4}
        jobs = [small(LLAMA, batch=batch), small(LLAMA, batch=batch, precision="bf16"), small(QWEN2, batch=batch, precision="bf16-autocast"),
                small(QWEN3, batch=batch), small(GPT2, batch=batch), small(MIXTRAL, batch=batch),
                small(LLAMA, batch={**batch, "accumulation": 3}), small(LLAMA, batch=batch, recompute="full"),
                small(LLAMA, batch=batch, recompute={"mode": "full", "reentrant": True})]
        jobs += [small(LLAMA, batch=batch, optimizer={"name": name, "implementation": how}) for name in ("adam", "adagrad") for how in ("foreach", "loop")]
        jobs.append(small(LLAMA, batch=batch, optimizer={"name": "adamw", "implementation": "foreach"}))
        for job in jobs:
            with self.subTest(job):
                rank = predicted(job)["ranks"][0]
                self.assertEqual(rank["peak_phase"], "step")
                self.assertEqual(counted(job)["holds"], {key: rank["at_peak"][key] for key in ("parameters", "gradients", "optimizer_state")})

    def test_sgd_needs_nothing_for_its_update(self):
        for name, moments in (("sgd", 0), ("sgd-momentum", 1)):
            for how in ("foreach", "loop"):
                job = small(LLAMA, batch={"micro": 1, "sequence": 4}, optimizer={"name": name, "implementation": how})
                report, found = predicted(job), counted(job)
                whole = 4 * report["parameters"]["total"]
                self.assertEqual(found["holds"], {"parameters": whole, "gradients": whole, "optimizer_state": moments * whole})
                self.assertLess(abs(found["phases"]["step"] - report["ranks"][0]["phases"]["step"]), 512)

    def test_adapters_hold_what_headroom_says(self):
        for job in (small(LLAMA, adapter=ALL_LINEAR), small(LLAMA, precision="bf16", adapter=Q_AND_V),
                    small(LLAMA, precision=MIXED, adapter={**ALL_LINEAR, "dropout": 0.1}),
                    small(LLAMA, precision="bf16", adapter=Q_AND_V, recompute="full")):
            with self.subTest(job):
                rank, holds = predicted(job)["ranks"][0]["at_peak"], counted(job)["holds"]
                self.assertEqual(holds["parameters"], rank["parameters"] + rank["adapters"])
                self.assertEqual(holds["optimizer_state"], rank["optimizer_state"])
                width = {"fp32": 4, "bf16": 2}[job["adapter"]["format"]]
                self.assertEqual(holds["gradients"], width * predicted(job)["parameters"]["trainable"])

    def test_the_peak_is_headrooms_but_for_numbers_of_positions_and_steps(self):
        for job in (small(LLAMA), small(GPT2), small(QWEN3), small(QWEN3, precision="bf16"), small({**LLAMA, "tied": True}, precision="bf16"),
                    small(MIXTRAL), small(MIXTRAL, precision="bf16"), small(LLAMA, batch={"micro": 1, "sequence": 128, "accumulation": 2}),
                    small(GPT2, precision="bf16-autocast"), small(LLAMA, adapter=ALL_LINEAR), small(LLAMA, precision=MIXED, adapter=ALL_LINEAR),
                    *(small(LLAMA, precision="bf16", adapter={**Q_AND_V, "targets": targets})
                      for targets in (["q_proj"], ["v_proj"], ["q_proj", "v_proj"], ["o_proj"]))):
            with self.subTest(job), mock.patch.object(modules.RMSNorm, "forward", by_sum):
                rank, found = predicted(job)["ranks"][0], counted(job)
                tensors = sum(1 for p in build.on_meta(read_job(job), False).parameters() if p.requires_grad)
                more = found["metrics"]["allocated"] - rank["allocated"]
                self.assertEqual(rank["peak_phase"], "backward")
                self.assertGreater(more, 0)
                self.assertLess(more, 8 * 128 + 4 * tensors + 128)  # positions in int64, Adam's step of each tensor, scalars

    def test_gradients_that_stay_are_there_in_forward(self):
        job = small(LLAMA)
        freed, kept = counted(job)["phases"], counted(job, keep_gradients=True)["phases"]
        gradients = 4 * predicted(job)["parameters"]["total"]
        self.assertGreaterEqual(kept["forward"] - freed["forward"], gradients)

    def test_padding_and_dropout_run(self):
        for job in (small(LLAMA, batch={"micro": 2, "sequence": 16, "padded": True}),
                    small(GPT2, dropout={"hidden": 0.1, "attention": 0.1, "embedding": 0.1}, batch={"micro": 2, "sequence": 16})):
            self.assertGreater(counted(job)["phases"]["backward"], 0)

    @unittest.skipUnless(modules.HAS_SDPA, "the fused kernel came with torch 2.0")
    def test_the_fused_kernel_runs(self):
        for model in (LLAMA, GPT2, {**LLAMA, "kv_heads": 4}):
            counted(small(model, attention="sdpa"))

    def test_four_bit_bases_go_through_bitsandbytes(self):
        class Params4bit(torch.nn.Parameter):
            def __new__(cls, data, requires_grad, module, compress_statistics, quant_type):
                packed = torch.zeros((data.numel() + 1) // 2, 1, dtype=torch.uint8)
                return torch.Tensor._make_subclass(cls, packed, requires_grad)

        class Linear4bit(torch.nn.Linear):
            def __init__(self, inputs, outputs, bias, compute_dtype, compress_statistics, quant_type, device):
                super().__init__(inputs, outputs, bias, device=device)

            def forward(self, x):
                return torch.nn.functional.linear(x, torch.ones(self.out_features, self.in_features, dtype=x.dtype), self.bias)

        fake = types.ModuleType("bitsandbytes")
        fake.nn = types.ModuleType("bitsandbytes.nn")
        fake.nn.Linear4bit, fake.nn.Params4bit = Linear4bit, Params4bit
        job = small(LLAMA, precision="bf16-autocast", adapter={**ALL_LINEAR, "base": "nf4"}, recompute="full")
        with mock.patch.dict(sys.modules, {"bitsandbytes": fake, "bitsandbytes.nn": fake.nn}):
            holds = counted(job)["holds"]
        packed = 2 * (64 * 64 * 2 + 64 * 32 * 2 + 3 * 64 * 176) // 2  # two layers' matrices, half a byte each
        adapters = predicted(job)["parameters"]["trainable"]
        self.assertEqual(holds["parameters"], packed + 4 * (2 * 512 * 64 + 5 * 64) + 4 * adapters)

    def test_transformers_is_asked_for_the_same_shape(self):
        fake = types.ModuleType("transformers")
        fake.__version__ = "4.57.1"
        for name in ("Llama", "Qwen2", "Qwen3", "Mixtral", "GPT2"):
            setattr(fake, f"{name}Config", lambda kind=name, **keys: {"kind": kind, **keys})
        with mock.patch.dict(sys.modules, {"transformers": fake}):
            kinds = [hugging_face.config_of(read_job(small(model)))["kind"] for model in (LLAMA, QWEN2, QWEN3, MIXTRAL, GPT2)]
            self.assertEqual(kinds, ["Llama", "Qwen2", "Qwen3", "Mixtral", "GPT2"])
            self.assertEqual(hugging_face.config_of(read_job(small(MIXTRAL)))["intermediate_size"], 96)
            with self.assertRaisesRegex(Mistake, "--modules own"):
                hugging_face.config_of(read_job(small({**LLAMA, "mlp": "plain"})))
            fake.__version__ = "4.30.0"
            with self.assertRaisesRegex(Mistake, "older than 4.48"):
                hugging_face.config_of(read_job(small(LLAMA)))


class Gpus(unittest.TestCase):
    def test_phases_keep_their_tallest_peak_after_the_first_step(self):
        meter = meters.GpuMeter(torch.device("cuda", 0))
        peaks = iter([(10, 10, 20), (90, 95, 100), (50, 55, 60), (60, 61, 80)])

        def stats(device):
            allocated, active, reserved = next(peaks)
            return {"allocated_bytes.all.peak": allocated, "active_bytes.all.peak": active, "reserved_bytes.all.peak": reserved}

        with mock.patch.multiple(torch.cuda, synchronize=mock.DEFAULT, reset_peak_memory_stats=mock.DEFAULT, memory_stats=stats,
                                 mem_get_info=lambda device: (1000, 1300)):
            for name in ("load", "forward"):
                with meter.phase(name):
                    pass
            meter.forget()
            for _ in range(2):
                with meter.phase("forward"):
                    pass
            self.assertEqual(meter.metrics(), {"allocated": 60, "active": 61, "reserved": 100, "device": 300})
        self.assertEqual(meter.phases, {"load": 10, "forward": 60, "loss": 0, "backward": 0, "step": 0})

    def test_names_of_products(self):
        for product, name in (("NVIDIA H100 80GB HBM3", "h100-sxm-80gb"), ("NVIDIA H100 PCIe", "h100-pcie-80gb"), ("NVIDIA H200", "h200-sxm-141gb"),
                              ("NVIDIA A100-SXM4-80GB", "a100-sxm-80gb"), ("NVIDIA A10G", "a10g"), ("NVIDIA L4", "l4"), ("NVIDIA L40S", "l40s"),
                              ("NVIDIA GeForce RTX 4090", "rtx-4090"), ("Tesla T4", "t4"), ("NVIDIA Thor 9000", "thor-9000")):
            self.assertEqual(environment.gpu_name(product), name)

    def test_an_ascend_is_measured_through_torch_npu(self):
        asked = []

        def stats(device):
            asked.append(device)
            return {"allocated_bytes.all.peak": 10, "active_bytes.all.peak": 11, "reserved_bytes.all.peak": 20}

        npu = types.SimpleNamespace(is_available=lambda: True, device_count=lambda: 8, synchronize=lambda device: None, reset_peak_memory_stats=lambda device: None, memory_stats=stats,
                                    mem_get_info=lambda device: (1000, 1300), get_device_properties=lambda index: types.SimpleNamespace(name="Ascend910B2", total_memory=61 << 30))
        with mock.patch.dict(sys.modules, {"torch_npu": types.ModuleType("torch_npu")}), mock.patch.object(torch, "npu", npu, create=True):
            meter = meters.GpuMeter(types.SimpleNamespace(type="npu", index=0))
            with meter.phase("forward"):
                pass
            self.assertEqual(meter.metrics(), {"allocated": 10, "active": 11, "reserved": 20, "device": 300})
            self.assertEqual(len(asked), 1)
            said = "| npu-smi 24.1.rc2                 Version: 24.1.rc2              |"
            with mock.patch.object(accelerator, "answer_of", lambda words: said if words == ["npu-smi", "info"] else ""), \
                    mock.patch.dict(os.environ, {"ASCEND_TOOLKIT_HOME": "/usr/local/Ascend/ascend-toolkit/8.0.RC3"}), mock.patch.object(torch.version, "__version__", "2.5.1"):
                here = environment.environment("npu")
        self.assertEqual({key: here[key] for key in ("gpu", "product", "gpus", "memory", "driver", "runtime")},
                         {"gpu": "ascend-910b-64gb", "product": "Ascend910B2", "gpus": 8, "memory": 61 << 30, "driver": "24.1.rc2", "runtime": "CANN 8.0.RC3"})
        self.assertNotIn("cuda", here)
        self.assertEqual(accelerator.COLLECTIVES["npu"], "hccl")
        self.assertIsNone(accelerator.module_of("npu"))  # no torch_npu here

    def test_a_gpu_under_rocm_is_measured_through_torch_cuda(self):
        card = {"-d 1 --showmeminfo vram": {"card1": {"VRAM Total Memory (B)": "205822885888", "VRAM Total Used Memory (B)": "297639936"}},
                "-d 1 --showdriverversion": {"system": {"Driver version": "6.12.12"}}}

        def answer(words):
            return json.dumps(card.get(" ".join(words[1:-1]), {})) if words[0] == "rocm-smi" and words[-1] == "--json" else ""

        of = types.SimpleNamespace(name="AMD Instinct MI300X", total_memory=205_822_885_888, major=9, minor=4)
        with mock.patch.object(accelerator, "answer_of", answer), mock.patch.dict(os.environ, {"HIP_VISIBLE_DEVICES": "1,3"}), \
                mock.patch.object(torch.version, "hip", "6.4.43483", create=True), mock.patch.object(torch.version, "__version__", "2.7.0+rocm6.4"), \
                mock.patch.multiple(torch.cuda, is_available=lambda: True, device_count=lambda: 2, get_device_properties=lambda index: of):
            here = environment.environment("cuda")
            self.assertEqual(accelerator.used_by_others("cuda", 0), 297_639_936)
            of.name = "AMD Instinct MI999"
            with self.assertRaisesRegex(Mistake, "MI999 is no accelerator that headroom knows"):
                environment.environment("cuda")
        self.assertEqual((here["gpu"], here["driver"], here["runtime"]), ("mi300x-192gb", "6.12.12", "ROCm 6.4.43483"))
        self.assertNotIn("capability", here)  # 9.4 is no NVIDIA's
        job = read_job(small(LLAMA))
        made = records.records_of("x", job, here, Records.how, Records.result)
        self.assertIn("GPU AMD Instinct MI300X, driver 6.12.12, ROCm 6.4.43483, torch 2.7.0+rocm6.4", made[0]["note"])
        self.assertEqual([r["refused"] for r in validated(made)], [None] * len(made))

    def test_each_maker_is_told_how_segments_are_made(self):
        asked = []
        job = read_job(small(LLAMA, environment={"allocator": {"expandable_segments": True}}))
        with mock.patch.object(subprocess, "run", lambda words, env, **_: asked.append(env)):
            command.child(["worker"], job)
        for name in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_NPU_ALLOC_CONF"):
            self.assertEqual(asked[0][name], "expandable_segments:True")
            self.assertEqual(records.stated_environment({name: "expandable_segments:True"}), {"allocator": {"expandable_segments": True}})

    def test_the_reason_of_a_failure_is_the_error_not_the_launchers_summary(self):
        self.assertEqual(command.reason("Traceback\n  File\nmeasure.py: adapter needs bitsandbytes\n"), "adapter needs bitsandbytes")
        self.assertEqual(command.reason("[rank0]: RuntimeError: NCCL error\ntorch.distributed.elastic.ChildFailedError:\n=====\n"),
                         "[rank0]: RuntimeError: NCCL error")
        self.assertEqual(command.reason("Killed"), "Killed")
        self.assertEqual(command.reason(""), "no message")

    def test_what_counts_as_out_of_memory(self):
        self.assertTrue(worker.is_out_of_memory(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`")))
        self.assertTrue(worker.is_out_of_memory(RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")))
        self.assertFalse(worker.is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied")))


class Records(unittest.TestCase):
    here = {"gpu": "h100-sxm-80gb", "product": "NVIDIA H100 80GB HBM3", "gpus": 8, "memory": 84_942_979_072, "capability": "9.0",
            "cuda": "12.8", "driver": "570.1", "torch": "2.9.1"}
    how = {"modules": "own", "keep_gradients": False, "steps": 3, "settings": {}}
    result = {"metrics": {"allocated": 3 << 30, "active": 3 << 30, "reserved": 4 << 30, "device": 5 << 30}, "capacity": 80 << 30,
              "phases": {"load": 1, "forward": 2, "loss": 3, "backward": 4, "step": 5},
              "holds": {"parameters": 1, "gradients": 1, "optimizer_state": 2}, "parameters": 10, "trained": 10}

    def test_a_record_has_the_keys_of_those_that_are_there_and_headroom_reads_it(self):
        with (HERE / "measured.jsonl").open() as file:
            keys = list(json.loads(file.readline()))
        for entry in grid():
            if entry.name not in ("gpt2-bf16", "qwen2.5-0.5b-expandable", "llama-3.2-1b-fsdp2-8", "llama-3.2-1b-zero2-2", "llama-3.1-8b-qlora-nf4"):
                continue
            made = records.records_of(entry.name, read_job(entry.job), self.here, self.how, self.result)
            self.assertEqual([record["metric"] for record in made], ["allocated", "active", "reserved", "device"])
            for record, line in zip(made, validated(made)):
                self.assertEqual(list(record), keys)
                self.assertIsNone(line["refused"])
                self.assertEqual((line["id"], line["measured"], line["bound"]), (record["id"], record["value"], "equal"))
                self.assertIn("forward 2", record["note"])
                self.assertIn("driver 570.1", record["note"])

    def test_a_gpu_that_headroom_does_not_know_is_described(self):
        other = {**self.here, "gpu": "thor-9000"}
        self.assertIsNone(validated(records.records_of("x", read_job(grid()[0].job), other, self.how, self.result))[0]["refused"])

    def test_variables_of_the_shell_are_stated_in_the_job(self):
        set_here = environment.settings_of({"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "CUBLAS_WORKSPACE_CONFIG": ":16:8", "HOME": "/"})
        made, = records.records_of("x", read_job(grid()[0].job), self.here, {**self.how, "settings": set_here},
                                   {**self.result, "metrics": {"reserved": 1 << 30}, "kernel": "flash_attention"})
        self.assertEqual(made["job"]["environment"], {"allocator": {"expandable_segments": True}, "cublas_workspace": ":16:8", "torch": "2.9.1"})
        self.assertIn("attention sdpa (flash_attention)", made["note"])
        self.assertIn("CUBLAS_WORKSPACE_CONFIG=:16:8", made["note"])
        self.assertIsNone(validated([made])[0]["refused"])

    def test_out_of_memory_is_one_one_sided_record(self):
        gone = {"out_of_memory": "CUDA out of memory. Tried to allocate 2.00 GiB.", "capacity": 79 << 30}
        made = records.records_of("x", read_job(grid()[0].job), self.here, self.how, gone)
        self.assertEqual([(r["metric"], r["bound"], r["value"]) for r in made], [("device", "at-least", 79 << 30)])
        self.assertEqual(validated(made)[0]["bound"], "at-least")

    def test_environments_and_jobs_tell_records_apart(self):
        job = read_job(grid()[0].job)
        ids = {records.base_id("x", job, self.here, self.how), records.base_id("x", job, {**self.here, "driver": "580"}, self.how),
               records.base_id("x", job, self.here, {**self.how, "keep_gradients": True}),
               records.base_id("x", replace(job, raw={**job.raw, "batch": {"sequence": 8}}), self.here, self.how)}
        self.assertEqual(len(ids), 4)

    def test_a_run_is_appended_once_and_never_among_measurements(self):
        with tempfile.TemporaryDirectory() as folder:
            file, job = Path(folder) / "counts.jsonl", Path(folder) / "tiny.json"
            (Path(folder) / "config.json").write_text(json.dumps({
                "model_type": "llama", "num_hidden_layers": 1, "hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 64, "vocab_size": 64}))
            job.write_text(json.dumps(small("config.json", batch={"sequence": 16})))
            asked = ("run", str(job), "--device", "cpu", "--modules", "own", "--append", str(file), "--headroom", HEADROOM)
            code, out, err = said(*asked)
            self.assertEqual((code, err), (0, ""))
            self.assertRegex(out, r"allocated +\d+\.\d{3} GiB +predicted +\d+\.\d{3} GiB +[+-]\d+\.\d\d %")
            line, = records.read_records(file)
            self.assertEqual((line["family"], line["grade"], line["job"]["hardware"]["gpu"]), ("cpu-count", "C", "cpu"))
            self.assertEqual(line["job"]["model"]["hidden_size"], 32)
            self.assertIsNone(validated([line])[0]["refused"])
            self.assertIn("has it already", said(*asked)[1])
            self.assertEqual(len(records.read_records(file)), 1)
            for mixed, other in (([line], HERE / "measured.jsonl"), (records.records_of("x", read_job(grid()[0].job), self.here, self.how, self.result), file)):
                with self.assertRaisesRegex(Mistake, "choose another file"):
                    records.append(other, mixed)


class Grid(unittest.TestCase):
    def test_it_is_long_distinct_and_always_the_same(self):
        entries = grid()
        self.assertGreaterEqual(len(entries), 60)
        self.assertEqual(entries, grid())
        self.assertEqual(len({entry.name for entry in entries}), len(entries))
        self.assertEqual(len({json.dumps([entry.job, entry.keep_gradients], sort_keys=True) for entry in entries}), len(entries))

    def test_headroom_predicts_every_job_of_it(self):
        made = [records.records_of(entry.name, read_job(entry.job), Records.here, Records.how, Records.result)[0] for entry in grid()]
        self.assertEqual([line["id"] for line in validated(made) if line["refused"] or not line["predicted"]], [])

    def test_a_run_of_it_goes_on_after_what_did_not_run(self):
        outcomes = {"gpt2-b4": self.bound("at-least"), "gpt2-b16": Mistake("needs 2 GPUs, this machine has 1"),
                    "gpt2-bf16-autocast": Mistake("RuntimeError: no such kernel")}

        def pretend(name, *rest):
            found = outcomes.get(name)
            if isinstance(found, Mistake):
                raise found
            return found

        with mock.patch.object(command, "measure", pretend), mock.patch.object(command, "machine", lambda asked: {"gpus": 1}):
            code, out, _ = said("grid", "--run", "--only", "gpt2-b")
        self.assertEqual(code, 1)
        lines = [line for line in out.splitlines() if line.startswith("[")]
        self.assertEqual([line.split(" ", 1)[1] for line in lines],
                         ["gpt2-bf16: recorded already", "gpt2-bf16-recompute: recorded already", "gpt2-b4: out of memory",
                          "gpt2-b16: left out: needs 2 GPUs, this machine has 1", "gpt2-bf16-autocast: failed: RuntimeError: no such kernel"])
        self.assertEqual(out.splitlines()[-1], "0 measured, 1 out of memory, 2 recorded already, 1 left out, 1 failed")
        self.assertTrue(lines[0].startswith("[1/5] "))

    @staticmethod
    def bound(kind):
        return [{"id": "x", "metric": "device", "value": 1 << 30, "bound": kind}]

    def test_it_is_listed_and_written_as_job_files(self):
        code, out, _ = said("grid")
        self.assertEqual((code, len(out.splitlines())), (0, len(grid())))
        with tempfile.TemporaryDirectory() as folder:
            said("grid", "--write", folder, "--only", "gpt2")
            written = sorted(Path(folder).glob("*.json"))
            self.assertEqual(len(written), sum("gpt2" in entry.name for entry in grid()))
            self.assertIn("ranks", predicted(json.loads(written[0].read_text())))


FAKE = """
import json, sys
print(json.dumps({"environment": %s}), flush=True)
for number, line in enumerate(sys.stdin, 1):
    layers = json.loads(line)["model"]["num_hidden_layers"]
    if layers == 1:
        sys.exit(1)
    if layers == 2:
        print(json.dumps({"error": "ValueError: no such thing", "residue": 1 << 30}), flush=True)
    elif layers == 3 and float(sys.argv[3]) < 0.9:
        print(json.dumps({"out_of_memory": "tried 4 GiB", "residue": 0}), flush=True)
    else:
        print(json.dumps({"metrics": {"allocated": 1 << 32, "reserved": 5 << 30}, "phases": {"forward": 1}, "holds": {"parameters": 2}, "parameters": 3,
                          "trained": 3, "seconds": 0.5, "attention": "eager", "experts": None, "takes num_items_in_batch": True,
                          "pictures": {"input_ids": [2, 8]}, "residue": 0}), flush=True)
"""


class TrainerRuns(unittest.TestCase):
    HERE = {"gpu": "h100-sxm-80gb", "product": "NVIDIA H100 80GB HBM3", "memory": 85017624576, "capability": "9.0", "cuda": "13.0", "driver": "580",
            "torch": "2.11.0", "transformers": "5.17.0", "accelerate": "1.15.0", "peft": "0.21.0"}

    def test_a_process_that_dies_ends_no_run(self):
        from measure import trainer, trainer_jobs

        with tempfile.TemporaryDirectory() as folder:
            fake, jobs, out = (Path(folder) / name for name in ("fake.py", "jobs.jsonl", "out.jsonl"))
            fake.write_text(FAKE % repr(self.HERE))
            lines = [{"name": f"l{layers}", "job": trainer_jobs.job({**trainer_jobs.LLAMA, "num_hidden_layers": layers})} for layers in (4, 1, 2, 3, 5)]
            jobs.write_text("".join(json.dumps(line) + "\n" for line in lines))
            with mock.patch.object(trainer, "SCRIPT", fake):
                code, said_, _ = said("trainer", str(jobs), "--append", str(out), "--workers", "2", "--seconds", "60")
            self.assertEqual(code, 0)
            self.assertIn("l2: failed: ValueError: no such thing", said_)
            self.assertIn("l3: measured: 4.000 GiB", said_)
            self.assertEqual(said_.splitlines()[-1].split(", ")[-1], "0 not begun")
            made = [json.loads(line) for line in out.read_text().splitlines()]
        self.assertEqual(sorted(each["id"].split("-")[1] for each in made), ["l3", "l3", "l4", "l4", "l5", "l5"])
        self.assertEqual({each["job"]["attention"] for each in made}, {"eager"})
        self.assertEqual({each["refused"] for each in validated(made)}, {None})

    def test_every_job_has_a_name_of_its_own_and_inputs(self):
        from measure import trainer_inputs, trainer_jobs, trainer_step

        entries = trainer_jobs.entries()
        self.assertEqual(len({entry["name"] for entry in entries}), len(entries))
        for job in (entry["job"] for entry in entries):
            trainer_step.precision_of(job)
            self.assertIn((job["optimizer"]["name"], job["optimizer"].get("implementation")), trainer_step.OPTIMIZERS)
        config = types.SimpleNamespace(model_type="llama", vocab_size=64, image_token_id=33)
        given = trainer_inputs.batch_of(types.SimpleNamespace(config=config, dtype=torch.bfloat16), {"batch": {"micro": 2, "sequence": 64, "padded": True}})
        self.assertEqual((int(given["attention_mask"].sum()), int((given["labels"] == -100).sum())), (120, 8))
        self.assertFalse(bool((given["input_ids"] == 33).any()))


class Mistakes(unittest.TestCase):
    def test_each_has_a_sentence(self):
        for change, sentence in (
                ({"model": "llama-9"}, "model 'llama-9' is not a name that can be built here"),
                ({"model": {"base": "gpt3"}}, "model.base 'gpt3'"),
                ({"model": {**LLAMA, "hiden": 3}}, r'model.hiden is not a key that can be measured; did you mean "hidden"\?'),
                ({"model": {**LLAMA, "kv_heads": 3}}, "model.heads must be a multiple of model.kv_heads"),
                ({"model": {**LLAMA, "mla": {}}}, "model.mla is not a key"),
                ({"model": {**MIXTRAL, "experts": {"count": 4, "active": 5, "ffn": 8}}}, "model.experts must have active from 1 to count"),
                ({"model": {"model_type": "gemma2"}}, "model.model_type 'gemma2' is not built here"),
                ({"model": {"model_type": "llama"}}, "model.num_hidden_layers is required"),
                ({"model": 3}, "model must be a name"),
                ({"batch": {}}, "batch.sequence must be a whole number from 2"),
                ({"batch": {"sequence": 8, "micro": True}}, "batch.micro must be a whole number from 1, found True"),
                ({"model": GPT2, "batch": {"sequence": 256}}, "batch.sequence must be at most model.max_positions, 128"),
                ({"framework": "torchtitan"}, "framework must be libtorch"),
                ({"framework": {"name": "libtorch", "options": {"x": 1}}}, "framework.options must be left out"),
                ({"precision": "fp8"}, "precision must be one of"),
                ({"precision": "bf16-mixed"}, "an fp32 master copy"),
                ({"optimizer": "adafactor"}, "optimizer.name must be one of"),
                ({"optimizer": {"name": "adamw-8bit", "implementation": "fused"}}, "optimizer.implementation must be left out"),
                ({"parallel": {"tensor": 2}}, "parallel.tensor must be 1"),
                ({"hardware": {"nodes": 2}}, "hardware.nodes must be 1"),
                ({"hardware": {"gpus_per_node": 2}}, "sharding must be ddp, fsdp2 or zero on several GPUs"),
                ({"sharding": "fsdp1"}, "sharding.kind must be one of"),
                ({"sharding": "ddp"}, "sharding must be none on one GPU"),
                ({"recompute": "selective"}, "recompute.mode must be one of none, full"),
                ({"attention": "flash3"}, "attention must be one of sdpa, eager"),
                ({"compile": True}, "compile must be false"),
                ({"trainable": []}, 'trainable must be "all"'),
                ({"offload": {"optimizer": "cpu"}}, "offload.optimizer must be one of none"),
                ({"dropout": {"hidden": 0.1}}, "dropout.hidden and dropout.embedding must be 0"),
                ({"adapter": {"kind": "dora"}}, "adapter.kind must be one of none, lora"),
                ({"adapter": {"kind": "lora", "rank": 8, "targets": ["wq"]}}, "adapter.targets must be"),
                ({"adapter": {**ALL_LINEAR, "base": "nf4"}}, "with precision bf16-autocast alone"),
                ({"bach": {}}, r'bach is not a key that can be measured; did you mean "batch"\?')):
            with self.subTest(change), self.assertRaisesRegex(Mistake, sentence):
                read_job({**small(LLAMA), **change})

    def test_the_command_says_them_without_a_traceback(self):
        with tempfile.TemporaryDirectory() as folder:
            broken = Path(folder) / "broken.json"
            broken.write_text("{")
            for arguments, sentence in ((("run", "nowhere.json"), "there is no file nowhere.json"), (("run", str(broken)), "is not JSON"),
                                        (("run", str(broken), "--steps", "1"), "--steps must be at least 2"),
                                        (("grid", "--only", "no such"), "no job of the grid")):
                code, out, err = said(*arguments)
                self.assertEqual((code, out), (2, ""))
                self.assertRegex(err, f"^measure.py: .*{sentence}")
                self.assertEqual(len(err.splitlines()), 1)

    def test_a_target_that_the_model_lacks(self):
        with self.assertRaisesRegex(Mistake, "no linear layer"):
            build.on_meta(read_job(small(LLAMA, adapter={**Q_AND_V, "targets": ["c_attn"]})), False)

    def test_a_missing_library(self):
        for change, name in (({"optimizer": "adamw-8bit"}, "bitsandbytes"),
                             ({"precision": "bf16-autocast", "adapter": {**ALL_LINEAR, "base": "nf4"}}, "bitsandbytes")):
            with mock.patch.dict(sys.modules, {"bitsandbytes": None, "bitsandbytes.nn": None}), self.assertRaisesRegex(Mistake, f"needs {name}"):
                counted(small(LLAMA, **change))


if __name__ == "__main__":
    unittest.main()
