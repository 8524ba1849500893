#!/usr/bin/env python3
"""Reads a run in every columnar format with pyarrow, DuckDB, polars, pandas and Spark,
and compares it with the same run as profile_export.json, and the figures of plain SQL with
the report of pa-analyze.

    python3 -m venv VENV && VENV/bin/pip install -r test/columnar/requirements.txt
    PA_TEST_READBACK=$PWD/DIR go test -run TestWriteForReadback ./pkg/export/formats && VENV/bin/python test/columnar/readback.py DIR

Exits with 1 and names the first difference. Spark needs Java: without it, Spark is left out,
and the last line says so; if CI is set, that is an error.
"""

import base64
import json
import os
import pathlib
import re
import shutil
import sys

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.compute
import pyarrow.ipc
import pyarrow.parquet
import pyspark
import pyspark.sql


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


def overflowed(row):
    """The row with the numbers that do not fit a signed column."""
    row = dict(row, recv_ns=list(row["recv_ns"]))
    for f in row["overflow"] if row["overflow"] is not None else []:
        if f["index"] < 0:
            row[f["name"]] = int(f["value"])
        else:
            row[f["name"]][f["index"]] = int(f["value"])
    return row


def reason_of(request):
    """Why a request does not count. The derived columns know that one without a response failed."""
    if not request["response_timestamps"]:
        return request["pa"].get("reason", "failed")
    return request["pa"].get("reason", "")


def check_rows(name, rows, requests):
    rows = list(rows)
    check(f"{name}: number of rows", len(rows), len(requests))
    for row in rows:
        row = overflowed(row)
        key = row["experiment"], row["id"]
        at = f"{name}: request {key}"
        want = requests[key]
        check(f"{at}: start_ns", row["start_ns"], want["timestamp"])
        check(f"{at}: recv_ns", list(row["recv_ns"]), want["response_timestamps"])
        check(f"{at}: reason", row["reason"], reason_of(want))
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
    check(f"{name}: schema", metadata[b"pa.schema"], b"pa-columns/2")
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

    check_statistics(folder / "run.parquet", table)


def check_statistics(path, table):
    """The minima and maxima of the row groups, of the columns that are in no list."""
    metadata = pyarrow.parquet.read_metadata(path)
    compared, row = set(), 0
    for g in range(metadata.num_row_groups):
        group = metadata.row_group(g)
        rows = table.slice(row, group.num_rows)
        row += group.num_rows
        for c in range(group.num_columns):
            column = group.column(c)
            if column.path_in_schema not in table.column_names or not column.statistics or not column.statistics.has_min_max:
                continue
            values = pyarrow.compute.min_max(rows[column.path_in_schema]).as_py()
            check(f"statistics of {column.path_in_schema}", {"min": column.statistics.min, "max": column.statistics.max}, values)
            compared.add(column.path_in_schema)
    check("statistics: start_ns and ttft_ns have some", {"start_ns", "ttft_ns", "status"} <= compared, True)


# The figures of a level by plain SQL. {p} is the percentile, {where} selects its requests.
FIGURES = {
    "ttft_ns": "SELECT count(ttft_ns), quantile_cont(ttft_ns, {p}) FROM run WHERE {where}",
    "tpot_ns": "SELECT count(tpot_ns), quantile_cont(tpot_ns, {p}) FROM run WHERE {where}",
    "e2el_ns": "SELECT count(e2el_ns), quantile_cont(e2el_ns, {p}) FROM run WHERE {where}",
    "itl_ns": "SELECT count(itl), quantile_cont(itl, {p}) FROM (SELECT unnest(flatten(itl_ns)) AS itl FROM run WHERE {where})",
    "output_tokens": "SELECT count(output_tokens), quantile_cont(output_tokens, {p}) FROM run WHERE {where}",
    "input_tokens": "SELECT count(input_tokens), quantile_cont(input_tokens, {p}) FROM run WHERE {where}",
}


def check_figures(con, path, report):
    """Holds the figures by SQL to the report: counts exactly, values to 1e-12."""
    con.sql(f"CREATE VIEW run AS SELECT * FROM '{path}'")
    for i, level in enumerate(report["experiments"]):
        where = f"experiment = {i} AND reason = ''"
        check(f"SQL: requests of level {i}", con.sql(f"SELECT count(*) FROM run WHERE {where}").fetchall()[0][0], level["requests"]["ok"])
        check(f"SQL: failed of level {i}", con.sql(f"SELECT count(*) FROM run WHERE experiment = {i} AND reason = 'failed'").fetchall()[0][0], level["requests"]["failed"])
        for name, query in FIGURES.items():
            for p in [50, 99]:
                n, value = con.sql(query.format(p=p / 100, where=where)).fetchall()[0]
                want = level["metrics"][name]
                check(f"SQL: number of {name} of level {i}", n, want["n"])
                if abs(value - want[f"p{p}"]) > 1e-12 * abs(want[f"p{p}"]):
                    sys.exit(f"SQL: p{p} of {name} of level {i}: got {value!r}, want {want[f'p{p}']!r}")


