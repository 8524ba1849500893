# Made from schemas/report.schema.json by tools/pytypes; do not edit.
"""What pa-analyze report --format json writes about recorded runs: an object for one file, an array of them for several. Members may be added without a new version, as run.calibration, selected, windows, slo, max_load and unavailable were. Times are nanoseconds, instants nanoseconds of the Unix epoch, rates per second."""

from dataclasses import dataclass
from typing import Any, Dict, List, Literal, Optional, Union

from ._json import Object

__all__ = [
    "ReportRunTokenizer",
    "ReportRunStamps",
    "ReportRunShard",
    "ReportRunMergedShards",
    "ReportRunMerged",
    "ReportRun",
    "Report",
    "ClockOffset",
    "ExperimentRequests",
    "ExperimentServer",
    "Experiment",
    "Pause",
    "Metrics",
    "Throughput",
    "SelectedSteady",
    "Selected",
    "Model",
    "Window",
    "QualityFigure",
    "LevelFigure",
    "PrefixFigures",
    "PrefixByUncachedTokens",
    "Prefix",
    "PossibleTokens",
    "SessionsFigures",
    "SessionsByDepth",
    "SessionsByTurn",
    "SessionsInFlight",
    "SessionsCacheGap",
    "SessionsCache",
    "SessionsFirstSessions",
    "Sessions",
    "ImagesFigures",
    "Images",
    "RealtimeFigures",
    "Realtime",
    "PhasesMetrics",
    "PhasesWaterfallParts",
    "PhasesWaterfall",
    "PhasesFigures",
    "Phases",
    "AudioMetrics",
    "AudioFigures",
    "Audio",
    "StatedFigures",
    "Stated",
    "EconomicsSettings",
    "EconomicsFigures",
    "EconomicsEnergy",
    "Economics",
    "QualitySettings",
    "QualityMetrics",
    "QualityFigures",
    "QualityItlByPosition",
    "Quality",
    "SloGoodput",
    "Slo",
    "MaxLoad",
    "LoadLevel",
    "Summary",
    "CalibrationServices",
    "Calibration",
    "CalibratedRecording",
    "ClockError",
    "SourceCount",
]


@dataclass(frozen=True)
class ReportRunTokenizer(Object):
    """What texts were counted with, where one was given."""

    name: str
    """As it was named on the command line."""
    sha256: str
    """Of its file, in hex."""


@dataclass(frozen=True)
class ReportRunStamps(Object):
    """Responses of counted requests by what took their time. Absent where the file does not say."""

    kernel: int
    user: int
    unknown: int


@dataclass(frozen=True)
class ReportRunShard(Object):
    """The file's place among the shards of one run that several processes (ranks) recorded together; absent for a run of one process."""

    rank: int
    """From 0."""
    world_size: int
    """Number of ranks, and of shards of a complete run."""
    run: str
    """The same in all shards of a run, and in no others."""
    plan_sha256: str
    """Hash of everything that all ranks must agree on: configuration, levels, seed, schedule and input data."""
    divided_by: Literal["request", "conversation"]
    """request: request i belongs to rank i modulo world_size. conversation: whole conversations belong to one rank."""
    launcher: Optional[str] = None
    """Where rank and size came from."""
    offset_before: Optional["ClockOffset"] = None
    """This rank's clock against the clock of rank 0, before the first level; absent for rank 0 and if it was not measured."""
    offset_after: Optional["ClockOffset"] = None
    """The same after the last level."""


@dataclass(frozen=True)
class ReportRunMergedShards(Object):
    rank: int
    host: Optional[str] = None
    """Name of the machine."""
    offset_ns: Optional[int] = None
    """Was added to all times of the shard."""
    bound_ns: Optional[int] = None
    """Bounds the error of offset_ns; absent if the clocks were not compared."""


@dataclass(frozen=True)
class ReportRunMerged(Object):
    """The run was put together from the shards of several ranks. All times are on the clock of rank 0."""

    run: str
    """As in the shards."""
    plan_sha256: str
    """As in the shards."""
    world_size: int
    """Number of ranks."""
    divided_by: Literal["request", "conversation", "client"]
    """As in the shards. client: several clients sent loads of their own, which add up; each is a rank."""
    shards: List["ReportRunMergedShards"]
    """The shards that were there, by rank. Other ranks are missing."""
    launcher: Optional[str] = None
    """As in the shards."""
    clock_bound_ns: Optional[int] = None
    """Bounds the errors of all offset_ns; absent if one of them is not known."""
    left_out: Optional[List[str]] = None
    """Facts of the shards that a merged run cannot state, with the reasons."""


@dataclass(frozen=True)
class ReportRun(Object):
    file: str
    """The file as it was named on the command line."""
    from_: Literal["start", "sent", "issued", "scheduled"]
    """What TTFT, TTFAT and E2EL count from."""
    tool: Optional[str] = None
    """The tool that recorded the run."""
    version: Optional[str] = None
    """The version member of the file: of the tool's build, no marker of the format."""
    service_kind: Optional[str] = None
    endpoint: Optional[str] = None
    model: Optional[str] = None
    label: Optional[str] = None
    """Of the server, if pa-record recorded several servers in turn."""
    tokenizer: Optional["ReportRunTokenizer"] = None
    """What texts were counted with, where one was given."""
    stamps: Optional["ReportRunStamps"] = None
    """Responses of counted requests by what took their time. Absent where the file does not say."""
    start_ns: Optional[int] = None
    end_ns: Optional[int] = None
    interrupted: Optional[str] = None
    """The signal that ended the run early."""
    calibration: Optional["Calibration"] = None
    """What pa-record --calibrate found right before the run."""
    shard: Optional["ReportRunShard"] = None
    """The file's place among the shards of one run that several processes (ranks) recorded together; absent for a run of one process."""
    merged: Optional["ReportRunMerged"] = None
    """The run was put together from the shards of several ranks. All times are on the clock of rank 0."""


