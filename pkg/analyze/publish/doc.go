// Package publish writes the figures of runs in the forms that dashboards and trackers read: OpenMetrics for Prometheus, OTLP for
// OpenTelemetry, folders for MLflow, records for PyTorch's benchmark database, and lines for InfluxDB.
//
//	run := publish.Report(report.Input{Name: "run.json", Report: rep})
//	form, _ := publish.Find("openmetrics")
//	err := form.Write([]*publish.Run{run})(os.Stdout)
//
// All forms have the same names. A name of ours is the key of the JSON report with the unit written out, ttft_seconds for ttft_ns,
// and times are seconds with the digits of the nanoseconds. A figure that another tool states keeps its number and its unit, and its
// name begins with "stated_", because tools that use the same name rarely mean the same. Figures without a value are left out and
// counted.
package publish
