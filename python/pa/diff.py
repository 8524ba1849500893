# Made from schemas/diff.schema.json by tools/pytypes; do not edit.
"""What pa-analyze diff --format json writes. Times are nanoseconds, rates per second, shares and changes ratios: 0.05 is five percent. A number that does not exist is absent, or null in a list."""

from dataclasses import dataclass
from typing import Any, Dict, List, Literal, Optional, Union

from ._json import Object

__all__ = [
    "Diff",
    "Answer",
    "Outlying",
    "LeftOut",
    "Measured",
    "Side",
    "Run",
    "Difference",
    "Level",
    "ServerFigureNa",
    "ServerFigure",
    "MetricWithin",
    "MetricNa",
    "Metric",
    "SelectedSteady",
    "Selected",
    "Gate",
]


@dataclass(frozen=True)
class Diff(Object):
    """What pa-analyze diff --format json writes. Times are nanoseconds, rates per second, shares and changes ratios: 0.05 is five percent. A number that does not exist is absent, or null in a list."""

    schema: str
    answer: "Answer"
    margin: float
    """The smallest change that matters, of --margin."""
    outlying: List["Outlying"]
    """Runs that differ from the others of their side by far more than these differ."""
    left_out: List["LeftOut"]
    """Runs that do not count, because of --exclude-run or --drop-first."""
    mode: Literal["single-run", "several-runs"]
    """single-run: one run a side; the answer holds for these two runs only."""
    confidence: float
    """Level of the intervals."""
    alpha: float
    """At which adjusted p-value there is a difference."""
    family: int
    """How many p-values were adjusted together."""
    measured: "Measured"
    old: "Side"
    new: "Side"
    comparable: bool
    """false: a difference refuses the comparison, and there are neither intervals nor verdicts."""
    differences: List["Difference"]
    unchecked: List[str]
    """Names of differences that would refuse the comparison, but that neither side has anything about."""
    levels: List["Level"]
    """The load levels that both sides have."""
    old_only: List[str]
    """Names of levels that only the old side has."""
    new_only: List[str]
    gates: List["Gate"]
    """Each --fail-on and --require at each level."""
    warnings: List[str]
    headline: Optional[str] = None
    """What was found, in one line for people."""
    turns: Optional[Literal["in-turn", "one-side-after-the-other"]] = None
    """How the runs of the two sides follow each other in time; absent if that is not known."""
    together: Optional["Level"] = None
    """The judged metrics over all levels: a run's value is the geometric mean of its values at the levels. Absent for one level, for one run a side, and if a run lacks a level."""
    paired_by: Optional[Literal["order", "kind"]] = None
    """What pairs the levels of --pair; absent for levels of the same load."""


@dataclass(frozen=True)
class Answer(Object):
    verdict: Literal["worse", "better", "better-and-worse", "fails-more", "fails-less", "different", "no-difference", "cannot-tell", "not-comparable"]
    because: Optional[str] = None
    """Why the data cannot tell, and what would be enough."""
    within: Optional[float] = None
    """Of no-difference: each judged metric was shown to change by less than this."""
    without: Optional["Answer"] = None
    """The answer without the outlying runs."""
    text: Optional[str] = None
    """The answer without the outlying runs, for people."""


@dataclass(frozen=True)
class Outlying(Object):
    run: str
    """Side and number in the order of the starts: old.1."""
    file: str
    metric: str
    """The judged metric in which it differs most."""
    level: Optional[str] = None
    """Absent for one level, and over all levels."""
    factor: Optional[float] = None
    """Its value divided by the geometric mean of the others of its side."""
    value: Optional[float] = None
    others_least: Optional[float] = None
    others_most: Optional[float] = None


@dataclass(frozen=True)
class LeftOut(Object):
    run: str
    file: str


@dataclass(frozen=True)
class Measured(Object):
    """How the requests of all runs were measured, by the definitions of docs/reference/metrics.md, and which of them count."""

    from_: Literal["start", "sent", "issued", "scheduled"]
    """What TTFT and E2EL count from."""
    include_warmup: bool
    token_source: Optional[Literal["usage", "responses"]] = None
    """Where output tokens were to come from; absent where the best there is was taken."""
    part: Optional[str] = None
    """The part of each level that was asked for, for people; absent for whole levels."""


@dataclass(frozen=True)
class Side(Object):
    runs: List["Run"]
    """In the order of their starts."""
    label: Optional[str] = None
    """The name that the command line gave the side; absent for a side without one."""


@dataclass(frozen=True)
class Run(Object):
    file: str
    model: Optional[str] = None
    tool: Optional[str] = None
    """What recorded it."""


@dataclass(frozen=True)
class Difference(Object):
    name: str
    """model, definitions, dataset, load, input-tokens, output-tokens, token-source, streaming, hidden-tokens, service, endpoint, stamps, start-stamps, start, calibration, length, settings, recorder, host, failed, unreadable, interrupted, unstable, steady-state, client-saturated, prompt-cache, pauses or clock-steps."""
    old: str
    """For people."""
    new: str
    refuses: bool
    """The numbers of the two sides mean different things."""
    ignored: bool
    """By --ignore."""
    level: Optional[str] = None
    """Absent where it is the same at all levels."""