@dataclass(frozen=True)
class Report(Object):
    """One recorded run."""

    schema: str
    run: "ReportRun"
    experiments: List["Experiment"]
    warnings: List[str]
    max_load: Optional["MaxLoad"] = None
    unavailable: Optional[Dict[str, str]] = None
    """For a result file of another tool: the metrics, by their keys, and throughput, that have no value because the file lacks what they are computed from, and why."""
    warning_kinds: Optional[List[Literal["incomplete", "nothing", "failed", "unreadable", "contradiction", "clock", "impossible", "paused", "client-limit", "dropped", "load", "cache", "unsteady", "not-streamed", "lost-gaps", "token-count", "missing-times", "slo", "server", "no-effect", "other"]]] = None


@dataclass(frozen=True)
class ClockOffset(Object):
    """From the exchange of four timestamps with the shortest round trip."""

    offset_ns: int
    """The clock of rank 0 minus this rank's clock."""
    bound_ns: int
    """Bounds the error of offset_ns: half of the shortest round trip."""
    at_ns: int
    """Of the exchange, on this rank's clock."""
    exchanges: int
    """Number of exchanges. The exchange with the shortest round trip counts."""


@dataclass(frozen=True)
class ExperimentRequests(Object):
    ok: int
    """Requests that were measured and succeeded: the metrics are about them."""
    failed: int
    """By class below: the status of the export, or no_response for requests without a response or a status."""
    excluded: int
    """Left out for another reason than failure."""
    unreadable: int
    """Not readable and in no other count: the times are missing or no integers."""
    resent: Optional[int] = None
    """Requests of all kinds that were sent again because the server had closed their connection. Absent if there were none."""
    failed_by_class: Optional[Dict[str, int]] = None
    excluded_by_reason: Optional[Dict[str, int]] = None


@dataclass(frozen=True)
class ExperimentServer(Object):
    name: str
    """request, queue, prefill, GPU utilization, …"""
    metric: str
    """Its name at the source; ModelStatistics for Triton's own."""
    kind: Literal["time", "gauge", "counter"]
    """A time has n and mean, a gauge min and max besides, a counter n and total."""
    of: str
    """The model and the source, or the GPU and the host."""
    unit: Literal["ns", "ratio", "W", "J", "bytes", "count"]
    n: int
    """Requests that a time is of, scrapes that a gauge or counter was in."""
    source: Optional[str] = None
    """The source of the samples; absent for ModelStatistics."""
    host: Optional[str] = None
    """Where the source is: what it says itself, else the host of its URL."""
    gpu: Optional[str] = None
    """UUID."""
    mean: Optional[float] = None
    """Of a time: the growth of the server's sum divided by the growth of its count."""
    total: Optional[float] = None
    """What a counter grew by, from the last scrape before the measurement to the first after it; energy is measured over the measurement itself."""
    min: Optional[float] = None
    """Of gauges."""
    max: Optional[float] = None
    """Of gauges."""
    na: Optional[str] = None
    """Why there is no value, though there are samples: they cannot be true. n means nothing then."""
    client_mean: Optional[float] = None
    """The same as the client measured it."""
    client_minus_server: Optional[float] = None
    """client_mean minus the server's mean: the time spent in the network and the client."""
    client_minus_server_na: Optional[str] = None
    """Why client_minus_server is absent beside client_mean: the server's time of a decoupled model does not contain the stream of its responses."""


@dataclass(frozen=True)
class Experiment(Object):
    """One load level."""

    mode: str
    """concurrency, request_rate, …"""
    value: Union[float, str]
    """The level as the file has it; a string only where that is no number."""
    requests: "ExperimentRequests"
    duration_ns: int
    """From the first start to the last response of the ok requests; 0 when there is none. With selected, the length of the selected part. With --without-pauses, minus the time lost to pauses."""
    token_source: Literal["none", "usage", "tokenizer", "responses", "mixed", "stated", "ids"]
    """Where output_tokens comes from. stated: the number is in the file, one of another tool. ids: the token ids of the answers."""
    token_events: int
    shared_stamps: int
    """Token events with the same time as the previous event: they came in one read, their gap is 0."""
    metrics: "Metrics"
    throughput: "Throughput"
    warnings: List[str]
    load: Optional[str] = None
    """The load in words, where mode and value do not tell all of it: \"schedule of 5 requests\"."""
    sent_requests_per_s: Optional[float] = None
    """Rate at which an open loop sent requests, successful or not: the recorder's figure for a whole level, otherwise from the starts of the requests. max_load uses it. Absent for other loads."""
    selected: Optional["Selected"] = None
    unavailable: Optional[Dict[str, str]] = None
    """Why metrics have no value: the answers of the level were not streamed, or nothing tells whether they were, or no source counts their tokens. Members are the keys of the metrics, and output_tokens_per_s. Absent if there are none."""
    slo: Optional["Slo"] = None
    quality: Optional["Quality"] = None
    economics: Optional["Economics"] = None
    prefix: Optional["Prefix"] = None
    phases: Optional["Phases"] = None
    images: Optional["Images"] = None
    audio: Optional["Audio"] = None
    sessions: Optional["Sessions"] = None
    realtime: Optional["Realtime"] = None
    stated: Optional["Stated"] = None
    models: Optional[List["Model"]] = None
    """Where requests went to several models, each of them by itself. Absent where it was one."""
    windows: Optional[List["Window"]] = None
    """The windows of --windows, in order. Absent without it, and for a level without requests."""
    server: Optional[List["ExperimentServer"]] = None
    """Metrics of servers and GPUs over the measurement. Absent where nothing is known."""
    pauses: Optional[List["Pause"]] = None
    """The times during the level in which the recorder could not run, as in the export. Absent if there was no pause."""
    paused_requests: Optional[int] = None
    """Requests that the pauses touched: the ok requests, or with --without-pauses the requests that were left out. Absent if there were none."""
    client: Optional[Dict[str, Any]] = None
    """Measurements of the recorder itself: client_meta of profile_export.schema.json, as the export has it. Absent if there are none."""
    warning_kinds: Optional[List[Literal["incomplete", "nothing", "failed", "unreadable", "contradiction", "clock", "impossible", "paused", "client-limit", "dropped", "load", "cache", "unsteady", "not-streamed", "lost-gaps", "token-count", "missing-times", "slo", "server", "no-effect", "other"]]] = None


