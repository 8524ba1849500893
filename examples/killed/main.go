// Command killed records a run that survives a kill, and reports it afterwards.
//
//	killed record run.json http://127.0.0.1:8000    # kill it at any time
//	killed report run.json
package main

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/pa"
	"github.com/pa-tools/pa/pkg/recorder/journal"
)

func main() {
	ctx, path := context.Background(), os.Args[2]
	if os.Args[1] == "record" {
		must(pa.Record(ctx, pa.Load{URL: os.Args[3], Streaming: true, Concurrency: 4, For: time.Minute}, path))
		return
	}
	// Recover writes run.json from the journal.
	must(journal.Recover(ctx, journal.PathFor(path), []*journal.Export{must(journal.NewExport(path, false))}))
	rep := must(pa.Analyze(ctx, path)).Full
	must(0, report.Table([]report.Input{{Name: path, Report: rep}}, report.Options{})(os.Stdout))
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