@dataclass(frozen=True)
class Level(Object):
    name: str
    mode: str
    """Of the old side."""
    value: str
    """The number of the load as the old side wrote it."""
    answer: "Answer"
    old_runs: int
    """Runs that have the level."""
    new_runs: int
    metrics: List["Metric"]
    pairs: Optional[int] = None
    """Prompts answered on both sides, where they were sent in the same order."""
    old_selected: Optional[List["Selected"]] = None
    """The part of the level in each run that has it; absent for whole levels."""
    new_selected: Optional[List["Selected"]] = None
    server: Optional[List["ServerFigure"]] = None
    """Metrics of servers and GPUs, where either side has them. Never judged."""


@dataclass(frozen=True)
class ServerFigureNa(Object):
    reason: str
    """Why there is no interval."""
    needs: Optional[int] = None
    """About how many runs a side would be enough."""


@dataclass(frozen=True)
class ServerFigure(Object):
    name: str
    """request, queue, GPU utilization, …: as in pa-analyze report."""
    metric: str
    """Its name at the source; ModelStatistics for Triton's own; the key of a figure of the level that --metrics asked for."""
    unit: Literal["ns", "ratio", "W", "J", "bytes", "count", "tokens/s", "dollars"]
    old_runs: List[Union[float, None]]
    new_runs: List[Union[float, None]]
    old_of: Optional[str] = None
    """The model and source, or the GPU and host; absent where no run of the side has it."""
    new_of: Optional[str] = None
    old: Optional[float] = None
    """Mean of a time or a gauge, total of a counter; of several runs, their geometric mean."""
    new: Optional[float] = None
    change: Optional[float] = None
    """new/old - 1."""
    low: Optional[float] = None
    """Lower end of the interval for the change, of several runs a side."""
    high: Optional[float] = None
    p: Optional[float] = None
    """Not adjusted: the figure is descriptive."""
    na: Optional["ServerFigureNa"] = None


@dataclass(frozen=True)
class MetricWithin(Object):
    """The unadjusted 90 % interval of the change, for two one-sided tests at 5 %; absent without an interval."""

    shown: bool
    """The change was shown to be less than the margin."""
    low: Optional[float] = None
    high: Optional[float] = None


@dataclass(frozen=True)
class MetricNa(Object):
    reason: str
    """Why there is no interval."""
    needs: Optional[int] = None
    """About how many values, or runs, a side would be enough."""


@dataclass(frozen=True)
class Metric(Object):
    metric: Literal["ttft_p50", "ttft_p90", "ttft_p99", "ttft_mean", "itl_p50", "itl_p99", "itl_mean", "tpot_p50", "e2el_p50", "e2el_p99", "e2el_mean", "output_tokens_per_s", "requests_per_s", "failed_share", "fluidity_index", "fluid_tokens_per_s", "tokens_in_time", "smooth_tokens_per_s", "reader_idle_mean", "stalled_share", "stall_share", "tokens_per_event", "itl_per_token_estimated_p50", "itl_per_token_estimated_p99", "normalized_latency_p50", "normalized_latency_p90", "interactivity_p90"]
    unit: Literal["ns", "1/s", "share", "ratio"]
    better: Literal["lower", "higher", "none"]
    primary: bool
    """It is judged; the others are descriptive."""
    paired: bool
    """change is the median over pairs of new/old - 1."""
    old_n: int
    """Values of the one run, or runs."""
    new_n: int
    old_runs: List[Union[float, None]]
    """The statistic of each run."""
    new_runs: List[Union[float, None]]
    old: Optional[float] = None
    """Of one run, its statistic; of several, their geometric mean."""
    new: Optional[float] = None
    change: Optional[float] = None
    """new/old - 1."""
    low: Optional[float] = None
    """Lower end of the interval for the change; absent where it has none on that side."""
    high: Optional[float] = None
    interval_confidence: Optional[float] = None
    """Of low and high: 0.95, or for a primary metric as high as its verdict needs; absent without an interval."""
    p: Optional[float] = None
    p_adjusted: Optional[float] = None
    """Over the family: by Hommel's method for one run a side, otherwise by Holm's method, less what correlated metrics share."""
    rank_p: Optional[float] = None
    """Of the Mann-Whitney test, from 6 runs a side."""
    verdict: Optional[Literal["~", "better", "worse", "different", "n/a"]] = None
    """Of one run a side never better or worse. ~ means that no difference was found, which shows nothing by itself: see within."""
    within: Optional["MetricWithin"] = None
    """The unadjusted 90 % interval of the change, for two one-sided tests at 5 %; absent without an interval."""
    spoiled: Optional[str] = None
    """Why the verdict is n/a although there is an interval: a warning of the recorder of one of the runs, or a drift of runs that did not take turns."""
    na: Optional["MetricNa"] = None


@dataclass(frozen=True)
class SelectedSteady(Object):
    """With how steady_state: the time with threshold or more requests in flight."""

    concurrency: int
    threshold: int
    """95 % of concurrency, rounded up."""
    peak: int
    """The most requests in flight."""
    at_plateau: float
    """Part of the time with threshold or more in flight."""


@dataclass(frozen=True)
class Selected(Object):
    """The part of the level that all figures are about: requests that started in it. Absent for the whole level."""

    how: Literal["window", "trim", "steady_state"]
    start_ns: int
    end_ns: int
    level_start_ns: int
    """Of the recorder's first window, or of the first request that counts or failed if that is earlier."""
    level_end_ns: int
    steady: Optional["SelectedSteady"] = None
    """With how steady_state: the time with threshold or more requests in flight."""


@dataclass(frozen=True)
class Gate(Object):
    expr: str
    level: str
    required: bool
    """The condition must hold (--require); otherwise it must not (--fail-on)."""
    result: Literal["passed", "n/a", "failed"]
    """n/a: the data cannot tell."""
    because: List[str]