@dataclass(frozen=True)
class Pause(Object):
    """A time in which the recorder could not run."""

    start_ns: int
    """The last instant before the pause at which the recorder ran, by the clock of the run."""
    end_ns: int
    """The first instant after the pause at which the recorder ran."""
    duration_ns: int
    """Length of the pause. The clock of the run stands still while a machine is suspended, so end_ns - start_ns is less there."""
    cause: str
    """stopped: the process was stopped by Ctrl-Z or SIGSTOP. suspended: the machine was suspended."""
    rank: Optional[int] = None
    """The process that could not run, in a run that was merged from shards; absent for rank 0."""


@dataclass(frozen=True)
class Metrics(Object):
    """Metrics without a value are absent."""

    ttft_ns: Optional["Summary"] = None
    """TTFT [ns]: first token event − start"""
    ttfat_ns: Optional["Summary"] = None
    """TTFAT [ns]: first token event that is not reasoning − start"""
    ttst_ns: Optional["Summary"] = None
    """TTST [ns]: second token event − first"""
    itl_ns: Optional["Summary"] = None
    """ITL [ns]: token event − the previous one in the same choice, pooled over all requests"""
    tpot_ns: Optional["Summary"] = None
    """TPOT [ns]: (last token event − first) / (output tokens − 1)"""
    e2el_ns: Optional["Summary"] = None
    """E2EL [ns]: last response of any kind − start"""
    output_tokens: Optional["Summary"] = None
    """output tokens [tokens]: usage of the server, else the tokenizer's count of the text, else the number of token events"""
    input_tokens: Optional["Summary"] = None
    """input tokens [tokens]: usage of the server"""
    reasoning_tokens: Optional["Summary"] = None
    """reasoning tok. [tokens]: usage of the server"""
    cached_tokens: Optional["Summary"] = None
    """cached tokens [tokens]: usage of the server"""


@dataclass(frozen=True)
class Throughput(Object):
    """Over duration_ns, or the length of the window. Without selected of the ok requests; in a part of a level of what ended (requests), or was delivered (tokens) in it. A rate that cannot be told is absent: total_tokens_per_s unless the input tokens of every request are known, output_tokens_per_s_per_user at other kinds of load than concurrency."""

    requests_per_s: Optional[float] = None
    """requests/s [1/s]: successful requests / duration, first start to last response of any kind"""
    output_tokens_per_s: Optional[float] = None
    """output tok/s [1/s]: Σ output tokens / the same duration"""
    total_tokens_per_s: Optional[float] = None
    """total tok/s [1/s]: Σ input and output tokens / the same duration"""
    output_tokens_per_s_per_user: Optional[float] = None
    """output tok/s/user [1/s]: output tokens per second / concurrency"""


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
class Model(Object):
    """What happened to the requests of one of several models. Rates are over the time of the level, or of the part selected."""

    model: str
    ok: int
    failed: int
    metrics: "Metrics"
    throughput: "Throughput"


@dataclass(frozen=True)
class Window(Object):
    """What happened in a part of a level: metrics of the requests that started in it."""

    start_ns: int
    end_ns: int
    offset_ns: int
    """Of start_ns from the start of the level."""
    ok: int
    failed: int
    metrics: "Metrics"
    throughput: "Throughput"


@dataclass(frozen=True)
class QualityFigure(Object):
    """A figure of a level, with a value or the reason why there is none."""

    unit: Literal["ratio", "tokens/s", "count"]
    value: Optional[float] = None
    why: Optional[str] = None


@dataclass(frozen=True)
class LevelFigure(Object):
    """A figure of a level, with a value or the reason why there is none."""

    unit: Literal["tokens/s", "J", "W", "dollars", "ratio", "ns", "1/h", "1/s", "bytes", "1/s", "s", "count", "tokens"]
    value: Optional[float] = None
    error_bound: Optional[float] = None
    """Bounds the error from the times between samples; absent if there is none."""
    from_: Optional[str] = None
    """The server's metric that the value comes from."""
    why: Optional[str] = None


@dataclass(frozen=True)
class PrefixFigures(Object):
    hit_rate: Optional["LevelFigure"] = None
    """prefix-cache hit rate [ratio]: Σ cached / Σ input tokens, of requests whose answers state both (AIPerf)"""
    hit_rate_absent_is_0: Optional["LevelFigure"] = None
    """hit rate if answers without cached tokens had none [ratio]: Σ cached / Σ input tokens, of all requests with input tokens"""
    ttft_ns_per_uncached_token: Optional["LevelFigure"] = None
    """TTFT per uncached input token [ns]: slope of the line of least squares of TTFT over uncached input tokens"""
    ttft_ns_without_uncached_tokens: Optional["LevelFigure"] = None
    """TTFT at no uncached input token [ns]: value of the line at 0"""
    ttft_r_squared: Optional["LevelFigure"] = None
    """share of the TTFT's variance that the line explains [ratio]: square of the correlation"""


@dataclass(frozen=True)
class PrefixByUncachedTokens(Object):
    from_: int
    to: int
    n: int
    cached_share: float
    ttft_mean_ns: float
    ttft_p50_ns: float
    ttft_p90_ns: float


@dataclass(frozen=True)
class Prefix(Object):
    """The server's prefix cache, and the time to first token by uncached input tokens: --metrics prefix. Absent without it."""

    stated: int
    """Successful requests whose answers state cached tokens, be it 0."""
    unstated: int
    figures: "PrefixFigures"
    by_uncached_tokens: List["PrefixByUncachedTokens"]
    """Requests with from to to uncached input tokens."""


@dataclass(frozen=True)
class PossibleTokens(Object):
    """Sums of tokens of prompts, and of what a prefix cache could have held of them."""

    prompt_tokens: int
    possible_tokens: int
    """Longest common beginnings with an earlier request that had ended."""
    possible_tokens_in_blocks: int
    possible_tokens_limited: Optional[int] = None
    """In the cache of --cache-tokens."""


