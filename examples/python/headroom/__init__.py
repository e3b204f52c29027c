# Distributed under the Boost Software License, Version 1.0.
"""What training a language model occupies, and how long a step takes, before it is launched.

    import headroom
    report = headroom.replay("job.json")
    if not report.fits:
        print(report.sentence, report.advice)

Memory is in bytes, as int; times are in seconds. Bad input is headroom.Refused, with the sentence."""
from . import trainer
from ._ask import NotDecided, Refused
from ._calls import version as __version__
from .calls import cost, diagnose, estimate, export, fit, import_files, names, plan, replay, solve, sweep
from .guard import Comparison, DoesNotFit, compare, fitting
from .job import Job
from .plans import Plan, Plans
from .report import Advice, Cost, Diagnosis, Fit, Range, Rank, Report, Solution

__all__ = ["Advice", "Comparison", "Cost", "Diagnosis", "DoesNotFit", "Fit", "Job", "NotDecided", "Plan", "Plans", "Range", "Rank", "Refused", "Report", "Solution", "compare", "cost",
           "diagnose", "estimate", "export", "fit", "fitting", "import_files", "names", "plan", "replay", "solve", "sweep", "trainer"]
