# Distributed under the Boost Software License, Version 1.0.
"""Runs a job file's training step and records what it occupied. See ../README.md."""