@dataclass(frozen=True)
class SessionsFigures(Object):
    jobs_per_hour: Optional["LevelFigure"] = None
    """jobs per hour [1/h]: 3600 · sessions that finished in the measured time / its seconds (TensorRT-LLM, blog 27)"""
    jobs_per_hour_per_user: Optional["LevelFigure"] = None
    """jobs per hour and user [1/h]: 3600 / mean job time in seconds (TensorRT-LLM, blog 27)"""
    jobs_per_hour_per_gpu: Optional["LevelFigure"] = None
    """jobs per hour and GPU [1/h]: jobs per hour / GPUs (TensorRT-LLM, blog 27)"""
    mean_job_time_ns: Optional["LevelFigure"] = None
    """mean job time [ns]: mean over finished sessions of last end − first send"""
    mean_model_time_ns: Optional["LevelFigure"] = None
    """mean model time [ns]: mean over finished sessions of the time with a request in flight"""
    mean_tool_time_ns: Optional["LevelFigure"] = None
    """mean tool time [ns]: mean over finished sessions of job time − model time"""
    mean_server_wait_ns: Optional["LevelFigure"] = None
    """mean wait for the server [ns]: mean over finished sessions of Σ TTFT"""
    mean_normalized_model_time_ns: Optional["LevelFigure"] = None
    """mean normalized model time [ns]: mean over finished sessions of Σ (TTFT + (E2EL − TTFT) · (asked output tokens − 1) / (output tokens − 1)) (AA-AgentPerf)"""
    mean_sessions_in_flight: Optional["LevelFigure"] = None
    """mean sessions in flight [count]: Σ over sessions of their time in the measured time / its length"""
    possible_hit_rate: Optional["LevelFigure"] = None
    """possible prefix-cache hit rate [ratio]: Σ longest common beginning with an earlier request that had ended / Σ tokens of prompts"""
    possible_hit_rate_blocks: Optional["LevelFigure"] = None
    """possible hit rate in whole blocks [ratio]: Σ longest common beginning in whole blocks / Σ tokens of prompts"""
    possible_hit_rate_limited: Optional["LevelFigure"] = None
    """possible hit rate of the limited cache [ratio]: Σ beginning in whole blocks that a cache of --cache-tokens holds, least recently used out first / Σ tokens of prompts"""
    measured_hit_rate: Optional["LevelFigure"] = None
    """measured hit rate of these requests [ratio]: Σ cached / Σ input tokens, of requests whose answers state both and whose prompts are known"""
    hit_rate_gap: Optional["LevelFigure"] = None
    """possible − measured hit rate [ratio]: possible hit rate − measured hit rate, of the same requests"""


@dataclass(frozen=True)
class SessionsByDepth(Object):
    depth: int
    n: int
    job_time_ns: Optional["Summary"] = None
    model_time_ns: Optional["Summary"] = None
    tool_time_ns: Optional["Summary"] = None
    request_time_ns: Optional["Summary"] = None
    server_wait_ns: Optional["Summary"] = None
    normalized_model_time_ns: Optional["Summary"] = None
    session_turns: Optional["Summary"] = None
    session_input_tokens: Optional["Summary"] = None
    session_output_tokens: Optional["Summary"] = None


@dataclass(frozen=True)
class SessionsByTurn(Object):
    from_: int
    to: int
    n: int
    ttft_ns: Optional["Summary"] = None
    itl_ns: Optional["Summary"] = None
    input_tokens: Optional["Summary"] = None
    cached_tokens: Optional["Summary"] = None
    uncached_input_tokens: Optional["Summary"] = None
    output_tokens: Optional["Summary"] = None


@dataclass(frozen=True)
class SessionsInFlight(Object):
    """Sessions between their first send and their last end. Absent if the measured time is not known."""

    mean: float
    most: int
    part_ns: float
    means: List[float]


@dataclass(frozen=True)
class SessionsCacheGap(Object):
    share: float
    reason: str


@dataclass(frozen=True)
class SessionsCache(Object):
    """The requests whose possible hits are counted. why says why they are not known."""

    why: Optional[str] = None
    block_tokens: Optional[int] = None
    limit_tokens: Optional[int] = None
    answers: Optional[bool] = None
    """Answers fill the cache as well as prompts."""
    known: Optional[int] = None
    """Requests that count and whose prompts are known."""
    unknown: Optional[int] = None
    possible: Optional["PossibleTokens"] = None
    stated: Optional[int] = None
    """Known requests whose answers state cached tokens."""
    possible_of_stated: Optional["PossibleTokens"] = None
    input_tokens_stated: Optional[int] = None
    cached_tokens_stated: Optional[int] = None
    gap: Optional[List["SessionsCacheGap"]] = None
    """Parts of the difference between the possible and the measured hit rate."""


@dataclass(frozen=True)
class SessionsFirstSessions(Object):
    session_id: str
    state: Literal["finished", "failed", "cut", "ended_before"]
    start_ns: int
    agents: int
    depth: int
    job_time_ns: Optional[int] = None
    model_time_ns: Optional[int] = None
    tool_time_ns: Optional[int] = None
    request_time_ns: Optional[int] = None
    server_wait_ns: Optional[int] = None
    normalized_model_time_ns: Optional[int] = None
    session_turns: Optional[int] = None
    session_input_tokens: Optional[int] = None
    session_output_tokens: Optional[int] = None


@dataclass(frozen=True)
class Sessions(Object):
    """Conversations, and agents with their sub-agents, as jobs: --metrics sessions. Absent without it."""

    requests: int
    """Requests of sessions, of any phase and outcome."""
    requests_without_session: int
    finished: int
    """Sessions that ended in the measured time with a successful request. Figures are of them."""
    failed: int
    """Sessions that ended with a failed request."""
    cut: int
    """Sessions with a request in flight when the run ended, or that ended after the measured time."""
    ended_before: int
    """Sessions that ended before the measured time."""
    finished_begun_before: int
    """Finished sessions that began before the measured time."""
    figures: "SessionsFigures"
    by_depth: List["SessionsByDepth"]
    """Depth 0 are the finished sessions; the others are their agents at a depth, each with its sub-agents."""
    by_turn: List["SessionsByTurn"]
    """Requests of the turns from to to, counted from 0."""
    cache: "SessionsCache"
    """The requests whose possible hits are counted. why says why they are not known."""
    first_sessions: List["SessionsFirstSessions"]
    """The first 1,000 sessions in the order of their starts. A sum that is not known is absent."""
    finished_but_cut: Optional[int] = None
    """Of the finished sessions, how many the end of the run cut between two requests, by the recorder's count. Jobs per hour leave them out."""
    start_ns: Optional[int] = None
    """The measured time."""
    end_ns: Optional[int] = None
    gpus: Optional[int] = None
    in_flight: Optional["SessionsInFlight"] = None
    """Sessions between their first send and their last end. Absent if the measured time is not known."""


