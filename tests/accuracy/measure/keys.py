# Distributed under the Boost Software License, Version 1.0.
"""JSON objects read key by key, with a sentence for each mistake."""

from __future__ import annotations

import difflib
from typing import Any, Iterable, NoReturn, TypeVar

T = TypeVar("T")


class Mistake(Exception):
    """What is wrong with the input, as a sentence for its writer."""


def fail(sentence: str) -> NoReturn:
    raise Mistake(sentence)


def listed(names: Iterable[str]) -> str:
    return ", ".join(names)


class Keys:
    """One object of a job file. What was never taken is an unknown key: `finish` says so."""

    def __init__(self, value: Any, path: str) -> None:
        if not isinstance(value, dict):
            fail(f"{path or 'a job'} must be an object, found {value!r}")
        self.value: dict[str, Any] = value
        self.path = path
        self.known: list[str] = []

    def at(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def take(self, key: str, default: Any = None) -> Any:
        self.known.append(key)
        return self.value.get(key, default)

    def whole(self, key: str, default: int = 0, least: int = 0) -> int:
        found = self.take(key, default)
        if isinstance(found, bool) or not isinstance(found, int) or found < least:
            fail(f"{self.at(key)} must be a whole number from {least}, found {found!r}")
        return found

    def number(self, key: str, default: float = 0.0, most: float = 1.0) -> float:
        found = self.take(key, default)
        if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 <= found <= most:
            fail(f"{self.at(key)} must be a number from 0 to {most:g}, found {found!r}")
        return float(found)

    def flag(self, key: str, default: bool = False) -> bool:
        found = self.take(key, default)
        if not isinstance(found, bool):
            fail(f"{self.at(key)} must be true or false, found {found!r}")
        return found

    def word(self, key: str, accepted: Iterable[str], default: str) -> str:
        found = self.take(key, default)
        names = list(accepted)
        if found not in names:
            fail(f"{self.at(key)} must be one of {listed(names)} to be measured, found {found!r}")
        return found

    def finish(self) -> None:
        for key in self.value:
            if key not in self.known:
                meant = difflib.get_close_matches(key, self.known, 1)
                hint = f'; did you mean "{meant[0]}"?' if meant else f"; read here: {listed(self.known)}"
                fail(f'{self.at(key)} is not a key that can be measured{hint}')
