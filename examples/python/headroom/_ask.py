# Distributed under the Boost Software License, Version 1.0.
"""How the extension is asked: a dictionary in, a dictionary out, exceptions for what is no answer."""
from __future__ import annotations

import json
from typing import Any, Mapping, Optional

from . import _calls

Document = dict[str, Any]  # of JSON


class Refused(ValueError):
    """headroom does not answer: the sentence says what is wrong, where, and what would be right."""


class NotDecided(TimeoutError):
    """There was no time left for an answer. It says nothing of the job."""


_BAD_INPUT, _NOT_DECIDED = 2, 4


def ask(name: str, request: Mapping[str, Any], seconds: Optional[float] = None) -> Document:
    """The answer of a call. `seconds`: how long it may take; None: as long as it takes.

    Raises Refused for bad input and NotDecided where the time was over."""
    said = {key: value for key, value in request.items() if value is not None}
    try:
        text = json.dumps(said, allow_nan=False)
    except (TypeError, ValueError) as wrong:
        raise Refused(f"headroom: the job is no JSON: {wrong}") from None
    outcome, written = _calls.call(name, text, seconds)
    answer: Document = json.loads(written)
    if outcome == _BAD_INPUT:
        raise Refused(answer["sentence"])
    if outcome == _NOT_DECIDED and name != "plan":
        raise NotDecided(answer["sentence"])
    return answer
