"""Recorded runs of LLM benchmarks in Python, read by the program pa-analyze.

    import pa
    run = pa.read("profile_export.json")
    run.report.experiments[0].metrics.ttft_ns.p99   # objects
    run.requests                                    # a DataFrame, a row for each request
    run.tokens                                      # a DataFrame, a row for each token event
"""

from ._program import Error, Warning
from ._run import Run, read

__all__ = ["Error", "Run", "Warning", "read"]