@dataclass(frozen=True)
class ImagesFigures(Object):
    images: Optional["LevelFigure"] = None
    """images [count]: finished images of all answers"""
    partial_images: Optional["LevelFigure"] = None
    """partial images [count]: partial images of all streamed answers"""
    images_per_second: Optional["LevelFigure"] = None
    """images per second [1/s]: images / duration of the level"""
    images_per_request: Optional["LevelFigure"] = None
    """images per request [count]: images / requests"""
    bytes_per_image: Optional["LevelFigure"] = None
    """size of an image [bytes]: mean size in bytes, without base64, of the images whose size is known"""
    first_image_ns: Optional["LevelFigure"] = None
    """time to first image, mean [ns]: first partial or finished image of a streamed answer − start"""
    first_image_p50_ns: Optional["LevelFigure"] = None
    """time to first image, p50 [ns]: the same"""
    first_image_p99_ns: Optional["LevelFigure"] = None
    """time to first image, p99 [ns]: the same"""


@dataclass(frozen=True)
class Images(Object):
    """Which images the answers hold: --metrics images. Absent without it."""

    figures: "ImagesFigures"


@dataclass(frozen=True)
class RealtimeFigures(Object):
    delta_latency_p50_ns: Optional["LevelFigure"] = None
    """delta latency p50 [ns]: median over token events: arrival − time at which the last chunk of audio before it was sent"""
    delta_latency_p90_ns: Optional["LevelFigure"] = None
    """delta latency p90 [ns]: 90th percentile of the same"""
    delta_latency_p99_ns: Optional["LevelFigure"] = None
    """delta latency p99 [ns]: 99th percentile of the same"""
    final_latency_p50_ns: Optional["LevelFigure"] = None
    """end of speech to last message p50 [ns]: median over requests: last message − time at which the last chunk of audio was sent"""
    final_latency_p90_ns: Optional["LevelFigure"] = None
    """end of speech to last message p90 [ns]: 90th percentile of the same"""
    final_latency_p99_ns: Optional["LevelFigure"] = None
    """end of speech to last message p99 [ns]: 99th percentile of the same"""
    send_lateness_p50_ns: Optional["LevelFigure"] = None
    """lateness of audio p50 [ns]: median over chunks after the first: time sent − time sent of the first chunk − its number · interval; at least 0"""
    send_lateness_p99_ns: Optional["LevelFigure"] = None
    """lateness of audio p99 [ns]: 99th percentile of the same"""
    send_lateness_max_ns: Optional["LevelFigure"] = None
    """lateness of audio max [ns]: greatest of the same"""


@dataclass(frozen=True)
class Realtime(Object):
    """How soon the text of speech came over v1/realtime: --metrics realtime. Absent without it."""

    requests: int
    """Requests whose times of sending are known."""
    figures: "RealtimeFigures"


@dataclass(frozen=True)
class PhasesMetrics(Object):
    """Times and numbers that the answers state, and the parts of the TTFT. A metric without a value is absent."""

    server_queue_ns: Optional["Summary"] = None
    """queue, by the server [ns]: wait before the work on the prompt began, as the answer states it"""
    server_prefill_ns: Optional["Summary"] = None
    """prefill, by the server [ns]: time to process the prompt after the queue, as the answer states it"""
    server_ttft_ns: Optional["Summary"] = None
    """TTFT, by the server [ns]: time from the arrival at the server to the first token, as the answer states it"""
    server_decode_ns: Optional["Summary"] = None
    """decode, by the server [ns]: time from the first token, or from the end of the prefill, to the last token, as the answer states it"""
    ttft_wait_ns: Optional["Summary"] = None
    """wait before sending [ns]: start − hand-over or schedule − connect"""
    ttft_connect_ns: Optional["Summary"] = None
    """connect [ns]: name lookup + connect + TLS, as far as they lie in the TTFT"""
    ttft_send_ns: Optional["Summary"] = None
    """send [ns]: last byte of the request left − start"""
    server_first_decode_ns: Optional["Summary"] = None
    """first decode, by the server [ns]: TTFT by the server − queue − prefill, by the server"""
    ttft_rest_ns: Optional["Summary"] = None
    """network and rest [ns]: TTFT − the other parts: wait, connect, send, queue, prefill, first decode"""
    acceptance_length: Optional["Summary"] = None
    """acceptance length [tokens]: 1 + accepted tokens / steps of speculation"""
    draft_acceptance_rate: Optional["Summary"] = None
    """draft acceptance rate [ratio]: accepted tokens / draft tokens"""
    cached_local_tokens: Optional["Summary"] = None
    """cached in the accelerator [tokens]: cached input tokens in the memory of the accelerator"""
    cached_host_tokens: Optional["Summary"] = None
    """cached in the host [tokens]: cached input tokens in the memory of the host"""
    cached_storage_tokens: Optional["Summary"] = None
    """cached on storage [tokens]: cached input tokens on storage"""
    cached_external_tokens: Optional["Summary"] = None
    """cached by other servers [tokens]: cached input tokens in a store that other servers fill"""
    retractions: Optional["Summary"] = None
    """retractions [count]: how often the server took the request out of its batch to make room"""


@dataclass(frozen=True)
class PhasesWaterfallParts(Object):
    part: Literal["wait", "connect", "send", "queue", "prefill", "first decode", "network and rest"]
    n: int
    """Requests with the part; it is in the rest of the others."""
    mean_ns: float
    """Over all requests of the waterfall."""
    share: float
    """Sum of the part / sum of the TTFT."""


@dataclass(frozen=True)
class PhasesWaterfall(Object):
    """The parts of the TTFT, of the requests whose answers state a time before their first token. Absent without such a request."""

    requests: int
    requests_without: int
    """The other requests with a TTFT."""
    ttft_ns: float
    """The mean TTFT, which is the sum of the means of the parts."""
    clock_bound_ns: float
    """The mean bound of the error of the rest that comes from the clocks of the client and the server."""
    rest_below_0: int
    """Requests whose server states more time than passed for the client."""
    rest_beyond_clock_bound: int
    """Requests whose rest is so far below 0 that the clocks do not explain."""
    least_rest_ns: int
    parts: List["PhasesWaterfallParts"]
    """The parts that a request has, in the order of time."""


