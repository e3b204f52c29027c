#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0.
"""measure.py run JOB.json | grid [--run]: what a training step occupies on this machine's GPU. See README.md."""

import sys

from measure.command import main

if __name__ == "__main__":
    sys.exit(main())