def check_duckdb(folder, requests):
    path = str(folder / "run.parquet")
    con = duckdb.connect()
    relation = con.sql(f"SELECT * FROM '{path}'")
    check_rows("DuckDB", (dict(zip(relation.columns, row)) for row in relation.fetchall()), requests)
    counts = dict(con.sql(f"SELECT reason, count(*) FROM '{path}' GROUP BY reason").fetchall())
    want = {}
    for r in requests.values():
        want[reason_of(r)] = want.get(reason_of(r), 0) + 1
    check("DuckDB: reasons", counts, want)
    total = con.sql(f"SELECT sum(list_sum(recv_ns::HUGEINT[])) FROM '{path}'").fetchall()[0][0]
    check("DuckDB: sum of recv_ns", int(total), sum(min(t, 2**63 - 1) for r in requests.values() for t in r["response_timestamps"]))
    check_figures(con, path, json.loads((folder / "report.json").read_text()))
    # The queries of schemas/columns.md.
    modes = con.sql(f"SELECT decode(value)::JSON -> '$.experiments[*].experiment' FROM parquet_kv_metadata('{path}') WHERE decode(key) = 'pa.run'").fetchall()[0][0]
    check("DuckDB: modes", [json.loads(m) for m in modes], [{"mode": "concurrency", "value": 1}, {"mode": "concurrency", "value": 2}])
    groups = con.sql(f"SELECT mode, value, count(*), quantile_cont(ttft_ns / 1e6, 0.99) AS ttft_ms_p99 FROM '{path}' WHERE reason = '' GROUP BY ALL").fetchall()
    check("DuckDB: groups", sorted(g[:2] for g in groups), [("concurrency", 1.0), ("concurrency", 2.0)])
    check_page(con, path)


def check_page(con, path):
    """Runs the queries of docs/sql.md. A table below a query names its columns."""
    page = pathlib.Path(__file__).parents[2].joinpath("docs", "sql.md").read_text()
    queries = re.findall(r"^```sql\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", page, re.M | re.S)
    check("DuckDB: queries of the page", len(queries) > 3, True)
    for query, table in queries:
        relation = con.sql(query.replace("'run.parquet'", f"'{path}'"))
        check(f"DuckDB: rows of {query}", len(relation.fetchall()) > 0, True)
        if table:
            shown = [cell.strip() for cell in table.splitlines()[1].strip("│").split("│")]
            check(f"DuckDB: columns of {query}", shown, relation.columns)


def check_polars(folder, requests):
    for name, read in [("run.parquet", polars.read_parquet), ("run.arrow", polars.read_ipc)]:
        check_rows(f"polars, {name}", read(folder / name).iter_rows(named=True), requests)


def check_pandas(folder, requests):
    """Nanoseconds stay whole numbers, also in columns with nulls."""
    frame = pandas.read_parquet(folder / "run.parquet", dtype_backend="pyarrow")
    check_rows("pandas", frame.replace({pandas.NA: None}).to_dict("records"), requests)
    for name in ["sent_ns", "ttft_ns", "e2el_ns"]:
        check(f"pandas: type of {name}", str(frame[name].dtype), "int64[pyarrow]")
    for row in frame[["experiment", "id", "sent_ns"]].itertuples():
        want = requests[row.experiment, row.id]["pa"].get("sent_ns", 0)
        check(f"pandas: sent_ns of {row.experiment, row.id}", 0 if pandas.isna(row.sent_ns) else row.sent_ns, want)


def check_spark(folder, requests):
    """Spark reads the rows, and skips row groups by their statistics without losing any."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    spark = pyspark.sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.log.level", "ERROR").getOrCreate()
    try:
        frame = spark.read.parquet(str(folder / "run.parquet"))
        check_rows("Spark", (row.asDict(recursive=True) for row in frame.collect()), requests)
        frame.createOrReplaceTempView("run")
        report = json.loads((folder / "report.json").read_text())
        for i, level in enumerate(report["experiments"]):
            n, value = spark.sql(f"SELECT count(ttft_ns), percentile(ttft_ns, 0.99) FROM run WHERE experiment = {i} AND reason = ''").first()
            want = level["metrics"]["ttft_ns"]
            check(f"Spark: TTFT of level {i}", (n, abs(value - want["p99"]) <= 1e-12 * want["p99"]), (want["n"], True))
        last = max(r["timestamp"] for r in requests.values())
        n = spark.sql(f"SELECT count(*) FROM run WHERE start_ns >= {last}").first()[0]
        check("Spark: requests from the last start on", n, sum(r["timestamp"] >= last for r in requests.values()))
    finally:
        spark.stop()


def main():
    folder = pathlib.Path(sys.argv[1])
    document, requests = expected(folder / "run.json")
    check_pyarrow(folder, document, requests)
    check_duckdb(folder, requests)
    check_polars(folder, requests)
    check_pandas(folder, requests)
    spark = f"Spark {pyspark.__version__}"
    if shutil.which("java"):
        check_spark(folder, requests)
    elif os.environ.get("CI"):
        sys.exit("Spark: java is missing; install a Java runtime, such as default-jre-headless")
    else:
        spark = "not by Spark (java is missing)"
    print(f"{len(requests)} requests are the same in JSON, Parquet and an Arrow file, read by "
          f"pyarrow {pyarrow.__version__}, DuckDB {duckdb.__version__}, polars {polars.__version__}, pandas {pandas.__version__} and {spark}")


if __name__ == "__main__":
    main()
