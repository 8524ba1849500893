package perfanalyzer_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/tool/perfanalyzer"
)

// Two requests of two tokens each, then perf_analyzer's empty final response.
const file = `{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[
{"timestamp":1700000000000000000,"response_timestamps":[1700000000030000000,1700000000050000000,1700000000050100000],
 "response_outputs":[{"text_output":" Hello"},{"text_output":"!"},{"text_output":""}]},
{"timestamp":1700000000060000000,"response_timestamps":[1700000000100000000,1700000000120000000,1700000000120200000],
 "response_outputs":[{"text_output":" Hi"},{"text_output":"."},{"text_output":""}]}
],"window_boundaries":[1700000000000000000,1700000001000000000]}],"version":"2.45.0"}`

func ExampleAverageFirstToken() {
	r, err := profilejson.NewReader(context.Background(), "run.json", strings.NewReader(file), int64(len(file)), export.Limits{})
	if err != nil {
		log.Fatal(err)
	}
	line, err := perfanalyzer.AverageFirstToken(r)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(line)
	// Output:
	// Average first-token latency: 0.035 s
}
