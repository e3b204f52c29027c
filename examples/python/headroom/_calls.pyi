# Distributed under the Boost Software License, Version 1.0.
from typing import Optional, Tuple

interface: int
version: str

def call(name: str, request: str, seconds: Optional[float] = None) -> Tuple[int, str]: ...