@dataclass(frozen=True)
class PhasesFigures(Object):
    queue_ns: Optional["LevelFigure"] = None
    """queue [ns]: mean over the requests that the server ended: growth of its sum of queue times / growth of its count of requests; or mean of the times that answers state"""
    prefill_ns: Optional["LevelFigure"] = None
    """prefill [ns]: as for the queue, of the prefill times"""
    decode_ns: Optional["LevelFigure"] = None
    """decode [ns]: as for the queue, of the decode times"""
    other_ns: Optional["LevelFigure"] = None
    """network, client and rest [ns]: mean E2EL − queue − prefill − decode"""
    pooled_acceptance_length: Optional["LevelFigure"] = None
    """acceptance length [tokens]: 1 + Σ accepted tokens / Σ steps of speculation, of requests whose answers state both"""
    accepted_draft_tokens: Optional["LevelFigure"] = None
    """draft tokens accepted [ratio]: Σ accepted tokens / Σ draft tokens, of requests whose answers state both"""
    cached_local_share: Optional["LevelFigure"] = None
    """cached in the accelerator [ratio]: Σ cached tokens of the level / Σ input tokens, of requests whose answers state both"""
    cached_host_share: Optional["LevelFigure"] = None
    """cached in the host [ratio]: as in the accelerator"""
    cached_storage_share: Optional["LevelFigure"] = None
    """cached on storage [ratio]: as in the accelerator"""
    cached_external_share: Optional["LevelFigure"] = None
    """cached by other servers [ratio]: as in the accelerator"""
    all_retractions: Optional["LevelFigure"] = None
    """retractions [count]: Σ of the requests whose answers state it"""


@dataclass(frozen=True)
class Phases(Object):
    """Where the time of requests went, and what else answers state about the work of the server: --metrics phases. Absent without it."""

    metrics: "PhasesMetrics"
    """Times and numbers that the answers state, and the parts of the TTFT. A metric without a value is absent."""
    figures: "PhasesFigures"
    waterfall: Optional["PhasesWaterfall"] = None
    """The parts of the TTFT, of the requests whose answers state a time before their first token. Absent without such a request."""


@dataclass(frozen=True)
class AudioMetrics(Object):
    """Of requests to the audio endpoints."""

    first_audio_ns: Optional["Summary"] = None
    """first audio [ns]: first byte of audio − start"""
    audio_length_ns: Optional["Summary"] = None
    """audio length [ns]: length of the clip of a transcription; of speech, bytes of audio / bytes a second"""
    real_time_factor: Optional["Summary"] = None
    """real-time factor [ratio]: E2EL / audio length"""
    underruns: Optional["Summary"] = None
    """underruns [count]: pieces of audio that came late: a player that starts at the first byte of audio had played everything before them"""
    underrun_time_ns: Optional["Summary"] = None
    """underrun time [ns]: Σ time of a piece of audio − its deadline, of the pieces after their deadline"""


@dataclass(frozen=True)
class AudioFigures(Object):
    audio_s_per_s: Optional["LevelFigure"] = None
    """audio seconds per second [1/s]: Σ audio length / duration of the level"""
    audio_ns: Optional["LevelFigure"] = None
    """audio [ns]: Σ audio length"""
    audio_bytes: Optional["LevelFigure"] = None
    """audio bytes [bytes]: Σ bytes of the audio of the answers, without headers of WAV files"""
    real_time_factor: Optional["LevelFigure"] = None
    """real-time factor of all requests [ratio]: Σ E2EL / Σ audio length, of requests with both"""
    underruns: Optional["LevelFigure"] = None
    """underruns [count]: Σ underruns"""
    underrun_requests: Optional["LevelFigure"] = None
    """requests with an underrun [ratio]: requests with an underrun / requests whose audio length is known"""
    underrun_ns: Optional["LevelFigure"] = None
    """underrun time [ns]: Σ underrun time"""


@dataclass(frozen=True)
class Audio(Object):
    """How fast audio was transcribed or made: --metrics audio. Absent without it."""

    metrics: "AudioMetrics"
    """Of requests to the audio endpoints."""
    figures: "AudioFigures"


@dataclass(frozen=True)
class StatedFigures(Object):
    """Figures of the whole level, with a value or the reason why there is none."""

    stated_duration_s: Optional["LevelFigure"] = None
    """duration that the file states [s]: as the file states it"""
    stated_requests_per_s: Optional["LevelFigure"] = None
    """requests/s over the stated duration [1/s]: successful requests / duration, both as the file states them"""
    stated_output_tokens_per_s: Optional["LevelFigure"] = None
    """output tokens/s over the stated duration [tokens/s]: output tokens / duration, both as the file states them"""
    stated_total_tokens_per_s: Optional["LevelFigure"] = None
    """total tokens/s over the stated duration [tokens/s]: (input tokens + output tokens) / duration, all as the file states them"""


@dataclass(frozen=True)
class Stated(Object):
    """Rates over the duration that the file of another tool states, where throughput is n/a because requests, or the times at which they were sent, are missing. Absent otherwise."""

    figures: "StatedFigures"
    """Figures of the whole level, with a value or the reason why there is none."""


@dataclass(frozen=True)
class EconomicsSettings(Object):
    """The flags that were given."""

    idle_watts: Optional[float] = None
    gpu_hour_price: Optional[float] = None
    energy_price_per_kwh: Optional[float] = None


