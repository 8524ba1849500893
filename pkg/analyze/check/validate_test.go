package check

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/export"
)

func TestValidate(t *testing.T) {
	windows := func(w ...uint64) func(*memrun.Reader) {
		return func(r *memrun.Reader) { r.Header.Experiments[0].WindowBoundaries = w }
	}
	sent := memrun.At(1000, 1010)
	sent.SentNS = 999
	dropped := memrun.At(1000, 1010)
	dropped.OutputsDropped = true
	kept := memrun.OpenAI("x")
	kept.OutputsDropped = true
	failed := memrun.At(1000)
	failed.Status = export.StatusConnectError
	again := memrun.At(1000, 1010)
	again.Resent = true
	early := memrun.At(0)
	early.Status = export.StatusConnectError
	for _, tt := range []struct {
		name   string
		r      []export.Request
		change func(*memrun.Reader)
		want   []string // beginnings of violations
	}{
		{"nothing wrong", []export.Request{memrun.At(1000, 1010, 1010, 1020)}, windows(0, 2000), nil},
		{"a failed request without response", []export.Request{failed, early}, nil, nil},
		{"the clock set back", []export.Request{memrun.At(1000, 1010, 1005)}, nil, []string{"experiment 0: request 0 (timestamp 1000): response 1 at 1005 is 5 ns before response 0"}},
		{"a response before the request", []export.Request{memrun.At(1000, 1010), memrun.At(1000, 990)}, nil, []string{"experiment 0: request 1 (timestamp 1000): response 0 at 990 is 10 ns before the request"}},
		{"no response", []export.Request{memrun.At(1000)}, nil, []string{"experiment 0: request 0 (timestamp 1000): no response"}},
		{"no timestamp", []export.Request{memrun.At(0, 10)}, nil, []string{"experiment 0: request 0 (timestamp 0): no timestamp"}},
		{"the last byte before the first", []export.Request{sent}, nil, []string{"experiment 0: request 0 (timestamp 1000): the last byte left at 999"}},
		{"started before the windows, ended inside", []export.Request{memrun.At(1000, 1010)}, windows(1005, 1020, 1030), nil},
		{"the empty final response after the windows", []export.Request{memrun.At(1000, 1010, 1025)}, windows(1000, 1020), nil},
		{"ended after the windows", []export.Request{memrun.At(1000, 1010)}, windows(900, 1005), []string{"experiment 0: request 0 (timestamp 1000): ended at 1010, outside the windows (900 to 1005)"}},
		{"ended before the windows", []export.Request{memrun.At(1000, 1010)}, windows(1011, 1020), []string{"experiment 0: request 0 (timestamp 1000): ended at 1010"}},
		{"periodic concurrency", []export.Request{memrun.At(1000, 1010)}, windows(0, math.MaxUint64), nil},
		{"windows go back", nil, windows(10, 20, 20), []string{"experiment 0: window boundary 2 (20) is not after the previous one (20)"}},
		{"one boundary", nil, windows(10), []string{"experiment 0: only one window boundary"}},
		{"a value that is no number", nil, func(r *memrun.Reader) { r.Header.Experiments[0].Value = "x" }, []string{`experiment 0: value "x"`}},
		{"a load that another tool's file does not say", nil, func(r *memrun.Reader) {
			r.Header.Experiments[0].Mode, r.Header.Experiments[0].Value = "", ""
			r.Header.Meta = &export.RunMeta{Import: &export.Import{Format: "f"}}
		}, nil},
		{"a load that a file of our own does not say", nil, func(r *memrun.Reader) {
			r.Header.Experiments[0].Mode, r.Header.Experiments[0].Value = "", ""
			r.Header.Meta = &export.RunMeta{}
		}, []string{`experiment 0: value "" of mode ""`}},
		{"counts", []export.Request{memrun.At(1000, 1010), failed}, func(r *memrun.Reader) {
			r.Header.Experiments[0].Meta = &export.ExperimentMeta{RequestCounts: export.RequestCounts{Measured: 2, Failed: 1, Late: 3}}
		}, []string{"experiment 0: the file's metadata counts 2 measured requests, but the file holds 1", "experiment 0: the file's metadata counts 3 late requests, but the file holds 0"}},
		{"outputs that were dropped", []export.Request{dropped, memrun.At(1000, 1010)}, func(r *memrun.Reader) {
			r.Header.Experiments[0].Meta = &export.ExperimentMeta{RequestCounts: export.RequestCounts{Measured: 2, OutputsDropped: 1}}
		}, nil},
		{"outputs that were dropped and are there", []export.Request{kept}, func(r *memrun.Reader) {
			r.Header.Experiments[0].Meta = &export.ExperimentMeta{RequestCounts: export.RequestCounts{Measured: 1, OutputsDropped: 2}}
		}, []string{
			"experiment 0: request 0 (timestamp 1000): response 0 has outputs, though they were dropped",
			"experiment 0: the file's metadata counts 2 requests with dropped outputs, but the file holds 1",
		}},
		{"sent again", []export.Request{again, again, memrun.At(1000, 1010)}, func(r *memrun.Reader) {
			r.Header.Experiments[0].Meta = &export.ExperimentMeta{RequestCounts: export.RequestCounts{Measured: 3, Resent: 2}}
		}, nil},
		{"sent again, and not counted", []export.Request{again}, func(r *memrun.Reader) {
			r.Header.Experiments[0].Meta = &export.ExperimentMeta{RequestCounts: export.RequestCounts{Measured: 1}}
		}, []string{"experiment 0: the file's metadata counts 0 requests that were sent again, but the file holds 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := memrun.New("", tt.r)
			if tt.change != nil {
				tt.change(r)
			}
			var got []string
			v, err := Validate(context.Background(), r, ValidateConfig{}, func(v Violation) { got = append(got, v.String()) })
			if err != nil || v.Violations != len(got) || v.Requests != len(tt.r) || v.Experiments != 1 {
				t.Errorf("%+v, %v for %d violations", v, err, len(got))
			}
			if len(got) != len(tt.want) {
				t.Fatalf("violations %q, want %q", got, tt.want)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], tt.want[i]) {
					t.Errorf("violation %q, want %q", got[i], tt.want[i])
				}
			}
		})
	}
}

