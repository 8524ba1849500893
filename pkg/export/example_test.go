package export_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// Read a run from standard input and print the time to the first response.
func ExampleOpener() {
	o := export.Opener{
		Formats: []export.Format{profilejson.Format{}},
		Stdin: strings.NewReader(`{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[` +
			`{"timestamp":1700000000000000000,"response_timestamps":[1700000000306565471,1700000000309655627]},` +
			`{"timestamp":1700000001000000000,"response_timestamps":[1700000001250000000]}],` +
			`"window_boundaries":[1700000000000000000,1700000002000000000]}],"version":"2.38.0"}`),
	}
	r, err := o.Open(context.Background(), "-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = r.Close() }()
	fmt.Println("version", *r.Run().Version)
	for r.Next() {
		e := r.Run().Experiments[r.Experiment()]
		q := r.Request()
		fmt.Println(e.Mode, e.Value, q.Responses[0].RecvNS-q.StartNS, "ns")
	}
	if err := r.Err(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// version 2.38.0
	// concurrency 1 306565471 ns
	// concurrency 1 250000000 ns
}

// Write a run of one failed and one good request.
func ExampleWriter() {
	var out bytes.Buffer
	var w export.Writer = profilejson.NewWriter(&out)
	check := func(err error) {
		if err != nil {
			fmt.Println(err)
		}
	}
	check(w.BeginExperiment(export.ModeConcurrency, "1"))
	check(w.WriteRequest(&export.Request{StartNS: 10, NoOutputs: true, Status: export.StatusTimeout, Phase: export.PhaseMeasured, HasMeta: true}))
	check(w.WriteRequest(&export.Request{StartNS: 20, NoOutputs: true, Responses: []export.Response{{RecvNS: 30}}}))
	check(w.EndExperiment(&export.Experiment{WindowBoundaries: []uint64{5, 35}}))
	version := "0.1.0"
	check(w.Close(&export.Run{Version: &version}))
	fmt.Println(strings.ReplaceAll(out.String(), `"pa"`, "\n"+`"pa"`))
	// Output:
	// {"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[{"timestamp":20,"response_timestamps":[30]}],"window_boundaries":[5,35],
	// "pa":{"excluded_requests":[{"timestamp":10,"response_timestamps":[],
	// "pa":{"status":"timeout","reason":"failed"}}]}}],"version":"0.1.0"}
}
