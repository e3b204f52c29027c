# Distributed under the Boost Software License, Version 1.0.
"""Who counts: the caching allocator and the driver on a GPU, torch's profiler on a CPU. Bytes of each phase of a step."""

from __future__ import annotations

import contextlib
from typing import Iterable, Iterator

import torch
from torch import Tensor

from .accelerator import module_of

PHASES = ("load", "forward", "loss", "backward", "step")


def storages(tensors: Iterable[Tensor]) -> int:
    """Bytes behind tensors, shared storage once."""
    sizes: dict[int, int] = {}
    for tensor in tensors:
        storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
        sizes[storage.data_ptr()] = storage.nbytes()
    return sum(sizes.values())


class GpuMeter:
    """Peaks of the allocator's memory_stats, phase by phase. `reserved` is never reset: what the allocator took stays taken."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.of = module_of(device.type)
        self.phases = dict.fromkeys(PHASES, 0)
        self.allocated = self.active = self.reserved = 0

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        self.of.synchronize(self.device)
        self.of.reset_peak_memory_stats(self.device)
        try:
            yield
        finally:
            self.of.synchronize(self.device)
            stats = self.of.memory_stats(self.device)
            allocated, active = stats["allocated_bytes.all.peak"], stats["active_bytes.all.peak"]
            self.phases[name] = max(self.phases[name], allocated)
            self.allocated, self.active = max(self.allocated, allocated), max(self.active, active)
            self.reserved = max(self.reserved, stats["reserved_bytes.all.peak"])

    def forget(self) -> None:
        """The first step is over: from here on everything that lasts is there."""
        self.phases.update(dict.fromkeys(("forward", "loss", "backward", "step"), 0))
        self.allocated = self.active = 0

    def metrics(self) -> dict[str, int]:
        free, total = self.of.mem_get_info(self.device)
        return {"allocated": self.allocated, "active": self.active, "reserved": self.reserved, "device": total - free}


class CpuMeter:
    """Every allocation and release that torch's profiler sees, summed up in order. Nothing is rounded; there is no cache."""

    def __init__(self) -> None:
        self.phases = dict.fromkeys(PHASES, 0)
        self.live = 0

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as events:
            yield
        for event in events.profiler.kineto_results.events():
            if event.name() == "[memory]":
                self.live += event.nbytes()
                self.phases[name] = max(self.phases[name], self.live)

    def forget(self) -> None:
        self.phases.update(dict.fromkeys(("forward", "loss", "backward", "step"), 0))

    def metrics(self) -> dict[str, int]:
        return {"allocated": max(self.phases[name] for name in PHASES[1:])}
