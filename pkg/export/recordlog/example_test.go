package recordlog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/recordlog"
)

// A process that is killed leaves a log with what it had flushed.
func Example() {
	var log bytes.Buffer
	w, err := recordlog.NewWriter(recordlog.To(&log), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	request := &export.Request{StartNS: 1, Responses: []export.Response{{RecvNS: 5}}}
	if err := errors.Join(
		w.BeginExperiment(export.ModeConcurrency, "8"),
		w.WriteRequest(request),
		w.Flush(), // about once a second
		w.WriteRequest(request),
	); err != nil {
		fmt.Println(err)
		return
	}
	// Here the process is killed.

	r, err := recordlog.Format().Open(context.Background(), "run.journal", bytes.NewReader(log.Bytes()), int64(log.Len()), export.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for r.Next() {
		e := r.Run().Experiments[r.Experiment()]
		fmt.Println(e.Mode, e.Value, r.Request().StartNS, r.Request().Responses[0].RecvNS)
	}
	var cut *export.CutError
	fmt.Println("killed:", errors.As(r.Err(), &cut))
	// Output:
	// concurrency 8 1 5
	// killed: true
}
