"""Tests of the Python package, with runs of the simulated server. make test-python runs them."""

import dataclasses
import json
import pathlib
import re
import subprocess
import warnings

import numpy as np
import pandas
import pyarrow
import pytest

import pa
import pa._program
import pa._run
from pa.report import Report

SIM = "sim://?ttft=normal:30ms,5ms&itl=5ms&output_tokens=16"


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """The path of a run of two levels."""
    path = tmp_path_factory.mktemp("run") / "profile_export.json"
    subprocess.run(
        ["pa-record", "-u", SIM, "--concurrency-range", "1,4", "--request-count", "12", "--quiet", "--profile-export-file", path],
        check=True, capture_output=True,
    )
    return path


@pytest.fixture
def run(recorded):
    return pa.read(recorded)


def printed(*args):
    """Returns the JSON that pa-analyze prints."""
    return json.loads(subprocess.run(["pa-analyze", *args, "--format", "json"], check=True, capture_output=True).stdout)


def plain(o):
    """Returns an object as the JSON of its attributes."""
    if dataclasses.is_dataclass(o):
        names = {pa._json._attribute(k): k for k in o.json}
        return {names[f.name]: plain(getattr(o, f.name)) for f in dataclasses.fields(o) if f.name in names}
    if isinstance(o, list):
        return [plain(v) for v in o]
    if isinstance(o, dict):
        assert all(not isinstance(v, dict) for v in o.values()) or not o.keys() & {"value", "unit", "n", "mean"}, o
        return {k: plain(v) for k, v in o.items()}
    return o


def test_report(run, recorded):
    assert isinstance(run.report, Report)
    assert plain(run.report) == printed("report", recorded)
    level = run.report.experiments[1]
    assert (level.mode, level.value, level.requests.ok) == ("concurrency", 4, 12)
    ttft = level.metrics.ttft_ns
    assert ttft.p50 <= ttft.p99 <= ttft.p99_9 <= ttft.max
    assert level.slo is None and level.requests.resent is None
    assert run.report.run.from_ == "start"
    with pytest.raises(dataclasses.FrozenInstanceError):
        ttft.p50 = 0


def test_report_of_all_groups(run, recorded):
    got = run.report_with(metrics="quality,economics,prefix,phases,sessions", slo="ttft<=1s && itl_max<=1s", windows="50ms", gpus=2)
    want = printed("report", recorded, "--metrics", "quality,economics,prefix,phases,sessions", "--slo", "ttft<=1s && itl_max<=1s", "--windows", "50ms", "--gpus", "2")
    assert plain(got) == want
    level = got.experiments[0]
    assert level.slo.conditions[0].attained == 1 and level.windows and level.quality.figures.fluidity_index.unit
    assert level.economics.gpus == 2


def test_requests(run):
    requests = run.requests
    assert isinstance(requests, pandas.DataFrame)
    assert requests.start_ns.dtype == pandas.ArrowDtype(pyarrow.int64())
    assert list(requests.columns) == [f.name for f in run.table.schema if not pyarrow.types.is_nested(f.type)]
    for i, level in enumerate(run.report.experiments):
        counted = requests[(requests.experiment == i) & (requests.reason == "")]
        assert len(counted) == level.requests.ok
        for name in ["ttft_ns", "tpot_ns", "e2el_ns", "output_tokens"]:
            assert np.quantile(counted[name].to_numpy(float), 0.9) == pytest.approx(getattr(level.metrics, name).p90, rel=1e-12)


def gaps(tokens):
    """Returns the times between the tokens of each choice of each request, as the column itl_ns has them."""
    return {
        request: [g.recv_ns.diff().dropna().tolist() for _, g in part.groupby("choice", sort=False)]
        for request, part in tokens.groupby("request")
    }


def test_tokens(run):
    tokens, requests = run.tokens, run.requests
    assert isinstance(tokens, pandas.DataFrame)
    groups = tokens.groupby("request")
    assert groups.since_start_ns.min().tolist() == requests.ttft_ns.tolist()
    assert groups.tokens.sum().tolist() == requests.output_tokens.tolist()
    assert gaps(tokens) == dict(enumerate(run.table["itl_ns"].to_pylist()))
    joined = tokens.join(requests.add_suffix("_of_request"), on="request")
    for name in ["experiment", "id"]:
        assert (joined[name] == joined[name + "_of_request"]).all()
    assert (joined.recv_ns - joined.since_start_ns == joined.start_ns_of_request).all()


