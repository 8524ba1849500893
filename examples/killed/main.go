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

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/journal"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

func main() {
	ctx, path := context.Background(), os.Args[2]
	exports := []*journal.Export{must(journal.NewExport(path, false))}
	if os.Args[1] == "record" {
		clock := rxclock.New()
		server := must(openai.New(openai.Config{URL: os.Args[3], Streaming: true, Clock: clock}))
		w := must(journal.NewWriter(journal.Config{Exports: exports}))
		run := export.Run{Meta: &export.RunMeta{Schema: export.Schema}}
		must(0, w.Open(ctx, &run))
		must(recorder.Run(ctx, recorder.Config{
			Backend: server, Entries: workload.Builtin(), Clock: clock, Writer: w, Run: run,
			Levels: load.Closed(4), Measure: window.Measure{Duration: time.Minute},
		}))
		return
	}
	must(journal.Recover(ctx, journal.PathFor(path), exports)) // writes run.json from the journal
	r := must((&export.Opener{Formats: formats.Readers()}).Open(ctx, path))
	rep := must(analyze.Run(ctx, r, analyze.Config{}))
	must(0, report.Table([]report.Input{{Name: path, Report: rep}}, report.Options{})(os.Stdout))
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