@dataclass(frozen=True)
class EconomicsFigures(Object):
    """Figures of the whole level, with a value or the reason why there is none."""

    output_tokens_per_s_per_user_decode: Optional["LevelFigure"] = None
    """output tokens/s/user (decode) [tokens/s]: 1 / mean TPOT (InferenceX: interactivity)"""
    output_tokens_per_s_per_user_e2e: Optional["LevelFigure"] = None
    """output tokens/s/user (whole request) [tokens/s]: mean over requests of output tokens / E2EL (AIPerf: e2e output token throughput)"""
    output_tokens_per_s_per_gpu: Optional["LevelFigure"] = None
    """output tokens/s/GPU [tokens/s]: output tokens/s / GPUs (InferenceX: output_tput_per_gpu)"""
    energy_j: Optional["LevelFigure"] = None
    """energy [J]: Σ over GPUs of the energy in the measured time − idle power · time"""
    power_w: Optional["LevelFigure"] = None
    """mean power [W]: energy / measured time"""
    j_per_output_token: Optional["LevelFigure"] = None
    """energy per output token [J]: energy / output tokens (ML.ENERGY, arXiv 2505.06371)"""
    j_per_token: Optional["LevelFigure"] = None
    """energy per token [J]: energy / (input tokens + output tokens)"""
    j_per_request: Optional["LevelFigure"] = None
    """mean energy per request [J]: energy / requests (ML.ENERGY, arXiv 2505.06371)"""
    output_tokens_per_s_per_mw: Optional["LevelFigure"] = None
    """output tokens/s/MW [tokens/s]: 10⁶ · output tokens / energy"""
    gpu_dollars_per_million_output_tokens: Optional["LevelFigure"] = None
    """GPU price per million output tokens [dollars]: 10⁶ · price of a GPU hour · GPUs / (3600 · output tokens/s) (inference-perf, issue 139)"""
    energy_dollars_per_million_output_tokens: Optional["LevelFigure"] = None
    """energy price per million output tokens [dollars]: energy per output token · price of a kWh / 3.6"""


@dataclass(frozen=True)
class EconomicsEnergy(Object):
    of: str
    """The GPU and its host, for people."""
    from_: Literal["counter", "power"]
    """The growth of an energy counter, or samples of power, integrated."""
    n: int
    """Samples in the time."""
    gpu: Optional[str] = None
    host: Optional[str] = None
    metric: Optional[str] = None
    """The source's name of the samples."""
    j: Optional[float] = None
    error_bound_j: Optional[float] = None
    covered: Optional[float] = None
    """The part of the time that lies between samples."""
    na: Optional[str] = None


@dataclass(frozen=True)
class Economics(Object):
    """What tokens cost: --metrics economics. docs/reference/economics.md has the formulas. Absent without it."""

    settings: "EconomicsSettings"
    """The flags that were given."""
    figures: "EconomicsFigures"
    """Figures of the whole level, with a value or the reason why there is none."""
    energy: List["EconomicsEnergy"]
    """The energy of each GPU of the telemetry."""
    gpus: Optional[int] = None
    """Absent if the number is not known."""
    gpus_from: Optional[Literal["flag", "telemetry"]] = None
    start_ns: Optional[int] = None
    """The energy is of the time from start_ns to end_ns: the measured time."""
    end_ns: Optional[int] = None


@dataclass(frozen=True)
class QualitySettings(Object):
    first_token_ns: int
    token_ns: int
    fluidity_target: float
    fluid_share: float
    reader_pace_ns: int
    stall_ns: int
    stall_factor: float


@dataclass(frozen=True)
class QualityMetrics(Object):
    """One value for each request, and for itl_per_token_estimated_ns one for each gap. A metric without a value is absent."""

    fluidity: Optional["Summary"] = None
    """fluidity index [ratio]: 1 − missed deadlines / deadlines of tokens (arXiv 2407.07000, arXiv 2507.09019)"""
    fluid_interval_ns: Optional["Summary"] = None
    """fluid interval [ns]: the smallest time between tokens at which the fluidity index is at least Target (arXiv 2407.07000)"""
    tokens_in_time: Optional["Summary"] = None
    """tokens in time [ratio]: tokens that came by i·PaceNS after the start, i from 1, / tokens (arXiv 2410.14257)"""
    reader_idle_ns: Optional["Summary"] = None
    """reader idle [ns]: max(0, time of token i − i·PaceNS) (arXiv 2410.14257)"""
    stalls: Optional["Summary"] = None
    """stalls [count]: gaps above StallNS and above StallFactor · the median gap of the request"""
    longest_stall_ns: Optional["Summary"] = None
    """longest stall [ns]: the time of the longest stall"""
    stall_share: Optional["Summary"] = None
    """stall share [ratio]: Σ times of stalls / (last token event − first token event)"""
    tokens_per_event: Optional["Summary"] = None
    """tokens per event [ratio]: visible output tokens / token events"""
    itl_per_token_estimated_ns: Optional["Summary"] = None
    """ITL per token, estimated [ns]: gap · (token events − 1) / output tokens after the first event, pooled over all requests; gap / tokens of the event, for each token, where the server counts the tokens of each event"""
    normalized_latency_ns: Optional["Summary"] = None
    """E2EL per token [ns]: E2EL / output tokens (arXiv 2407.07000, arXiv 2605.24217)"""


@dataclass(frozen=True)
class QualityFigures(Object):
    """Figures of the whole level, with a value or the reason why there is none."""

    fluidity_index: Optional["QualityFigure"] = None
    """fluidity index [ratio]: 1 − Σ missed deadlines / Σ deadlines, over all requests (arXiv 2507.09019)"""
    fluid_token_rate: Optional["QualityFigure"] = None
    """fluid token rate [tokens/s]: 1 / the smallest time between tokens at which Share of the requests have a fluidity index of at least Target (arXiv 2407.07000)"""
    tokens_in_time: Optional["QualityFigure"] = None
    """tokens in time [ratio]: Σ tokens in time / Σ tokens (arXiv 2410.14257)"""
    smooth_goodput: Optional["QualityFigure"] = None
    """smooth goodput [tokens/s]: Σ (tokens − reader idle / PaceNS) / duration (arXiv 2410.14257, with one token a pace as the weight of idle time)"""
    stalls: Optional["QualityFigure"] = None
    """stalls [count]: Σ stalls"""
    stalled_requests: Optional["QualityFigure"] = None
    """requests with a stall [count]: requests with at least one stall"""
    stall_share: Optional["QualityFigure"] = None
    """stall share [ratio]: Σ times of stalls / Σ (last token event − first token event)"""
    tokens_per_event: Optional["QualityFigure"] = None
    """tokens per event [ratio]: Σ visible output tokens / Σ token events"""
    interactivity_p90: Optional["QualityFigure"] = None
    """interactivity p90 [tokens/s]: 1 / p90 of E2EL per token (the sites that publish benchmarks; not p90 of the inverse)"""
    interactivity_p75: Optional["QualityFigure"] = None
    """interactivity p75 [tokens/s]: 1 / p75 of E2EL per token"""


