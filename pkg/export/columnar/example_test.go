package columnar_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/columnar"
)

// A run is written as a Parquet file and read again.
func Example() {
	var parquet bytes.Buffer
	w, err := columnar.NewParquetWriter(&parquet, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	request := &export.Request{StartNS: 1, Responses: []export.Response{{RecvNS: 5}}, NoOutputs: true}
	if err := errors.Join(
		w.BeginExperiment(export.ModeConcurrency, "8"),
		w.WriteRequest(request),
		w.EndExperiment(&export.Experiment{}),
		w.Close(nil),
	); err != nil {
		fmt.Println(err)
		return
	}
	p, err := columnar.Parquet().Open(context.Background(), "run.parquet", bytes.NewReader(parquet.Bytes()), int64(parquet.Len()), export.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for p.Next() {
		e := p.Run().Experiments[p.Experiment()]
		fmt.Println(e.Mode, e.Value, p.Request().StartNS, p.Request().Responses[0].RecvNS)
	}
	// Output:
	// concurrency 8 1 5
}
