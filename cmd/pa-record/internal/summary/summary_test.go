package summary

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/cmd/pa-record/internal/settings"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/columnar"
)

// A run of more responses than memory is given to says where its figures are.
func TestSummaryTooLarge(t *testing.T) {
	s := Summary{ctx: t.Context(), most: 2}
	s.Add(&export.Request{Responses: make([]export.Response, 3)})
	s.Compute(nil) // it need not be opened
	var stdout, stderr strings.Builder
	s.Print(&stdout, &stderr, settings.RunIndex{}, false)
	if want := "pa-record: note: no figures: more than 2 responses; pa-analyze report computes them\n"; stderr.String() != want || stdout.Len() > 0 {
		t.Errorf("standard error %q, want %q; standard output %q", stderr.String(), want, stdout.String())
	}
}

// analyzeJournal computes the figures of a journal. A second signal ends it.
func TestAnalyzeJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.journal.arrows")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	header := &export.Run{Meta: &export.RunMeta{Schema: export.Schema}}
	w, err := columnar.NewJournalWriter(f, header)
	if err != nil {
		t.Fatal(err)
	}
	q := &export.Request{ID: 1, StartNS: 1_000, Status: export.StatusOK, Responses: []export.Response{{RecvNS: 2_000}}}
	if err := errors.Join(w.BeginExperiment(export.ModeConcurrency, "1"), w.WriteRequest(q), w.EndExperiment(&export.Experiment{}), w.Close(header)); err != nil {
		t.Fatal(err)
	}
	o := export.Opener{Formats: []export.Format{columnar.Journal{}}}
	open := func(ctx context.Context) (export.Reader, error) { return o.Open(ctx, path) }
	rep, err := analyzeJournal(t.Context(), open)
	if err != nil || len(rep.Experiments) != 1 || rep.Experiments[0].OK != 1 {
		t.Errorf("report %+v, error %v, want one level with one request", rep, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if rep, err := analyzeJournal(ctx, open); rep != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("report %+v, error %v, want that it was cancelled", rep, err)
	}
	s := &Summary{ctx: ctx, most: 1}
	s.Compute(open)
	if s.report != nil || s.err == nil || s.err.Error() != "a second signal ended the run" {
		t.Errorf("report %+v, error %v, want the second signal", s.report, s.err)
	}
}
