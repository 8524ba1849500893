package report_test

import (
	"log"
	"os"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/export"
)

func ExampleTable() {
	rep := &analyze.Report{
		Run: &export.Run{},
		Experiments: []analyze.Experiment{{
			Mode: "concurrency", Value: "8", OK: 97,
			Failed: []figure.Count{{Name: "timeout", N: 3}},
			Level:  figure.Level{DurationNS: 12_345_678_901, Throughput: figure.Throughput{Requests: figure.PerSecond(7.857)}},
		}},
	}
	if err := report.Table([]report.Input{{Name: "run.json", Report: rep}}, report.Options{})(os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// run.json
	//   recorded by  perf_analyzer
	//
	// concurrency 8: 97 requests ok, 3 failed (timeout) in 12.35 s
	//   7.857 requests/s
}
