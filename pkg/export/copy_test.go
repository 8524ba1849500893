package export_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// A listReader delivers requests of the experiments in levels.
type listReader struct {
	run    export.Run
	levels []int
	at     int
	err    error

	scrapes []export.Scrape
}

func (r *listReader) Scrapes(_ context.Context, do func(*export.Scrape) error) error {
	for i := range r.scrapes {
		if err := do(&r.scrapes[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *listReader) Run() *export.Run           { return &r.run }
func (r *listReader) Next() bool                 { r.at++; return r.at <= len(r.levels) }
func (r *listReader) Request() *export.Request   { return &export.Request{ID: uint64(r.at)} }
func (r *listReader) Experiment() int            { return r.levels[r.at-1] }
func (r *listReader) Err() error                 { return r.err }
func (r *listReader) Skipped(int) (int, int)     { return 0, 0 }
func (r *listReader) Warnings() []export.Warning { return nil }
func (r *listReader) Close() error               { return nil }

// A callWriter notes the calls and fails the one that bad names.
type callWriter struct {
	calls []string
	bad   string
}

var errBad = errors.New("bad")

func (w *callWriter) call(format string, args ...any) error {
	c := fmt.Sprintf(format, args...)
	w.calls = append(w.calls, c)
	if c == w.bad {
		return errBad
	}
	return nil
}

func (w *callWriter) BeginExperiment(mode, value string) error {
	return w.call("begin %s %s", mode, value)
}
func (w *callWriter) WriteRequest(r *export.Request) error { return w.call("request %d", r.ID) }
func (w *callWriter) EndExperiment(e *export.Experiment) error {
	return w.call("end %v", e.WindowBoundaries)
}

func (w *callWriter) WriteScrape(s *export.Scrape) error { return w.call("scrape %d", s.StartNS) }

func (w *callWriter) Close(run *export.Run) error { return w.call("close %d", len(run.Experiments)) }

func levels(n int) export.Run {
	run := export.Run{}
	for i := range n {
		run.Experiments = append(run.Experiments, export.Experiment{Mode: "m", Value: fmt.Sprint(i), WindowBoundaries: []uint64{uint64(i)}})
	}
	return run
}

func TestCopy(t *testing.T) {
	for _, tt := range []struct {
		name    string
		n       int
		levels  []int
		scrapes int
		want    string
	}{
		{"nothing", 0, nil, 0, "close 0"},
		{"telemetry", 1, []int{0}, 2, "scrape 0, scrape 0, begin m 0, request 1, end [0], close 1"},
		{"no requests", 2, nil, 0, "begin m 0, end [0], begin m 1, end [1], close 2"},
		{"one level", 1, []int{0, 0}, 0, "begin m 0, request 1, request 2, end [0], close 1"},
		{"empty levels around", 4, []int{1, 3}, 0, "begin m 0, end [0], begin m 1, request 1, end [1], begin m 2, end [2], begin m 3, request 2, end [3], close 4"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := &callWriter{}
			// The caller looks at the error that ended the reading.
			r := &listReader{run: levels(tt.n), levels: tt.levels, err: errors.New("cut"), scrapes: make([]export.Scrape, tt.scrapes)}
			if err := export.Copy(context.Background(), w, r); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(w.calls, ", "); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestCopyErrors(t *testing.T) {
	for _, bad := range []string{"begin m 0", "request 1", "end [0]", "begin m 1", "end [1]", "scrape 7", "close 2"} {
		w := &callWriter{bad: bad}
		err := export.Copy(context.Background(), w, &listReader{run: levels(2), levels: []int{0}, scrapes: []export.Scrape{{StartNS: 7}}})
		if !errors.Is(err, errBad) || w.calls[len(w.calls)-1] != bad {
			t.Errorf("%s: %v after %q", bad, err, w.calls)
		}
	}
	for _, requests := range [][]int{nil, {0, 0}} {
		cause := errors.New("stopped")
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(cause)
		w := &callWriter{}
		err := export.Copy(ctx, w, &listReader{run: levels(1), levels: requests})
		if !errors.Is(err, cause) || slices.Contains(w.calls, "close 1") {
			t.Errorf("%d requests: %v after %q", len(requests), err, w.calls)
		}
	}
}
