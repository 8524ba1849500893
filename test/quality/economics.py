"""Computes economics, prefix cache, server times, frontiers and certified percentiles anew, from random
exports, and compares them with pa-analyze.

    python3 test/quality/economics.py bin/pa-analyze FOLDER

Writes 1,000 exports of OpenAI-compatible servers with telemetry of GPUs into FOLDER, has pa-analyze report,
pareto and check them, and computes each figure from the raw JSON by the formulas of
docs/reference/economics.md and docs/reference/check.md, in fractions. Values must agree to 1e-12. Only
Python's standard library is needed.
"""

import functools
import json
import math
import pathlib
import random
import subprocess
import sys
from fractions import Fraction

FILES = 1000
TOLERANCE = 1e-12
IDLE, HOUR, KWH = Fraction(3, 2), Fraction(13, 4), Fraction(1, 8)
SECOND = 10**9
LEVELS = {"p50": 50, "p75": 75, "p80": 80, "p90": 90, "p95": 95, "p97": 97, "p99": 99, "p99.9": Fraction(999, 10)}
compared = 0


def request(rng, start, style):
    """Returns a request of the export, and its facts: first and last token, end, tokens, cached tokens, timings."""
    times, t = [], start + rng.randint(1, SECOND // 4)
    for _ in range(rng.choice([1, 2, 3, 6])):
        times.append(t)
        t += rng.randint(0, SECOND // 20)
    end = times[-1] + rng.randint(0, SECOND // 100)
    output, prompt = rng.choice([len(times), len(times) * 3]), rng.randint(1, 400)
    usage = {"prompt_tokens": prompt, "completion_tokens": output}
    cached = None
    if style == "cached" or style == "some" and rng.random() < 0.5:
        cached = rng.choice([0, prompt, rng.randint(0, prompt)])
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    last = {"choices": [], "usage": usage}
    timings = None
    if style == "some":
        timings = (rng.randint(0, 10**8), rng.randint(0, 10**9))
        last["timings"] = {"prompt_ms": timings[0] / 10**6, "predicted_ms": timings[1] / 10**6}
    chunks = [{"choices": [{"index": 0, "delta": {"content": " a few words of an answer"}}]} for _ in times] + [last]
    document = {
        "timestamp": start,
        "request_inputs": {"payload": json.dumps({"model": "m", "stream": True})},
        "response_timestamps": times + [end],
        "response_outputs": [{"response": "data: " + json.dumps(c) + "\n\n"} for c in chunks],
    }
    return document, dict(start=start, first=times[0], last=times[-1], events=len(times), end=end, output=output, prompt=prompt, cached=cached, timings=timings)


def export(rng, many):
    """Returns an export, its levels as lists of facts, and its GPUs as lists of samples (start, end, value)."""
    start, levels, truth = 1_795_000_000_000_000_000 + rng.randint(0, 10**12), [], []
    begin = start
    for i in range(rng.randint(1, 5)):
        style = rng.choice(["cached", "some", "none"])
        requests, facts = [], []
        for _ in range(700 if many and i == 0 else rng.choice([1, 2, 5, 12, 40, 70])):
            document, fact = request(rng, start, style)
            requests.append(document)
            facts.append(fact)
            start += rng.randint(1, SECOND // 10)
        start = max(f["end"] for f in facts) + rng.randint(1, SECOND)
        levels.append({"experiment": {"mode": "concurrency", "value": i + 1}, "requests": requests, "window_boundaries": [facts[0]["start"], start]})
        truth.append(facts)
    interval = SECOND // 5
    scrapes, t = [], begin - 3 * SECOND
    while t < start + 3 * SECOND:
        scrapes.append((t, t + rng.randint(0, interval // 10)))
        t += interval + rng.randint(0, interval // 3)
    gpus, series = [], []
    for g in range(rng.randint(1, 3)):
        name = rng.choice(["DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "DCGM_FI_DEV_POWER_USAGE"])
        counter, v, kept = name.endswith("CONSUMPTION"), rng.randint(0, 10**5), rng.choice([1, 1, 3])
        samples = []
        for k, (a, b) in enumerate(scrapes):
            if not counter:
                v = rng.randint(2000, 4000) / 8
            elif k % kept == 0:
                v += rng.randint(10**4, 10**5)
            samples.append((a, b, v))
        gpus.append((counter, samples))
        series.append({"series": g, "source": "s", "name": name, "type": "counter" if counter else "gauge", "labels": {"UUID": f"GPU-{g}"}})
    values = [{"source": "s", "start_ns": a, "end_ns": b, "values": [[0] + [samples[k][2] for _, samples in gpus]]} for k, (a, b) in enumerate(scrapes)]
    meta = {"schema": "pa-export/1", "tool": "x", "start_ns": begin, "end_ns": start, "telemetry": [{"source": "s", "kind": "prometheus", "host": "h", "interval_ns": interval, "scrapes": len(scrapes), "series": len(series)}], "samples": series + values}
    return {"experiments": levels, "version": "1", "service_kind": "openai", "endpoint": "v1/chat/completions", "pa": meta}, truth, gpus


def energy(gpu, begin, end):
    """Joules of a GPU from begin to end, and the bound of the error; None for a counter that did not grow."""
    counter, samples = gpu
    points = [(Fraction(a + b, 2), Fraction(v)) for a, b, v in samples]
    if not counter:
        joules = bound = Fraction(0)
        for (s, p), (t, q) in zip(points, points[1:]):
            a, b = max(s, begin), min(t, end)
            if b <= a:
                continue
            at = lambda x: p + (q - p) * (x - s) / (t - s)
            joules += (at(a) + at(b)) / 2 * (b - a) / SECOND
            bound += abs(q - p) / 2 * (b - a) / SECOND
        return joules, bound

    def edge(x):
        k = max(i for i, (t, _) in enumerate(points) if t <= x)
        (s, p), (t, q) = points[k], points[k + 1]
        v = p + (q - p) * (x - s) / (t - s)
        different = next(w for _, w in points[k + 1:] if w > p)
        return v / 1000, max(v - p, different - v) / 1000

    (first, early), (last, late) = edge(begin), edge(end)
    return (last - first, early + late) if last > first else (None, None)


def tpots(facts):
    return [Fraction(f["last"] - f["first"], f["output"] - 1) for f in facts if f["output"] > 1 and f["events"] > 1]


def economics(facts, gpus):
    """The figures of a level: value and bound; None without a value."""
    begin, end = min(f["start"] for f in facts), max(f["end"] for f in facts)
    seconds = Fraction(end - begin, SECOND)
    output, total, n = sum(f["output"] for f in facts), sum(f["output"] + f["prompt"] for f in facts), len(facts)
    each = [energy(g, begin, end) for g in gpus]
    joules = bound = None
    if all(e[0] is not None for e in each):
        joules, bound = sum(e[0] for e in each) - IDLE * len(gpus) * seconds, sum(e[1] for e in each)
    pace = tpots(facts)
    rate = output / seconds
    figures = {
        "output_tokens_per_s_per_user_decode": (SECOND / (sum(pace) / len(pace)), 0) if pace and sum(pace) else None,
        "output_tokens_per_s_per_user_e2e": (sum(Fraction(f["output"] * SECOND, f["end"] - f["start"]) for f in facts) / n, 0),
        "output_tokens_per_s_per_gpu": (rate / len(gpus), 0),
        "gpu_dollars_per_million_output_tokens": (10**6 * HOUR * len(gpus) / (3600 * rate), 0),
    }
    if joules is not None and joules <= 0:
        joules = None
    for key, scale in {
        "energy_j": Fraction(1), "power_w": 1 / seconds, "j_per_output_token": Fraction(1, output), "j_per_token": Fraction(1, total),
        "j_per_request": Fraction(1, n), "energy_dollars_per_million_output_tokens": Fraction(1, output) * KWH / Fraction(36, 10),
    }.items():
        figures[key] = joules and (joules * scale, bound * scale)
    figures["output_tokens_per_s_per_mw"] = (10**6 * output / joules, 10**6 * output / (joules - bound) - 10**6 * output / joules) if joules and bound < joules else None
    return figures, each, rate


def prefix(facts):
    """The figures of the prefix cache, and TTFT by uncached tokens."""
    stated = [f for f in facts if f["cached"] is not None]
    if not stated:
        return dict.fromkeys(["hit_rate", "ttft_ns_per_uncached_token", "ttft_ns_without_uncached_tokens", "ttft_r_squared"]), {}
    cached = sum(f["cached"] for f in stated)
    figures = {"hit_rate": Fraction(cached, sum(f["prompt"] for f in stated))}
    if len(stated) < len(facts):
        figures["hit_rate_absent_is_0"] = Fraction(cached, sum(f["prompt"] for f in facts))
    points = [(f["prompt"] - f["cached"], f["first"] - f["start"]) for f in stated]
    n, slope, base, explained = len(points), None, None, None
    if n >= 3:
        mx, my = Fraction(sum(x for x, _ in points), n), Fraction(sum(y for _, y in points), n)
        xx, xy, yy = sum((x - mx) ** 2 for x, _ in points), sum((x - mx) * (y - my) for x, y in points), sum((y - my) ** 2 for _, y in points)
        if xx:
            slope = xy / xx
            base, explained = my - slope * mx, xy * xy / (xx * yy)
    figures |= {"ttft_ns_per_uncached_token": slope, "ttft_ns_without_uncached_tokens": base, "ttft_r_squared": explained}
    buckets = {}
    for f in stated:
        buckets.setdefault((f["prompt"] - f["cached"]).bit_length(), []).append(f)
    return figures, buckets


def quantile(values, p):
    values = sorted(values)
    at = p * (len(values) - 1)
    k = math.floor(at)
    return values[k] if k + 1 == len(values) else values[k] + (at - k) * (values[k + 1] - values[k])


def same(where, got, want):
    global compared
    compared += 1
    # A difference of numbers near 1 may be near 0.
    if (got is None) != (want is None) or want is not None and abs(got - float(want)) > TOLERANCE * max(1.0, abs(float(want))):
        sys.exit(f"{where}: pa-analyze {got}, Python {want if want is None else float(want)}")


def frontier(points):
    """The indices of a frontier by ascending rate of a user: of points (user, rate), by the definition of dominance."""
    known = [i for i, p in enumerate(points) if p]
    beats = lambda q, p: q[0] >= p[0] and q[1] >= p[1] and q != p
    front = [i for i in known if not any(beats(points[j], points[i]) for j in known)]
    return sorted(front, key=lambda i: points[i])


def area(points, front):
    """The union of the rectangles from (0, 0), in strips of the rate of a user."""
    edges = sorted({0} | {points[i][0] for i in front})
    return sum((b - a) * max(points[i][1] for i in front if points[i][0] >= b) for a, b in zip(edges, edges[1:]))


def knee(points, front):
    if len({points[i] for i in front}) < 3:
        return None
    (x0, y0), (x1, y1) = points[front[0]], points[front[-1]]
    beyond = {i: (points[i][0] - x0) / (x1 - x0) + (points[i][1] - y1) / (y0 - y1) - 1 for i in front[1:-1]}
    best = max(beyond.values())
    return next(i for i in front[1:-1] if beyond[i] == best) if best > 0 else None


@functools.cache
def budget(n, percent):
    """The largest t >= 1 with P(Binomial(n, 1 - p) <= t) < 1 %; 0 if there is none."""
    p = Fraction(percent) / 100
    q = 1 - p
    a, b, c = p.numerator, q.numerator, p.denominator  # p = a/c, q = b/c
    reached, t = 0, 0
    limit = Fraction(c**n, 100)
    for k in range(n):
        reached += math.comb(n, k) * b**k * a ** (n - k)
        if reached >= limit:
            break
        t = k
    return t


def certified(where, got, values):
    if not values:
        assert got is None, where
        return
    values = sorted(values)
    same(f"{where} n", got["n"], len(values))
    for name, percent in LEVELS.items():
        t = budget(len(values), percent)
        same(f"{where} {name}", got["if_independent"][name], values[len(values) - t] if t else None)
        if got.get("effective_n", len(values)) == len(values):
            same(f"{where} {name}", got["percentiles"][name], got["if_independent"][name])
        elif got["percentiles"][name] is not None:
            assert got["percentiles"][name] >= got["if_independent"][name], f"{where} {name}"


def run(program, *arguments):
    return json.loads(subprocess.run([program, *arguments], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)


def compare_level(where, level, facts, gpus):
    """Compares a level of the report; returns its point of the frontier."""
    figures, each, rate = economics(facts, gpus)
    got = level["economics"]
    assert set(got["figures"]) == set(figures), where
    for key, want in figures.items():
        same(f"{where}: {key}", got["figures"][key].get("value"), want and want[0])
        if want:
            same(f"{where}: bound of {key}", got["figures"][key].get("error_bound", 0), want[1])
    for g, (joules, bound) in enumerate(each):
        same(f"{where}: energy of GPU {g}", got["energy"][g].get("j"), joules)
        same(f"{where}: its bound", got["energy"][g].get("error_bound_j", joules and 0), bound)
    wanted, buckets = prefix(facts)
    got = level["prefix"]
    assert set(got["figures"]) == set(wanted), f"{where}: {set(got['figures'])}"
    for key, want in wanted.items():
        same(f"{where}: {key}", got["figures"][key].get("value"), want)
    assert len(got["by_uncached_tokens"]) == len(buckets), where
    for b, k in zip(got["by_uncached_tokens"], sorted(buckets)):
        ttft = [f["first"] - f["start"] for f in buckets[k]]
        share = Fraction(sum(f["cached"] for f in buckets[k]), sum(f["prompt"] for f in buckets[k]))
        for key, want in {
            "from": 2 ** (k - 1) if k else 0, "to": 2**k - 1, "n": len(ttft), "cached_share": share,
            "ttft_mean_ns": Fraction(sum(ttft), len(ttft)), "ttft_p50_ns": quantile(ttft, Fraction(1, 2)), "ttft_p90_ns": quantile(ttft, Fraction(9, 10)),
        }.items():
            same(f"{where}: bucket {k} {key}", b[key], want)
    for i, key in enumerate(["server_prefill_ns", "server_decode_ns"]):
        times = [f["timings"][i] for f in facts if f["timings"]]
        got = level["phases"]["metrics"].get(key)
        same(f"{where}: {key}", got and got["mean"], Fraction(sum(times), len(times)) if times else None)
        same(f"{where}: figure of {key}", level["phases"]["figures"][["prefill_ns", "decode_ns"][i]].get("value"), Fraction(sum(times), len(times)) if times else None)
    user = figures["output_tokens_per_s_per_user_decode"]
    return user and (user[0], rate / len(gpus))


def compare_check(where, level, facts):
    got = level.get("certified", {})
    certified(f"{where}: TTFT", got.get("ttft_ns"), [f["first"] - f["start"] for f in facts])
    certified(f"{where}: E2EL", got.get("e2el_ns"), [f["end"] - f["start"] for f in facts])
    certified(f"{where}: TPOT", got.get("tpot_ns"), tpots(facts))


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    rng, truths, paths = random.Random(20261127), [], []
    for i in range(FILES):
        document, *truth = export(rng, i % 50 == 0)
        path = folder / f"{i}.json"
        path.write_text(json.dumps(document))
        truths.append(truth)
        paths.append(str(path))
    prices = ["--idle-power", str(float(IDLE)), "--gpu-hour-price", str(float(HOUR)), "--energy-price", str(float(KWH))]
    reports = run(program, "report", "--format", "json", "--metrics", "economics,prefix,phases", *prices, *paths)
    checks = run(program, "check", "--format", "json", *paths)["files"]
    fronts = run(program, "pareto", "--format", "json", *paths)
    assert len(reports) == len(checks) == len(fronts["file_fronts"]) == FILES
    at, knees = 0, 0
    for path, (levels, gpus), report, check, front in zip(paths, truths, reports, checks, fronts["file_fronts"]):
        points = []
        for facts, level, checked in zip(levels, report["experiments"], check["levels"], strict=True):
            where = f"{path}: {level['value']}"
            points.append(compare_level(where, level, facts, gpus))
            compare_check(where, checked, facts)
        for i, p in enumerate(points):
            got = fronts["points"][at + i]
            same(f"{path}: point {i}", got.get("user_rate"), p and p[0])
            same(f"{path}: rate {i}", got.get("rate"), p and p[1])
        own = frontier(points)
        assert [i - at for i in front["points"]] == own, f"{path}: frontier {front['points']}, {own}"
        same(f"{path}: area", front["area"], area(points, own))
        corner = knee(points, own)
        same(f"{path}: knee", front.get("knee") if front.get("knee") is None else front["knee"] - at, corner)
        knees += corner is not None
        at += len(points)
    assert knees > 30, knees
    print(f"{FILES} exports, {compared} values agree to {TOLERANCE}; {knees} frontiers have a knee")


main()
