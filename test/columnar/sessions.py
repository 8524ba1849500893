"""Compares the query of docs/sql.md for jobs per hour with the report. make readback runs it.

python3 sessions.py PA-ANALYZE FOLDER; FOLDER has sessions.parquet.
"""

import json
import pathlib
import re
import subprocess
import sys

import duckdb


def main():
    program, file = sys.argv[1], str(pathlib.Path(sys.argv[2]) / "sessions.parquet")
    page = pathlib.Path(__file__).parents[2].joinpath("docs", "sql.md").read_text()
    (query,) = [q for q in re.findall(r"^```sql\n(.*?)^```", page, re.M | re.S) if "AS jobs_per_hour" in q]
    result = duckdb.sql(query.replace("'run.parquet'", f"'{file}'"))
    rows = [dict(zip(result.columns, row)) for row in result.fetchall()]
    report = json.loads(subprocess.run([program, "report", "--metrics", "sessions", "--format", "json", file], check=True, capture_output=True, text=True).stdout)
    if len(rows) != len(report["experiments"]):
        sys.exit(f"{len(rows)} rows for {len(report['experiments'])} levels")
    for row, level in zip(rows, report["experiments"]):
        sessions = level["sessions"]
        figures = sessions["figures"]
        if not (0 < sessions["finished"] < 60 and sessions["failed"] and sessions["cut"] and sessions["ended_before"]):
            sys.exit(f"not all states of sessions: {sessions['finished']}, {sessions['failed']}, {sessions['cut']}, {sessions['ended_before']}")
        for name, want in [
            ("jobs", sessions["finished"]),
            ("jobs_per_hour", figures["jobs_per_hour"]["value"]),
            ("mean_job_ms", figures["mean_job_time_ns"]["value"] / 1e6),
        ]:
            if abs(row[name] - want) > 1e-12 * abs(want):
                sys.exit(f"level {row['experiment']}: {name}: got {row[name]!r}, want {want!r}")
    print(f"jobs per hour of {len(rows)} levels are as in the report")


main()