@dataclass(frozen=True)
class QualityItlByPosition(Object):
    from_: int
    to: int
    n: int
    mean_ns: float


@dataclass(frozen=True)
class Quality(Object):
    """How smoothly tokens came: --metrics quality. docs/reference/groups.md explains it. Absent without it."""

    settings: "QualitySettings"
    requests: int
    """Requests whose token times are known."""
    metrics: "QualityMetrics"
    """One value for each request, and for itl_per_token_estimated_ns one for each gap. A metric without a value is absent."""
    figures: "QualityFigures"
    """Figures of the whole level, with a value or the reason why there is none."""
    itl_by_position: List["QualityItlByPosition"]
    """Mean gap at the positions from–to in the answer; the first gap is at 1."""
    requests_with_counted_events: Optional[int] = None
    """Of these, requests in which the server counts the tokens of each event (continuous_usage_stats), so that itl_per_token_estimated_ns has a value for each token. Absent if there are none."""


@dataclass(frozen=True)
class SloGoodput(Object):
    """Requests that met it, and their output tokens, over duration_ns."""

    requests_per_s: Optional[float] = None
    output_tokens_per_s: Optional[float] = None


@dataclass(frozen=True)
class Slo(Object):
    """How the requests met --slo, or one of the conditions that it asks for at once."""

    expression: str
    met: int
    missed: int
    """Successful requests that did not meet it."""
    failed: int
    """Failed requests, which did not meet it either."""
    unknown: int
    """Successful requests that lack a metric that decides: not in attained."""
    goodput: "SloGoodput"
    """Requests that met it, and their output tokens, over duration_ns."""
    target: Optional[float] = None
    """--slo-target; absent in conditions."""
    attained: Optional[float] = None
    """met / (met + missed + failed)."""
    na: Optional[str] = None
    """Why attained is not known."""
    lacking: Optional[Dict[str, int]] = None
    """unknown by the metric that is lacking."""
    conditions: Optional[List["Slo"]] = None
    """The conditions of an outermost &&, each as if it were alone."""


@dataclass(frozen=True)
class MaxLoad(Object):
    """The most load at which target of the requests meet the SLO. Absent without --slo, and with fewer than two levels of one mode."""

    mode: str
    target: float
    estimate: Optional[float] = None
    """The most likely load: where the normal quantile of the share, over the logarithm of the load, crosses target between two levels. Absent when the shares of all levels are target or more, or all are less."""
    low: Optional[float] = None
    """Lower end of the 95 % interval, which is the hull of several interpolations between levels and lies between within and beyond; absent without within."""
    high: Optional[float] = None
    """Upper end; absent without beyond."""
    na: Optional[str] = None
    """Why within or beyond is missing."""
    within: Optional["LoadLevel"] = None
    """The highest level below beyond that surely attains target: the 95 % interval of its share is target or more, with the effective number of requests."""
    beyond: Optional["LoadLevel"] = None
    """The lowest level that surely does not attain target: the 95 % interval of its share is less."""
    again: Optional[bool] = None
    """A level above beyond surely attains target all the same."""
    next: Optional[List[float]] = None
    """Loads whose measurement would narrow the bounds: loads that were not measured, or, with next_requests, levels that need more requests."""
    next_requests: Optional[int] = None
    """About how many requests each level of next needs."""
    untold: Optional[List[str]] = None
    """Levels of unknown attainment, which are left out."""


@dataclass(frozen=True)
class LoadLevel(Object):
    load: float
    attained: float


@dataclass(frozen=True)
class Summary(Object):
    """A distribution. Percentiles interpolate linearly (type 7) and are exact; std is over the population."""

    n: int
    mean: float
    std: float
    min: float
    p1: float
    p5: float
    p10: float
    p25: float
    p50: float
    p75: float
    p90: float
    p95: float
    p99: float
    p99_9: float
    max: float


@dataclass(frozen=True)
class CalibrationServices(Object):
    service: str
    """openai (HTTP) or triton-grpc (gRPC streams)."""
    streams: int
    """Answers that were read at a time."""
    tokens_per_second: float
    """Rate of each stream."""
    tokens_per_request: int
    """Length of an answer."""
    rounds: int
    """How often the recordings took turns."""
    recordings: List["CalibratedRecording"]
    transport: Optional[str] = None
    """How requests were sent over HTTP."""


@dataclass(frozen=True)
class Calibration(Object):
    """Errors of the recorder's times on a machine: the times that it recorded of a simulated server in another process, compared with the times of that server's kernel. Errors are recorded minus true time, in nanoseconds."""

    schema: str
    """pa-calibration/1."""
    tool: str
    """Name and version of the recorder."""
    start_ns: int
    end_ns: int
    services: List["CalibrationServices"]
    """The protocols, each under its load."""
    limits: List[str]
    """What these figures cannot show, in sentences."""
    host: Optional[Dict[str, Any]] = None
    """The machine; not within a run, which has it."""


@dataclass(frozen=True)
class CalibratedRecording(Object):
    """What one way of taking times gave."""

    stamps: Literal["kernel", "user"]
    """What took the times: the kernel or the program."""
    requests: int
    """Requests that were compared."""
    sources: "SourceCount"
    """Tokens by what took their time."""
    start_sources: "SourceCount"
    """Requests by what took the time of their start."""
    merged: int
    """Tokens that came in the same read as the previous token."""
    skipped: Optional[int] = None
    """Requests that failed, or that the server's record does not match."""
    receive_error: Optional["ClockError"] = None
    """Of the tokens' times. The truth is when the server let the write go."""
    start_error: Optional["ClockError"] = None
    """Of the requests' starts. The truth is when the request arrived at the server's kernel."""


@dataclass(frozen=True)
class ClockError(Object):
    """A distribution of errors. Percentiles are of the absolute values."""

    n: int
    truth: "SourceCount"
    """What was compared with: times of the server's kernel, or of the server's own clock where its kernel has none."""
    median_ns: int
    """With its sign: above 0 the recorded times were late."""
    p50_ns: int
    p90_ns: int
    p99_ns: int
    p99_9_ns: int
    max_ns: int


@dataclass(frozen=True)
class SourceCount(Object):
    kernel: int
    user: int
    waited: Optional[int] = None
    """Number of responses within user that may have waited for a lost or reordered packet."""