func TestValidateNotUTF8(t *testing.T) {
	r := memrun.Tensors(memrun.Text("a\xff"), memrun.Text("ä"))
	r.Inputs = export.Fields{{Name: "x", Value: export.Text("\xc3")}}
	v, err := Validate(context.Background(), memrun.New("", []export.Request{r}), ValidateConfig{}, func(Violation) {})
	if err != nil || v.NotUTF8 != 2 || v.Violations != 0 {
		t.Errorf("%+v, %v, want 2 texts and no violation", v, err)
	}
}

// The counts of a file that breaks off are not held against it.
func TestValidateCut(t *testing.T) {
	r := memrun.New("", []export.Request{memrun.At(1000, 1010)})
	r.Header.Experiments[0].Meta = &export.ExperimentMeta{RequestCounts: export.RequestCounts{Measured: 7}}
	r.Failure = errors.New("cut")
	v, err := Validate(context.Background(), r, ValidateConfig{}, func(v Violation) { t.Errorf("violation %v", v) })
	if !errors.Is(err, r.Failure) || v.Requests != 1 {
		t.Errorf("%+v, %v, want one request and the reader's error", v, err)
	}
}

// No golden export is in violation: perf_analyzer wrote them all.
func TestGoldenValid(t *testing.T) {
	files, _ := golden.ProfileExports(t)
	for name, b := range files {
		_, err := Validate(context.Background(), runtest.Open(t, b), ValidateConfig{}, func(v Violation) {
			t.Errorf("%s: %v", name, v)
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