def event(*choices, usage=None, reasoning=False):
    """Returns a server-sent event with text for each of the choices."""
    delta = "reasoning_content" if reasoning else "content"
    body = {"object": "chat.completion.chunk", "choices": [{"index": c, "delta": {delta: "x"}} for c in choices]}
    if usage is not None:
        body["usage"] = {"prompt_tokens": 4, "completion_tokens": usage, "total_tokens": 4 + usage}
    return "data: " + json.dumps(body) + "\n\n"


def write(path, *requests):
    """Writes profile_export.json with requests: lists of the texts of their responses, which come 1 ms apart."""
    path.write_text(json.dumps({
        "experiments": [{
            "experiment": {"mode": "concurrency", "value": 1},
            "requests": [{
                "timestamp": 10**18 + 10**8 * i,
                "request_inputs": {"payload": json.dumps({"stream": True, "messages": []})},
                "response_timestamps": [10**18 + 10**8 * i + 10**6 * (k + 1) for k in range(len(texts))],
                "response_outputs": [{"response": t} for t in texts],
            } for i, texts in enumerate(requests)],
            "window_boundaries": [],
        }],
        "version": "1.0", "service_kind": "openai", "endpoint": "v1/chat/completions",
    }))
    return path


def test_tokens_of_choices(tmp_path):
    """Several choices in one response, several events in one response, reasoning, a request without an answer."""
    run = pa.read(write(
        tmp_path / "run.json",
        [event(0) + event(1), event(0), event(1, 0), "data: [DONE]\n\n"],
        ["data: [DONE]\n\n"],
        [event(0, reasoning=True), event(0) + event(0), event(0)],
        [event(0, usage=2), event(0, usage=5)],
    ))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pa.Warning)
        tokens = run.tokens
        lists = run.table["itl_ns"].to_pylist()
    rows = [tuple(r) for r in tokens[["request", "event", "choice", "since_start_ns", "reasoning"]].itertuples(index=False)]
    ms = 10**6
    assert rows == [
        (0, 0, 0, ms, False), (0, 1, 1, ms, False), (0, 2, 0, 2 * ms, False), (0, 3, 1, 3 * ms, False), (0, 4, 0, 3 * ms, False),
        (2, 0, 0, ms, True), (2, 1, 0, 2 * ms, False), (2, 2, 0, 2 * ms, False), (2, 3, 0, 3 * ms, False),
        (3, 0, 0, ms, False), (3, 1, 0, 2 * ms, False),
    ]
    assert tokens.tokens[tokens.request == 3].tolist() == [2, 3]
    assert gaps(tokens) == {i: gaps or [[]] for i, gaps in enumerate(lists) if i != 1}


def test_diff(run, recorded):
    with pytest.warns(pa.Warning, match="hold the same run"):
        diff = run.diff(recorded, single_run=True)
    assert diff.comparable and diff.mode == "single-run" and len(diff.levels) == 2
    metric = next(m for m in diff.levels[0].metrics if m.metric == "ttft_p50")
    assert metric.change == 0 and metric.old == metric.new == run.report.experiments[0].metrics.ttft_ns.p50
    with pytest.warns(pa.Warning, match="--fail-on"):
        assert run.diff(run, single_run=True, fail_on="ttft_p50>-50%").gates[0].result == "failed"
    with pytest.raises(ValueError, match="different flags"):
        run.diff(pa.read(recorded, token_source="responses"))


STATED = {
    "date": "20260101-120000", "backend": "openai-chat", "model_id": "m", "tokenizer_id": "m", "num_prompts": 10, "request_rate": "inf", "max_concurrency": 2,
    "duration": 4.0, "completed": 10, "failed": 0, "total_input_tokens": 40, "request_throughput": 2.5, "mean_ttft_ms": 10.0, "p99_ttft_ms": 20.0,
}


def test_figures_only(tmp_path, recorded):
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    a.write_text(json.dumps(STATED))
    b.write_text(json.dumps({**STATED, "mean_ttft_ms": 15.0}))
    run = pa.read(a)
    result = run.stated.results[0]
    assert plain(run.stated) == printed("report", a)
    assert result.tool == "vllm bench serve" and result.levels[0].value == "2"
    figure = next(f for f in result.levels[0].figures if (f.metric, f.statistic) == ("ttft", "mean"))
    assert (figure.value, figure.text, figure.unit) == (10, "10.0", "ms")
    with pytest.raises(ValueError, match="use .stated"):
        run.report
    with pytest.raises(pa.Error, match="holds figures only"):
        run.requests
    diff = run.diff_stated(b)
    assert plain(diff) == printed("diff", a, b)
    assert [f.change for f in diff.levels[0].figures if f.metric == "ttft" and f.statistic == "mean"] == [0.5]
    with pytest.raises(ValueError, match="use .diff_stated"):
        run.diff(b)
    with pytest.raises(ValueError, match="use .report"):
        pa.read(recorded).stated


