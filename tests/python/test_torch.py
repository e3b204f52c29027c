# Distributed under the Boost Software License, Version 1.0.
# The guards of the Python package around training on a PyTorch that is none of ours. Without a GPU: what it counted is compared where there is one, so
# that here its counters are filled by hand, under the names by which PyTorch itself reads them. transformers is stood in for by what its
# CallbackHandler does (src/transformers/trainer_callback.py: every event of every callback, with args, state, control and keywords).
#   PYTHONPATH=SITE python3 test_torch.py
import logging, pathlib, sys, types, unittest
from unittest import mock

import headroom

assert "torch" not in sys.modules, "the package loads no torch by itself"
import torch

JOBS = pathlib.Path(__file__).parents[2] / "examples/jobs"
FITS, OVER = JOBS / "llama-3.1-8b-zero3.json", JOBS / "yi-34b-zero2-16gpus.json"
GIB = 2**30
STATS = {"allocated_bytes.all.peak": 20 * GIB, "reserved_bytes.all.peak": 22 * GIB}
EVENTS = ("init_end", "train_begin", "train_end", "epoch_begin", "epoch_end", "step_begin", "substep_end", "step_end", "evaluate", "save", "log")


def on_a_gpu(test):
    """PyTorch as on a GPU that has been used: only the driver's counters are not there."""
    return mock.patch.multiple(torch.cuda.memory, memory_stats=lambda device=None: dict(STATS))(
        mock.patch.multiple(torch.cuda, is_available=lambda: True, memory_stats=lambda device=None: dict(STATS))(test))


def training(steps, handler=None, after=lambda: None):
    """A few steps of AdamW on a small model, with the Trainer's events; the losses. `after` is called after each step's."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 16))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x = torch.randn(8, 16)
    state = types.SimpleNamespace(global_step=0, epoch=0)
    call = (lambda event: getattr(handler, f"on_{event}")(None, state, None, model=model, optimizer=optimizer, train_dataloader=None)) if handler else lambda event: None
    losses = []
    call("train_begin")
    call("epoch_begin")
    for _ in range(steps):
        call("step_begin")
        loss = torch.nn.functional.mse_loss(model(x), x)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        state.global_step += 1
        losses.append(loss.item())
        call("step_end")
        after()
    call("epoch_end")
    call("train_end")
    return losses


class Guards(unittest.TestCase):
    def test_a_training_runs_inside_as_it_does_outside(self):
        with headroom.fitting(FITS) as guard:
            inside = training(3)
        self.assertEqual(inside, training(3))
        self.assertLess(inside[-1], inside[0])
        self.assertEqual(guard.compared, [] if not torch.cuda.is_available() else guard.compared)  # no GPU: nothing was counted

    def test_what_does_not_fit_is_refused_before_a_tensor_is_made(self):
        with mock.patch.object(torch.nn.Linear, "__init__", side_effect=AssertionError("a tensor was made")):
            with self.assertRaises(headroom.DoesNotFit):
                with headroom.fitting(OVER):
                    training(1)

    def test_an_error_of_the_training_comes_out(self):
        with self.assertRaisesRegex(RuntimeError, "shapes cannot be multiplied"):
            with headroom.fitting(FITS):
                torch.nn.Linear(16, 4)(torch.randn(2, 15))

    @on_a_gpu
    def test_the_counters_are_those_that_pytorch_reads(self):
        allocated, reserved = headroom.compare(headroom.replay(FITS))
        self.assertEqual((allocated.measured, reserved.measured), (torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()))
        self.assertEqual((allocated.measured, reserved.measured), (20 * GIB, 22 * GIB))
        with headroom.fitting(FITS) as guard:
            training(2)
        self.assertEqual(guard.compared, [allocated, reserved])

    def test_a_gpu_that_was_not_used_is_not_compared(self):
        with mock.patch.multiple(torch.cuda, is_available=lambda: True):
            self.assertEqual(headroom.compare(headroom.replay(FITS)), [])  # its memory_stats() is empty before the first tensor


class Callback(unittest.TestCase):
    def setUp(self):
        transformers = types.ModuleType("transformers")
        transformers.TrainerCallback = type("TrainerCallback", (), {f"on_{e}": lambda self, args, state, control, **more: None for e in EVENTS})
        patch = mock.patch.dict(sys.modules, transformers=transformers)
        patch.start()
        self.addCleanup(patch.stop)

    @on_a_gpu
    def test_it_looks_after_the_second_step_and_at_the_end(self):
        callback = headroom.trainer.callback(FITS)
        with self.assertLogs("headroom", logging.INFO) as logs:
            looked = []
            training(4, callback, lambda: looked.append(len(callback.guard.compared)))
        self.assertEqual(looked, [0, 2, 2, 2])
        self.assertEqual([line.split(": ")[1] for line in logs.output[1:]], ["allocated", "reserved"] * 2)
        self.assertIn("FITS", logs.output[0])
        self.assertIn("20.00 GiB measured", logs.output[1])

    @on_a_gpu
    def test_it_refuses_before_the_first_step(self):
        callback = headroom.trainer.callback(OVER)
        with mock.patch.object(torch.optim.AdamW, "step", side_effect=AssertionError("a step was made")):
            with self.assertRaises(headroom.DoesNotFit), self.assertLogs("headroom", logging.INFO):
                training(4, callback)

    def test_without_a_gpu_it_says_what_was_predicted_and_no_more(self):
        with self.assertLogs("headroom", logging.INFO) as logs:
            training(3, headroom.trainer.callback(FITS))
        self.assertEqual(len(logs.output), 1 if not torch.cuda.is_available() else 5)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
