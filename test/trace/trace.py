"""Reads the traces of pa-analyze by the documented Trace Event Format and holds them to the requests.

    python3 test/trace/trace.py bin/pa-analyze FILE...

For each export: every event has the members that its phase needs, the slices of a thread are inside
each other or apart, and TTFT, E2EL and the token events of each request equal `pa-analyze requests`.
Each request of a session has one more slice, on a thread whose slices do not overlap, with its session, agent and turn.
Only Python's standard library is needed.
"""

import json
import subprocess
import sys
from decimal import Decimal


def run(*args):
    """Returns the standard output; exit code 1 is a damaged file; the rest of it is read."""
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(args)}: exit code {done.returncode}")
    return done.stdout


def integer(x):
    return isinstance(x, int) and not isinstance(x, bool)


def grammar(event):
    """Returns what is wrong with an event."""
    if not isinstance(event.get("name"), str) or not integer(event.get("pid")) or not integer(event.get("tid")):
        return "needs name, pid and tid"
    if not isinstance(event.get("ts"), Decimal):
        return "ts is no number"
    args = event.get("args", {})
    if not isinstance(args, dict):
        return "args is no object"
    phase = event.get("ph")
    if phase == "X":
        if not isinstance(event.get("dur"), Decimal) or event["dur"] < 0:
            return "needs a duration of at least 0"
    elif phase == "i":
        if event.get("s") not in ("g", "p", "t"):
            return "needs a scope"
    elif phase == "C":
        if not args or not all(isinstance(v, (int, Decimal)) for v in args.values()):
            return "a counter needs numbers"
    elif phase == "M":
        key = {"process_name": "name", "thread_name": "name", "process_sort_index": "sort_index", "thread_sort_index": "sort_index"}.get(event["name"])
        if key is None or key not in args:
            return "is no known metadata"
    else:
        return "has an unknown phase"
    return None


def check(program, path):
    problems = []
    doc = json.loads(run(program, "trace", path), parse_float=Decimal)
    if not isinstance(doc.get("traceEvents"), list) or set(doc) - {"traceEvents", "displayTimeUnit", "otherData"}:
        return 0, ["is no object format of trace events"]
    slices = {}
    for event in doc["traceEvents"]:
        wrong = grammar(event)
        if wrong:
            problems.append(f"{wrong}: {event}")
        elif event["ph"] == "X":
            slices.setdefault((event["pid"], event["tid"]), []).append(event)
    shown, sessions = [], []
    for thread in slices.values():
        # As a viewer does it: by start, the longer slice outside.
        thread.sort(key=lambda e: (e["ts"], -e["dur"]))
        stack = []
        for event in thread:
            while stack and stack[-1]["ts"] + stack[-1]["dur"] <= event["ts"]:
                stack.pop()
            if stack and event["ts"] + event["dur"] > stack[-1]["ts"] + stack[-1]["dur"]:
                problems.append(f"overlaps: {event} and {stack[-1]}")
            if event.get("cat") == "session":
                if stack:
                    problems.append(f"overlaps: {event} and {stack[-1]}")
                sessions.append(event)
            elif event.get("cat") == "request":
                shown.append((event, {}))
                request = shown[-1][1]
            elif stack:
                request[event["name"]] = event["dur"]
            else:
                problems.append(f"is in no request: {event}")
            stack.append(event)
    rows = [json.loads(line) for line in run(program, "requests", "--metrics", "sessions", "--format", "jsonl", path).splitlines()]
    key = lambda r: (r["id"], r.get("ttft_ns", -1), r.get("e2el_ns", -1))
    rows.sort(key=key)
    shown.sort(key=lambda s: key(s[0]["args"]))
    left_out = int(doc["otherData"].get("left_out", "0").split()[0].replace(",", ""))
    if len(rows) != len(shown) + left_out:
        problems.append(f"{len(shown)} requests, not {len(rows)}")
    elif left_out == 0:
        of = lambda r: (r["id"], r.get("session_id", r.get("session")), r.get("agent", ""), r.get("parent_agent", ""), r.get("depth"), r.get("turn"))
        want = sorted(of(r) for r in rows if r.get("session_id"))
        if sorted(of(e["args"]) for e in sessions) != want:
            problems.append(f"{len(sessions)} slices of sessions, not the {len(want)} requests of sessions")
        for row, (event, parts) in zip(rows, shown):
            args = event["args"]
            for name in ("ttft_ns", "e2el_ns", "token_events", "status"):
                if row.get(name) != args.get(name):
                    problems.append(f"request {row['id']}: {name} is {args.get(name)}, not {row.get(name)}")
            if "TTFT" in parts and parts["TTFT"] * 1000 != row["ttft_ns"]:
                problems.append(f"request {row['id']}: TTFT slice of {parts['TTFT']} µs, not {row['ttft_ns']} ns")
            answer = sum(parts.get(p, 0) for p in ("TTFT", "decode", "end", "answer"))
            if row["status"] == "ok" and row.get("e2el_ns", -1) >= 0 and answer * 1000 != row["e2el_ns"]:
                problems.append(f"request {row['id']}: slices of {answer} µs, not {row['e2el_ns']} ns")
    return len(shown), problems


def main():
    program, paths = sys.argv[1], sys.argv[2:]
    requests = 0
    failed = False
    for path in paths:
        n, problems = check(program, path)
        requests += n
        for problem in problems[:5]:
            failed = True
            print(f"{path}: {problem}")
    print(f"{len(paths)} traces, {requests} requests")
    if failed or requests == 0:
        sys.exit(1)


main()
