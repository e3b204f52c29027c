# Distributed under the Boost Software License, Version 1.0.
"""A callback for the Trainer of Hugging Face, and for TRL's. transformers is imported when it is asked for."""
from __future__ import annotations

import logging
from typing import Any, Optional

from .guard import fitting
from .job import JobLike


def callback(job: JobLike, *, confidence: Optional[float] = None, seconds: Optional[float] = None, refuse: bool = True, pipeline_stage: int = 0) -> Any:
    """trainer.add_callback(headroom.trainer.callback(job)): raises DoesNotFit when training begins, before the first step, and logs what PyTorch
    counted beside the prediction after the second step (the first allocates the optimizer's state) and at the end. The object's `guard` holds
    the report and what was compared. Raises ImportError without transformers."""
    from transformers import TrainerCallback

    guard = fitting(job, confidence=confidence, seconds=seconds, refuse=refuse, pipeline_stage=pipeline_stage)
    log = logging.getLogger("headroom")

    class Headroom(TrainerCallback):  # type: ignore[misc]
        def __init__(self) -> None:
            self.guard = guard

        def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            log.info("headroom: %s", guard.report.sentence)
            guard.check()

        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            if state.global_step == 2:
                self._look()

        def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            self._look()

        def _look(self) -> None:
            for one in guard.look():
                log.log(logging.INFO if one.inside else logging.WARNING, "headroom: %s", one)

    return Headroom()
