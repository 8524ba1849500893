"""Reads what pa-analyze write makes with the clients of other projects, and compares each number with pa-analyze report.

    readback.py PA-ANALYZE RUN DIR

RUN is a recording. DIR gets the files; it must be new. Means and percentiles of each metric have to be equal to the last bit of a
float, and counts exact, in each form. The steps of MLflow's metrics have to be the load levels.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"

from google.protobuf import json_format  # noqa: E402
from line_protocol_parser import parse_line  # noqa: E402
from mlflow.tracking import MlflowClient  # noqa: E402
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest  # noqa: E402
from prometheus_client.openmetrics.parser import text_string_to_metric_families  # noqa: E402

STATISTICS = ["mean", "std", "min", "p50", "p99", "p99.9", "max"]


def written(program, run, form, *where):
    return subprocess.run([program, "write", "--to", form, *where, run], check=True, capture_output=True, text=True).stdout


def expected(program, run):
    """Each number as (level, name, statistic) → value."""
    report = json.loads(subprocess.run([program, "report", "--format", "json", run], check=True, capture_output=True, text=True).stdout)
    numbers = {}
    for level in report["experiments"]:
        load = f"{level['mode']} {level['value']}"
        for key, values in level["metrics"].items():
            name, scale = (key[:-3] + "_seconds", 1e9) if key.endswith("_ns") else (key, 1)
            for statistic in STATISTICS:
                numbers[load, name, statistic] = values[statistic] / scale
        for key, value in level["throughput"].items():
            if value is not None:
                numbers[load, re.sub(r"_per_s(?=_|$)", "_per_second", key), ""] = value
        numbers[load, "requests_ok", ""] = level["requests"]["ok"]
    return numbers


def check(form, want, got):
    missing = [key for key in want if key not in got]
    wrong = [(key, want[key], got[key]) for key in want if key in got and abs(want[key] - got[key]) > 1e-15 * abs(want[key])]
    if missing or wrong or not want:
        sys.exit(f"{form}: {len(want)} numbers, missing {missing[:5]}, wrong {wrong[:5]}")
    print(f"{form}: {len(want)} numbers of the report")


def main(program, run, folder):
    want = expected(program, run)
    folder = pathlib.Path(folder)

    got, buckets = {}, {}
    for family in text_string_to_metric_families(written(program, run, "openmetrics")):
        for s in family.samples:
            if family.type == "gauge":
                got[s.labels["level"], s.name[3:], s.labels.get("statistic", "")] = s.value
            elif s.name.endswith("_bucket"):
                buckets.setdefault((s.labels["level"], family.name), []).append(s.value)
    check("openmetrics", want, got)
    for (level, name), counts in buckets.items():
        n = got[level, name[3:].replace("_distribution", "").removesuffix("_seconds") + "_values", ""]
        if counts != sorted(counts) or counts[-1] != n:
            sys.exit(f"{name} at {level}: {counts} of {n}")

    got = {}
    for line in written(program, run, "influx").splitlines():
        p = parse_line(line)
        for field, value in p["fields"].items():
            got[p["tags"]["level"], p["measurement"][3:], "" if field == "value" else field] = value
    check("influx", want, got)

    got = {}
    for line in written(program, run, "otlp-json").splitlines():
        request = json_format.Parse(line, ExportMetricsServiceRequest())
        for metric in request.resource_metrics[0].scope_metrics[0].metrics:
            for p in metric.gauge.data_points:
                attributes = {a.key: a.value.string_value for a in p.attributes}
                got[attributes["pa.level"], metric.name[3:], attributes.get("pa.statistic", "")] = p.as_double
            for p in metric.histogram.data_points:
                if sum(p.bucket_counts) != p.count or len(p.bucket_counts) != len(p.explicit_bounds) + 1:
                    sys.exit(f"{metric.name}: {p}")
    check("otlp-json", want, got)

    got = {}
    for r in json.loads(written(program, run, "pytorch-hud")):
        name = r["metric"]["name"]
        for statistic in STATISTICS:
            if name.endswith("_" + statistic):
                got[r["benchmark"]["extra_info"]["level"], name[: -len(statistic) - 1], statistic] = r["metric"]["benchmark_values"][0]
        got[r["benchmark"]["extra_info"]["level"], name, ""] = r["metric"]["benchmark_values"][0]
    check("pytorch-hud", want, got)

    written(program, run, "mlflow", "--folder", str(folder / "mlruns"))
    client = MlflowClient(tracking_uri=str(folder / "mlruns"))
    [found] = client.search_runs([client.get_experiment_by_name("pa-analyze").experiment_id])
    got = {}
    for key in found.data.metrics:
        name, _, statistic = key.partition(".")
        for m in client.get_metric_history(found.info.run_id, key):
            got[found.data.params[f"level_at_step_{m.step}"], name, statistic.replace("_", ".")] = m.value
    check("mlflow", want, got)


main(*sys.argv[1:])
