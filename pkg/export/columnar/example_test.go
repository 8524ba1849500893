package columnar_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/columnar"
)

// A process that is killed leaves a journal; what it had flushed becomes a
// Parquet file.
func Example() {
	var journal bytes.Buffer
	j, err := columnar.NewJournalWriter(&journal, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	request := &export.Request{StartNS: 1, Responses: []export.Response{{RecvNS: 5}}, NoOutputs: true}
	err = errors.Join(
		j.BeginExperiment(export.ModeConcurrency, "8"),
		j.WriteRequest(request),
		j.Flush(), // about once a second
		j.WriteRequest(request),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	// Here the process is killed.

	ctx := context.Background()
	r, err := columnar.Journal().Open(ctx, "run.journal.arrows", bytes.NewReader(journal.Bytes()), int64(journal.Len()), export.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var parquet bytes.Buffer
	w, err := columnar.NewParquetWriter(&parquet, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := export.Copy(ctx, w, r); err != nil {
		fmt.Println(err)
		return
	}
	var cut *export.CutError
	fmt.Println("killed:", errors.As(r.Err(), &cut))

	p, err := columnar.Parquet().Open(ctx, "run.parquet", bytes.NewReader(parquet.Bytes()), int64(parquet.Len()), export.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for p.Next() {
		e := p.Run().Experiments[p.Experiment()]
		fmt.Println(e.Mode, e.Value, p.Request().StartNS, p.Request().Responses[0].RecvNS)
	}
	// Output:
	// killed: true
	// concurrency 8 1 5
}