def test_other_tool(recorded, tmp_path):
    """A result file of another tool has requests and tokens."""
    path = tmp_path / "vllm.json"
    subprocess.run(["pa-analyze", "convert", "--as", "vllm", "--experiment", "4", recorded, path], check=True, capture_output=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pa.Warning)
        run = pa.read(path)
        assert len(run.requests) == 12 == run.report.experiments[0].requests.ok
        assert len(run.tokens) == 12 * 16


def test_errors(recorded, tmp_path):
    with pytest.raises(pa.Error, match="^.*none.json: no such file or directory") as refused:
        pa.read(tmp_path / "none.json").report
    assert refused.value.exit_code == 1
    for ask in [lambda r: r.report, lambda r: r.requests, lambda r: r.tokens]:
        with pytest.raises(pa.Error, match="unknown flag --nonsense") as refused:
            ask(pa.read(recorded, nonsense=True))
        assert refused.value.exit_code == 2
    with pytest.raises(TypeError, match="--format is chosen"):
        pa.read(recorded, format="csv").report
    with pytest.raises(pa.Error, match="-x.json: no such file"):
        pa.read("-x.json").report
    with pytest.raises(pa.Error):
        pa.read("-").report


def test_broken_file(recorded, tmp_path):
    """The part of a file that can be read is a result, and the rest a warning."""
    path = tmp_path / "cut.json"
    path.write_bytes(recorded.read_bytes()[: recorded.stat().st_size * 3 // 4])
    run = pa.read(path)
    with pytest.warns(pa.Warning, match="cut short") as said:
        report = run.report
    assert pathlib.Path(said[0].filename) == pathlib.Path(__file__)
    with pytest.warns(pa.Warning, match="cut short"):
        assert len(run.requests) == sum(e.requests.ok for e in report.experiments)


def test_without_libraries(recorded, monkeypatch):
    """Without pandas there are tables, without pyarrow the rows of pa-analyze requests."""
    there = {"pandas", "pyarrow"}
    monkeypatch.setattr(pa._run, "_installed", lambda module: module in there)
    there.remove("pandas")
    assert isinstance(pa.read(recorded).requests, pyarrow.Table)
    assert isinstance(pa.read(recorded).tokens, pyarrow.Table)
    there.remove("pyarrow")
    rows = pa.read(recorded).requests
    assert isinstance(rows, list) and len(rows) == 24 and rows[0]["ttft_ns"] == pa.read(recorded).table["ttft_ns"][0].as_py()
    with pytest.raises(pa.Error, match="pip install pyarrow"):
        pa.read(recorded).tokens
    there.add("pandas")
    frame = pa.read(recorded).requests
    assert isinstance(frame, pandas.DataFrame) and str(frame.start_ns.dtype) == "Int64"


def test_flags():
    assert pa._program.flags({"steady_state": True, "streaming": False, "slo": None, "experiment": [1, "4"], "from_": "sent", "tokenizer": pathlib.Path("t.json")}) == [
        "--steady-state", "--streaming=false", "--experiment=1", "--experiment=4", "--from=sent", "--tokenizer=t.json",
    ]


def test_no_program(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(pa.Error, match="not installed"):
        pa.read("run.json").report


def masked(text):
    """Returns a text with its numbers masked, and the space around them."""
    return re.sub(r"[ ]+", " ", re.sub(r"-?\d+(\.\d+)?", "N", text)).replace(" \n", "\n").strip()


def test_page(tmp_path, monkeypatch, capsys):
    """The blocks of docs/notebooks.md run and print what the page shows, up to the digits."""
    monkeypatch.chdir(tmp_path)
    page = pathlib.Path(__file__).parents[2].joinpath("docs", "notebooks.md").read_text()
    page = re.sub(r"<!-- test: skip .*?-->\n```.*?^```$", "", page, flags=re.M | re.S)
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.M | re.S)
    names = {}
    for i, (language, body) in enumerate(blocks):
        if language == "sh":
            subprocess.run(["sh", "-ec", body], check=True, capture_output=True)
        if language != "python":
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pa.Warning)
            exec(body, names)
        assert blocks[i + 1][0] == "text"
        assert masked(capsys.readouterr().out) == masked(blocks[i + 1][1]), body
    assert "diff" in names
