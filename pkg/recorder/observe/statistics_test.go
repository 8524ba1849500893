package observe

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

type ticks struct{ n atomic.Uint64 }

func (c *ticks) NowNS() uint64 { return c.n.Add(1) }

// fake is a server with an ensemble of two models; one it cannot
// describe. With hang it does not answer.
type fake struct {
	asked uint64
	hang  bool
}

func (f *fake) Protocol() string { return "grpc" }
func (f *fake) Close() error     { return nil }

func (f *fake) Model(_ context.Context, name, version string) (export.ServerModel, []ModelRef, error) {
	m := export.ServerModel{Name: name, Version: version}
	switch name {
	case "pipe":
		m.Platform = "ensemble"
		return m, []ModelRef{{Name: "a"}, {Name: "b"}, {Name: "a"}, {Name: "pipe"}}, nil
	case "b":
		return m, nil, errors.New("no such model")
	}
	return m, nil, nil
}

func (f *fake) Stats(ctx context.Context, name, _ string) ([]export.ModelStats, error) {
	if f.hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	f.asked++
	return []export.ModelStats{{Name: name, Version: "1", InferenceCount: f.asked}}, nil
}

func TestStatistics(t *testing.T) {
	r := NewStatistics(StatisticsConfig{Client: &fake{}, Model: ModelRef{Name: "pipe"}, BLS: []ModelRef{{Name: "called"}}, Clock: &ticks{}})
	r.Edge(export.EdgeLevel, 0)
	r.Edge(export.EdgeMeasure, 0)
	r.Edge(export.EdgeWindow, 0)
	s := r.Level()
	if len(s.Models) != 4 || s.Models[0].Name != "pipe" || s.Models[1].Name != "a" || s.Models[2].Name != "b" || !s.Models[3].BLS {
		t.Fatalf("models %+v", s.Models)
	}
	// A model that is its own step comes once; so does one that is two steps.
	if c := s.Models[0].Composing; len(c) != 4 || c[0] != 1 || c[1] != 2 || c[2] != 0 || c[3] != 3 {
		t.Errorf("composing %v", c)
	}
	if len(s.Snapshots) != 3 || len(s.Snapshots[1].Stats) != 4 || s.Snapshots[1].Stats[0].InferenceCount != 5 || s.Snapshots[2].Edge != export.EdgeWindow || s.Snapshots[2].StartNS <= s.Snapshots[1].EndNS {
		t.Errorf("snapshots %+v", s.Snapshots)
	}
	if len(s.Errors) != 1 || !strings.Contains(s.Errors[0], "model b: no such model") {
		t.Errorf("errors %q", s.Errors)
	}
	// The next level begins anew.
	r.Edge(export.EdgeLevel, 0)
	if s := r.Level(); len(s.Snapshots) != 1 || len(s.Models) != 4 || s.Errors != nil {
		t.Errorf("%+v", s)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// A server that does not answer is not asked again at that level.
func TestStatisticsHang(t *testing.T) {
	r := NewStatistics(StatisticsConfig{Client: &fake{hang: true}, Model: ModelRef{Name: "a"}, Timeout: 20 * time.Millisecond, Clock: &ticks{}})
	r.Edge(export.EdgeLevel, 0)
	for i := range 200 {
		r.Edge(export.EdgeWindow, i)
	}
	s := r.Level()
	if len(s.Snapshots) != 0 || len(s.Errors) == 0 || !strings.Contains(strings.Join(s.Errors, "; "), "no answer within 20ms") {
		t.Errorf("%+v", s)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// Several models that requests go to come in their order, with what each is made of;
// one that is part of another one comes once.
func TestStatisticsOfSeveralModels(t *testing.T) {
	r := NewStatistics(StatisticsConfig{Client: &fake{}, Model: ModelRef{Name: "pipe"}, More: []ModelRef{{Name: "b"}, {Name: "c"}}, Clock: &ticks{}})
	r.Edge(export.EdgeLevel, 0)
	s := r.Level()
	var got []string
	for _, m := range s.Models {
		if m.Asked {
			m.Name += " asked"
		}
		got = append(got, m.Name)
	}
	if text := strings.Join(got, ", "); text != "pipe, a, b asked, c asked" {
		t.Errorf("models %s", text)
	}
	if n := len(s.Snapshots[0].Stats); n != 4 {
		t.Errorf("statistics of %d models, want 4", n)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
