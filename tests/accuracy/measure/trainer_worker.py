# Distributed under the Boost Software License, Version 1.0.
"""The process that runs jobs of transformers.Trainer: one line in, one line out, nothing left between them."""

from __future__ import annotations

import gc
import json
import os
import sys
import traceback
from typing import Any

import torch

from .environment import environment, version_of
from .trainer_step import trained


def clear() -> int:
    """Forgets a job. Bytes that are still there: the next job would count them."""
    from accelerate.state import AcceleratorState, GradientState

    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()
    gc.collect()
    torch.cuda.synchronize()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.memory_allocated()


def answer(job: dict[str, Any]) -> dict[str, Any]:
    try:
        return trained(job)
    except torch.OutOfMemoryError as error:
        traceback.clear_frames(error.__traceback__)
        return {"out_of_memory": str(error).split("\n")[0]}
    except Exception as error:  # one failure never stops the rest
        traceback.print_exc()
        traceback.clear_frames(error.__traceback__)
        last = traceback.extract_tb(error.__traceback__)[-1]
        return {"error": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''} ({os.path.basename(last.filename)}:{last.lineno})"}


def serve(fraction: float) -> int:
    """Jobs in, one a line; results out, one a line. What libraries print goes to the log."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    here = environment("cuda") | {name: version_of(name) for name in ("accelerate", "peft")}
    from transformers import Trainer, TrainingArguments  # noqa: F401 - the time that this takes belongs to no job

    torch.cuda.set_per_process_memory_fraction(fraction)
    print(json.dumps({"environment": here}), file=out, flush=True)
    for line in sys.stdin:
        result = answer(json.loads(line))
        try:
            result["residue"] = clear()
        except RuntimeError as error:  # a failed kernel spoils the process: the next job gets another
            result["residue"] = 1 << 40
            print(f"not cleared: {error}", file=sys.stderr)
        print(json.dumps(result, default=str), file=out, flush=True)
    return 0
