#!/usr/bin/env python3
"""Reads a run in every columnar format with pyarrow, DuckDB and polars, and
compares it with the same run as profile_export.json.

    python3 -m venv VENV && VENV/bin/pip install -r test/columnar/requirements.txt
    go run ./test/columnar/write DIR && VENV/bin/python test/columnar/readback.py DIR

Exits with 1 and names the first difference.
"""

import base64
import json
import pathlib
import re
import sys

import duckdb
import polars
import pyarrow
import pyarrow.ipc
import pyarrow.parquet


def text(value):
    """What a string stands for, as JSON text was read: by surrogateescape."""
    if value.startswith("base64:"):
        return base64.b64decode(value[7:]).decode("utf-8", "surrogateescape")
    return value


def expected(path):
    """The requests by (experiment, id), from the JSON."""
    document = json.loads(path.read_bytes().decode("utf-8", "surrogateescape"))
    requests = {}
    for i, experiment in enumerate(document["experiments"]):
        for r in experiment["requests"] + experiment.get("pa", {}).get("excluded_requests", []):
            requests[i, r["pa"].get("id", 0)] = r
    return document, requests


def check(name, got, want):
    if got != want:
        sys.exit(f"{name}: got {got!r}, want {want!r}")


def check_rows(name, rows, requests):
    rows = list(rows)
    check(f"{name}: number of rows", len(rows), len(requests))
    for row in rows:
        key = row["experiment"], row["id"]
        at = f"{name}: request {key}"
        want = requests[key]
        check(f"{at}: start_ns", row["start_ns"], want["timestamp"])
        check(f"{at}: recv_ns", list(row["recv_ns"]), want["response_timestamps"])
        check(f"{at}: reason", row["reason"], want["pa"].get("reason", ""))
        inputs = row["inputs"]
        if inputs is not None:
            inputs = {text(f["name"]): text(f["value"]) for f in inputs}
        check(f"{at}: inputs", inputs, want.get("request_inputs"))
        outputs = [{} for _ in row["recv_ns"]]
        for f in row["outputs"]:
            if f["value"] is None:
                outputs[f["response"]] = None
            else:
                outputs[f["response"]][text(f["name"])] = text(f["value"])
        check(f"{at}: outputs", outputs, want["response_outputs"])


def check_header(name, metadata, document):
    run = json.loads(metadata[b"pa.run"])
    check(f"{name}: schema", metadata[b"pa.schema"], b"pa-columns/1")
    check(f"{name}: windows", [e["window_boundaries"] for e in run["experiments"]],
          [e["window_boundaries"] for e in document["experiments"]])
    check(f"{name}: endpoint", run["endpoint"], document["endpoint"])


def check_pyarrow(folder, document, requests):
    table = pyarrow.parquet.read_table(folder / "run.parquet")
    table.validate(full=True)
    check_rows("pyarrow, Parquet", table.to_pylist(), requests)
    check_header("pyarrow, Parquet", table.schema.metadata, document)

    with pyarrow.ipc.open_file(folder / "run.arrow") as reader:
        arrow = reader.read_all()
    arrow.validate(full=True)
    check("pyarrow: Arrow file equals Parquet", arrow.equals(table), True)
    check_header("pyarrow, Arrow file", arrow.schema.metadata, document)

    with pyarrow.ipc.open_stream(folder / "run.journal.arrows") as reader:
        journal = reader.read_all()
    journal.validate(full=True)
    check("pyarrow: journal equals Parquet", journal.equals(table), True)

    rows = 0
    with pyarrow.ipc.open_stream(folder / "killed.journal.arrows") as reader:
        try:
            for batch in reader:
                batch.validate(full=True)
                rows += batch.num_rows
            sys.exit("pyarrow, killed journal: no error at its end")
        except (pyarrow.ArrowInvalid, OSError):
            pass
    check("pyarrow, killed journal: whole batches", (rows > 0, rows % 500), (True, 0))


def check_duckdb(folder, requests):
    path = str(folder / "run.parquet")
    con = duckdb.connect()
    relation = con.sql(f"SELECT * FROM '{path}'")
    check_rows("DuckDB", (dict(zip(relation.columns, row)) for row in relation.fetchall()), requests)
    counts = dict(con.sql(f"SELECT reason, count(*) FROM '{path}' GROUP BY reason").fetchall())
    want = {}
    for r in requests.values():
        want[r["pa"].get("reason", "")] = want.get(r["pa"].get("reason", ""), 0) + 1
    check("DuckDB: reasons", counts, want)
    total = con.sql(f"SELECT sum(list_sum(recv_ns::HUGEINT[])) FROM '{path}'").fetchall()[0][0]
    check("DuckDB: sum of recv_ns", int(total), sum(sum(r["response_timestamps"]) for r in requests.values()))
    # The queries of schemas/columns.md.
    modes = con.sql(f"SELECT decode(value)::JSON -> '$.experiments[*].experiment' FROM parquet_kv_metadata('{path}') WHERE decode(key) = 'pa.run'").fetchall()[0][0]
    check("DuckDB: modes", [json.loads(m) for m in modes], [{"mode": "concurrency", "value": 1}, {"mode": "concurrency", "value": 2}])
    groups = con.sql(f"SELECT experiment, count(*), quantile_cont((recv_ns[1] - start_ns) / 1e6, 0.99) AS first_response_ms_p99 FROM '{path}' WHERE reason = '' GROUP BY experiment").fetchall()
    check("DuckDB: groups", sorted(g[0] for g in groups), [0, 1])
    check_page(con, path)


def check_page(con, path):
    """Runs the queries of docs/duckdb.md. A table below a query names its columns."""
    page = pathlib.Path(__file__).parents[2].joinpath("docs", "duckdb.md").read_text()
    queries = re.findall(r"^```sql\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", page, re.M | re.S)
    check("DuckDB: queries of the page", len(queries) > 3, True)
    for query, table in queries:
        relation = con.sql(query.replace("'run.parquet'", f"'{path}'"))
        check(f"DuckDB: rows of {query}", len(relation.fetchall()) > 0, True)
        if table:
            shown = [cell.strip() for cell in table.splitlines()[1].strip("│").split("│")]
            check(f"DuckDB: columns of {query}", shown, relation.columns)


def check_polars(folder, requests):
    for name, read in [("run.parquet", polars.read_parquet), ("run.arrow", polars.read_ipc), ("run.journal.arrows", polars.read_ipc_stream)]:
        check_rows(f"polars, {name}", read(folder / name).iter_rows(named=True), requests)


def main():
    folder = pathlib.Path(sys.argv[1])
    document, requests = expected(folder / "run.json")
    check_pyarrow(folder, document, requests)
    check_duckdb(folder, requests)
    check_polars(folder, requests)
    print(f"{len(requests)} requests are the same in JSON, Parquet, an Arrow file and a journal, read by "
          f"pyarrow {pyarrow.__version__}, DuckDB {duckdb.__version__} and polars {polars.__version__}")


if __name__ == "__main__":
    main()
