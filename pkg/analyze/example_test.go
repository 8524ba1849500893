package analyze_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// Two requests of two tokens each, then perf_analyzer's empty final response.
const file = `{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[
{"timestamp":1700000000000000000,"response_timestamps":[1700000000030000000,1700000000050000000,1700000000050100000],
 "response_outputs":[{"text_output":" Hello"},{"text_output":"!"},{"text_output":""}]},
{"timestamp":1700000000060000000,"response_timestamps":[1700000000100000000,1700000000120000000,1700000000120200000],
 "response_outputs":[{"text_output":" Hi"},{"text_output":"."},{"text_output":""}]}
],"window_boundaries":[1700000000000000000,1700000001000000000]}],"version":"2.45.0"}`

func Example() {
	r, err := profilejson.NewReader(context.Background(), "run.json", strings.NewReader(file), int64(len(file)), export.Limits{})
	if err != nil {
		log.Fatal(err)
	}
	rep, err := analyze.Run(context.Background(), r, analyze.Config{})
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range rep.Experiments {
		fmt.Printf("%s %s: %d requests\n", e.Mode, e.Value, e.OK)
		for _, m := range []answer.Metric{answer.TTFT, answer.ITL, answer.E2EL} {
			if s := e.Metric(m); s != nil {
				fmt.Printf("%s: n %d, mean %.0f %s\n", m.Label(), s.N, s.Mean, m.Unit())
			}
		}
	}
	// Output:
	// concurrency 1: 2 requests
	// TTFT: n 2, mean 35000000 ns
	// ITL: n 2, mean 20000000 ns
	// E2EL: n 2, mean 55150000 ns
}
