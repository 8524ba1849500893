package summary

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pa-tools/pa/cmd/pa-record/internal/runindex"
	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/export"
)

// A run of more responses than memory is given to says where its figures are.
func TestSummaryTooLarge(t *testing.T) {
	s := Summary{ctx: t.Context(), most: 2}
	s.Add(&export.Request{Responses: make([]export.Response, 3)})
	s.Compute(nil) // it need not be opened
	var stdout, stderr strings.Builder
	s.Print(&stdout, &stderr, runindex.Index{}, false)
	if want := "pa-record: note: no figures: more than 2 responses; pa-analyze report computes them\n"; stderr.String() != want || stdout.Len() > 0 {
		t.Errorf("standard error %q, want %q; standard output %q", stderr.String(), want, stdout.String())
	}
}

// analyzeJournal computes the figures of a journal. A second signal ends it.
func TestAnalyzeJournal(t *testing.T) {
	q := export.Request{ID: 1, StartNS: 1_000, Status: export.StatusOK, Responses: []export.Response{{RecvNS: 2_000}}}
	open := func(context.Context) (export.Reader, error) {
		return &memrun.Reader{
			Header:   export.Run{Experiments: []export.Experiment{{Mode: export.ModeConcurrency, Value: "1"}}},
			Requests: [][]export.Request{{q}},
		}, nil
	}
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
