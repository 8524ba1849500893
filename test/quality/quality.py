"""Computes the quality of streams anew, from random exports, and compares it with pa-analyze.

    python3 test/quality/quality.py bin/pa-analyze FOLDER

Writes 1,000 exports of OpenAI-compatible servers into FOLDER, has pa-analyze report them, and
computes each metric and figure from the raw JSON by the formulas of docs/reference/names.md, in
fractions. Values must agree to 1e-12. Only Python's standard library is needed.
"""

import json
import math
import pathlib
import random
import subprocess
import sys
from fractions import Fraction

FIRST, NEXT, TARGET, SHARE, PACE, STALL, FACTOR = 100_000_000, 40_000_000, Fraction(9, 10), Fraction(3, 4), 45_000_000, 60_000_000, 2
FILES = 1000
LISTED = 100  # of them, as lists of requests
TOLERANCE = 1e-12


def export(rng):
    """Returns a random export, and for each request (ttft, times of tokens, e2el, usage)."""
    requests, truth, start = [], [], 1_700_000_000_000_000_000
    for _ in range(rng.randint(1, 12)):
        start += rng.randint(1, 10**9)
        times, t = [], start + rng.randint(1, 2 * FIRST)
        for _ in range(rng.choice([1, 2, 3, 5, 20, 60])):
            times.append(t)
            t += rng.choice([0, rng.randint(0, 2 * NEXT), rng.randint(0, 2 * NEXT), rng.randint(0, 12 * NEXT)])
        usage = rng.choice([len(times), len(times) * 2, len(times) + rng.randint(0, 9)])
        end = times[-1] + rng.randint(0, 10**7)
        chunks = [{"choices": [{"index": 0, "delta": {"content": " a few words of an answer"}}]} for _ in times]
        chunks.append({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": usage}})
        requests.append({
            "timestamp": start,
            "request_inputs": {"payload": json.dumps({"model": "m", "stream": True})},
            "response_timestamps": times + [end],
            "response_outputs": [{"response": "data: " + json.dumps(c) + "\n\n"} for c in chunks],
        })
        truth.append((start, times, end, usage))
    level = {"experiment": {"mode": "concurrency", "value": 1}, "requests": requests, "window_boundaries": [0, start + 10**12]}
    return {"experiments": [level], "version": "2.60.0", "service_kind": "openai", "endpoint": "v1/chat/completions"}, truth


def fluidity(first, gaps, interval):
    """Returns deadlines and misses. Keeps the time that is due instead of a slack."""
    due, now, deadlines, misses = FIRST, 0, 0, 0
    for gap in [first] + gaps:
        now += gap
        if now <= due:
            deadlines += 1
        else:
            m = math.floor(Fraction(now - due, interval)) + 1
            deadlines, misses, due = deadlines + m, misses + m, now
        due += interval
    return deadlines, misses


def reaches(first, gaps, interval):
    deadlines, misses = fluidity(first, gaps, interval)
    # pa-analyze compares floats
    return 1 - misses / deadlines >= float(TARGET)


def fluid_interval(first, gaps):
    high = max([1, first - FIRST + 1] + [g + 1 for g in gaps])
    if not reaches(first, gaps, high):
        return None
    low = 0
    while high - low > 1:
        mid = (low + high) // 2
        low, high = (low, mid) if reaches(first, gaps, mid) else (mid, high)
    return high


def median(values):
    values = sorted(values)
    n = len(values)
    return Fraction(values[(n - 1) // 2] + values[n // 2], 2)


def quantile(values, p):
    values = sorted(values)
    at = p * (len(values) - 1)
    k = math.floor(at)
    return values[k] if k + 1 == len(values) else values[k] + (at - k) * (values[k + 1] - values[k])


def expected(truth):
    metrics = {k: [] for k in (
        "fluidity", "fluid_interval_ns", "tokens_in_time", "reader_idle_ns", "stalls", "longest_stall_ns", "stall_share",
        "tokens_per_event", "itl_per_token_estimated_ns", "normalized_latency_ns")}
    deadlines = misses = tokens = met = idle = stall_time = decode = usage_sum = events = 0
    intervals, positions = [], {}
    for start, times, end, usage in truth:
        first, gaps = times[0] - start, [b - a for a, b in zip(times, times[1:])]
        d, m = fluidity(first, gaps, NEXT)
        deadlines, misses = deadlines + d, misses + m
        metrics["fluidity"].append(1 - Fraction(m, d))
        interval = fluid_interval(first, gaps)
        intervals.append(math.inf if interval is None else interval)
        if interval is not None:
            metrics["fluid_interval_ns"].append(interval)
        late = [t - start - i * PACE for i, t in enumerate(times, 1)]
        tokens, met, idle = tokens + len(times), met + sum(x <= 0 for x in late), idle + max(0, max(late))
        metrics["tokens_in_time"].append(Fraction(sum(x <= 0 for x in late), len(times)))
        metrics["reader_idle_ns"].append(max(0, max(late)))
        stalls = [g for g in gaps if g > STALL and g > FACTOR * median(gaps)]
        metrics["stalls"].append(len(stalls))
        if stalls:
            metrics["longest_stall_ns"].append(max(stalls))
        stall_time, decode = stall_time + sum(stalls), decode + sum(gaps)
        if sum(gaps) > 0:
            metrics["stall_share"].append(Fraction(sum(stalls), sum(gaps)))
        # Where all events come at once and some carry several tokens, nothing shows which.
        at_once = len(times) > 1 and sum(gaps) == 0 and usage > len(times)
        if not at_once:
            usage_sum, events = usage_sum + usage, events + len(times)
            metrics["tokens_per_event"].append(Fraction(usage, len(times)))
        if usage > 1 and not at_once:
            metrics["itl_per_token_estimated_ns"] += [Fraction(g * (len(times) - 1), usage - 1) for g in gaps]
        metrics["normalized_latency_ns"].append(Fraction(end - start, usage))
        for i, g in enumerate(gaps, 1):
            positions.setdefault(2 ** int(math.log2(i)), []).append(g)
    duration = Fraction(max(t[2] for t in truth) - truth[0][0], 10**9)
    chosen = sorted(intervals)[math.ceil(SHARE * len(intervals)) - 1]
    per_token = metrics["normalized_latency_ns"]
    figures = {
        "fluidity_index": 1 - Fraction(misses, deadlines), "fluid_token_rate": None if chosen in (1, math.inf) else Fraction(10**9, chosen),
        "tokens_in_time": Fraction(met, tokens), "smooth_goodput": (tokens - Fraction(idle, PACE)) / duration,
        "stalls": sum(metrics["stalls"]), "stalled_requests": sum(n > 0 for n in metrics["stalls"]),
        "stall_share": Fraction(stall_time, decode) if decode else None, "tokens_per_event": Fraction(usage_sum, events) if events else None,
        "interactivity_p90": 10**9 / quantile(per_token, Fraction(9, 10)), "interactivity_p75": 10**9 / quantile(per_token, Fraction(3, 4)),
    }
    return metrics, figures, positions


compared = 0


def same(where, got, want):
    global compared
    compared += 1
    if got is None or want is None:
        ok = got is None and want is None
    else:
        # Near 0, a difference of numbers near 1 or of times is meant.
        ok = abs(got - float(want)) <= TOLERANCE * max(1.0, abs(float(want)))
    if not ok:
        sys.exit(f"{where}: pa-analyze {got}, Python {want if want is None else float(want)}")


def of_request(start, times, end, usage):
    """The columns of a request; None where there is no value."""
    metrics, _, _ = expected([(start, times, end, usage)])
    one = {key: sum(values) / Fraction(len(values)) if values else None for key, values in metrics.items()}
    deadlines, misses = fluidity(times[0] - start, [b - a for a, b in zip(times, times[1:])], NEXT)
    interval, idle = one["fluid_interval_ns"], one["reader_idle_ns"]
    gaps = [b - a for a, b in zip(times, times[1:])]
    return one | {
        "deadlines": deadlines, "deadlines_missed": misses, "fluid_token_rate_per_s": None if interval in (None, 1) else 10**9 / interval,
        "smooth_tokens": len(times) - idle / PACE, "stall_total_ns": sum(g for g in gaps if g > STALL and g > FACTOR * median(gaps)),
    }


def listed(report, path, truth):
    """Compares the list of the requests of an export. report is the command of its report."""
    command = [report[0], "requests", "--format", "jsonl"] + report[report.index("--metrics"):] + [path]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    assert len(lines) == len(truth), path
    for line, request in zip(lines, sorted(truth)):
        row = json.loads(line)
        for key, want in of_request(*request).items():
            same(f"{path}: request {row['id']}: {key}", row.get(key), want)


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    rng, truths, paths = random.Random(20261126), [], []
    for i in range(FILES):
        document, truth = export(rng)
        path = folder / f"{i}.json"
        path.write_text(json.dumps(document))
        truths.append(truth)
        paths.append(str(path))
    command = [program, "report", "--format", "json", "--metrics", "quality", "--due-first", f"{FIRST}ns", "--due-next", f"{NEXT}ns",
               "--fluidity", str(float(TARGET)), "--fluid-share", str(float(SHARE)), "--reader-pace", f"{PACE}ns", "--stall", f"{STALL}ns",
               "--stall-factor", str(FACTOR)]
    reports = json.loads(subprocess.run(command + paths, check=True, stdout=subprocess.PIPE).stdout)
    assert len(reports) == FILES
    for path, truth, report in zip(paths, truths, reports):
        quality = report["experiments"][0]["quality"]
        metrics, figures, positions = expected(truth)
        assert set(quality["figures"]) == set(figures), path
        assert set(quality["metrics"]) == {k for k, v in metrics.items() if v}, path
        for key, values in metrics.items():
            if not values:
                continue
            got = quality["metrics"][key]
            same(f"{path}: {key} n", got["n"], len(values))
            same(f"{path}: {key} mean", got["mean"], sum(values) / Fraction(len(values)))
            same(f"{path}: {key} min", got["min"], min(values))
            same(f"{path}: {key} max", got["max"], max(values))
            for name, p in ("p50", Fraction(1, 2)), ("p90", Fraction(9, 10)), ("p99", Fraction(99, 100)):
                same(f"{path}: {key} {name}", got[name], quantile(values, p))
        for key, want in figures.items():
            same(f"{path}: {key}", quality["figures"][key].get("value"), want)
        assert [p["from"] for p in quality["itl_by_position"]] == sorted(positions), path
        for p in quality["itl_by_position"]:
            values = positions[p["from"]]
            same(f"{path}: position {p['from']} n", p["n"], len(values))
            same(f"{path}: position {p['from']} mean", p["mean_ns"], Fraction(sum(values), len(values)))
    for path, truth in zip(paths[:LISTED], truths):
        listed(command, path, truth)
    print(f"{FILES} exports, {compared} values agree to {TOLERANCE}")


main()
