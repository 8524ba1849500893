package backend

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A fakeModel is a model that notes what it is asked.
type fakeModel struct {
	model   string
	err     error // of Check, Open and Close
	keeps   bool  // state
	sent    int
	decoded []Payload
	open    int
	closed  bool
}

type fakeModelPayload struct {
	of    *fakeModel
	batch int
}

func (p *fakeModelPayload) Inputs() export.Fields { return nil }
func (p *fakeModelPayload) Streamed() bool        { return p.batch > 1 }

func (f *fakeModel) Check(context.Context) error { return f.err }
func (f *fakeModel) Model() string               { return f.model }
func (f *fakeModel) Stateful() bool              { return f.keeps }
func (f *fakeModel) Close() error                { f.closed = true; return f.err }

func (f *fakeModel) Prepare(*workload.Entry) (Payload, error) {
	return &fakeModelPayload{f, 1}, nil
}

func (f *fakeModel) PrepareBatch(es []*workload.Entry) (Payload, error) {
	return &fakeModelPayload{f, len(es)}, nil
}

func (f *fakeModel) Open(context.Context, int, *rxclock.Clock) (Sender, error) {
	if f.err != nil {
		return nil, f.err
	}
	f.open++
	return &fakeModelSender{f}, nil
}

func (f *fakeModel) Decode(x *Exchange) error {
	f.decoded = append(f.decoded, x.Sent)
	return nil
}

type fakeModelSender struct{ f *fakeModel }

func (s *fakeModelSender) Send(_ context.Context, p Payload, x *Exchange) {
	if p.(*fakeModelPayload).of != s.f {
		panic("a payload of another model")
	}
	s.f.sent++
	x.Request.Conn, x.Sent = 7, p
}

func (s *fakeModelSender) Close() error { s.f.open--; return nil }

func overModels(t *testing.T, fakes ...*fakeModel) *Models {
	t.Helper()
	var targets []Target
	for _, f := range fakes {
		targets = append(targets, Target{f.model, f})
	}
	b, err := ByModel(targets)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A request goes to the model of its entry, the first one where there is none, and
// is decoded there, with what that model's backend has left for itself.
func TestByModel(t *testing.T) {
	f, g := &fakeModel{model: "f"}, &fakeModel{model: "g"}
	b := overModels(t, f, g)
	if err := b.Check(t.Context()); err != nil || b.Model() != "f" {
		t.Fatalf("Check: %v, model %q", err, b.Model())
	}
	s, err := b.Open(t.Context(), 0, rxclock.New())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		entry, want string
		conn        int
	}{{"g", "g", 15}, {"", "f", 14}, {"f", "f", 14}} {
		p, err := b.Prepare(&workload.Entry{Model: tt.entry})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.(*modelPayload).Model(); got != tt.want {
			t.Errorf("entry of model %q: %q, want %q", tt.entry, got, tt.want)
		}
		x := &Exchange{}
		s.Send(t.Context(), p, x)
		if err := b.Decode(x); err != nil {
			t.Error(err)
		}
		if x.Request.Conn != tt.conn {
			t.Errorf("model %s: connection %d, want %d", tt.want, x.Request.Conn, tt.conn)
		}
	}
	if f.sent != 2 || g.sent != 1 || len(f.decoded) != 2 || len(g.decoded) != 1 {
		t.Errorf("sent %d and %d, decoded %d and %d", f.sent, g.sent, len(f.decoded), len(g.decoded))
	}
	if p, ok := g.decoded[0].(*fakeModelPayload); !ok || p.of != g {
		t.Errorf("Decode of g saw %v, want its own payload", g.decoded[0])
	}
	if err := errors.Join(s.Close(), b.Close()); err != nil || f.open+g.open != 0 || !f.closed || !g.closed {
		t.Errorf("close: %v, %d senders open", err, f.open+g.open)
	}
}

func TestModelBatches(t *testing.T) {
	b := overModels(t, &fakeModel{model: "f"}, &fakeModel{model: "g"})
	entries := func(models ...string) []*workload.Entry {
		var all []*workload.Entry
		for i, m := range models {
			all = append(all, &workload.Entry{Step: i, Model: m})
		}
		return all
	}
	p, err := b.PrepareBatch(entries("g", "g", "g"))
	if err != nil {
		t.Fatal(err)
	}
	if q := p.(*modelPayload); q.Model() != "g" || q.Payload.(*fakeModelPayload).batch != 3 || !q.Streamed() {
		t.Errorf("batch of 3 for g: %+v", q)
	}
	for _, tt := range []struct {
		models []string
		want   string
	}{
		{[]string{"g", "f"}, "input data, stream 0, step 1 is for model f, but is in a batch for model g; use -b 1"},
		{[]string{"g", "x"}, `model "x" is not one of f, g`},
		{[]string{"x", "g"}, `input data, stream 0, step 0: model "x" is not one of f, g; add it with -m`},
	} {
		if _, err := b.PrepareBatch(entries(tt.models...)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %q", tt.models, err, tt.want)
		}
	}
}

func TestModelErrors(t *testing.T) {
	if _, err := ByModel(nil); err == nil {
		t.Error("no model is no error")
	}
	if _, err := ByModel([]Target{{"f", &fakeModel{}}, {"f", &fakeModel{}}}); err == nil {
		t.Error("a model twice is no error")
	}
	gone, gone2 := errors.New("f: gone"), errors.New("g: gone")
	b := overModels(t, &fakeModel{model: "f", err: gone}, &fakeModel{model: "g", err: gone2})
	if err := b.Check(t.Context()); !errors.Is(err, gone) || !errors.Is(err, gone2) {
		t.Errorf("Check: %v", err)
	}
	first := &fakeModel{model: "f"}
	if _, err := overModels(t, first, &fakeModel{model: "g", err: gone2}).Open(t.Context(), 0, rxclock.New()); !errors.Is(err, gone2) || first.open != 0 {
		t.Errorf("Open: %v, %d senders left", err, first.open)
	}
	if err := overModels(t, &fakeModel{model: "f"}, &fakeModel{model: "g", keeps: true}).Check(t.Context()); err == nil || !strings.Contains(err.Error(), "model g keeps state") {
		t.Errorf("a model that keeps state: %v", err)
	}
	if err := b.Decode(&Exchange{Sent: &fakeModelPayload{}}); err == nil {
		t.Error("an exchange of another backend is decoded")
	}
	names := []string{}
	for _, target := range b.Targets() {
		names = append(names, target.Name)
	}
	if !slices.Equal(names, []string{"f", "g"}) {
		t.Errorf("targets %v", names)
	}
}
