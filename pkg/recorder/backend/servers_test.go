package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A fake is a target that notes what it is asked.
type fake struct {
	name, model string
	input       string // that it makes of every entry
	err         error  // of Check, Prepare, Open and Close
	sent        []uint64
	decoded     []uint64
	open        int // senders
	shared      int // payloads
	closed      bool
}

type fakePayload struct {
	f     *fake
	bytes string
}

func (p *fakePayload) Inputs() export.Fields {
	return export.Fields{{Name: "IN", Value: export.JSON(p.bytes)}}
}

func (p *fakePayload) ShareWith(other Payload) {
	if o := other.(*fakePayload); o.bytes == p.bytes {
		p.f.shared++
	}
}

func (f *fake) Check(context.Context) error { return f.err }
func (f *fake) Model() string               { return f.model }

func (f *fake) Prepare(*workload.Entry) (Payload, error) {
	return &fakePayload{f, f.input}, f.err
}

func (f *fake) Open(context.Context, int, *rxclock.Clock) (Sender, error) {
	if f.err != nil {
		return nil, f.err
	}
	f.open++
	return &fakeSender{f}, nil
}

func (f *fake) Decode(x *Exchange) error {
	f.decoded = append(f.decoded, x.Request.ID)
	return nil
}

func (f *fake) Close() error { f.closed = true; return f.err }

type fakeSender struct{ f *fake }

func (s *fakeSender) Send(_ context.Context, p Payload, x *Exchange) {
	if p.(*fakePayload).f != s.f {
		panic("a payload of another target")
	}
	s.f.sent = append(s.f.sent, x.Request.ID)
	x.Request.Conn = 7
}

func (s *fakeSender) Close() error { s.f.open--; return nil }

// A batchingFake can batch.
type batchingFake struct{ *fake }

func (f batchingFake) PrepareBatch(es []*workload.Entry) (Payload, error) {
	return &fakePayload{f.fake, f.input + strings.Repeat("b", len(es))}, f.err
}

func over(t *testing.T, fakes ...*fake) Backend {
	t.Helper()
	var targets []Target
	for _, f := range fakes {
		targets = append(targets, Target{f.name, f})
	}
	b, err := RoundRobin(targets, 1)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Requests go to the targets in turn by their ids, whichever slot sends, and
// are decoded by the target that answered.
func TestInTurn(t *testing.T) {
	a, b, c := &fake{model: "m", input: "1"}, &fake{model: "m", input: "1"}, &fake{model: "m", input: "1"}
	rr := over(t, a, b, c)
	if err := rr.Check(t.Context()); err != nil || rr.Model() != "m" {
		t.Fatalf("Check: %v, model %q", err, rr.Model())
	}
	p, err := rr.Prepare(&workload.Entry{})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(p.Inputs()[0].Value.Data); got != "1" {
		t.Errorf("inputs %s", got)
	}
	var senders []Sender
	for slot := range 2 {
		s, err := rr.Open(t.Context(), slot, rxclock.New())
		if err != nil {
			t.Fatal(err)
		}
		senders = append(senders, s)
	}
	var conns []int
	for id := uint64(1); id <= 7; id++ {
		x := &Exchange{Request: export.Request{ID: id}}
		senders[id%2].Send(t.Context(), p, x)
		if err := rr.Decode(x); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, x.Request.Conn)
	}
	for i, want := range [][]uint64{{1, 4, 7}, {2, 5}, {3, 6}} {
		f := []*fake{a, b, c}[i]
		if !slices.Equal(f.sent, want) || !slices.Equal(f.decoded, want) || f.open != 2 {
			t.Errorf("target %d: sent %v, decoded %v, %d senders; want %v", i, f.sent, f.decoded, f.open, want)
		}
	}
	if want := []int{21, 22, 23, 21, 22, 23, 21}; !slices.Equal(conns, want) {
		t.Errorf("connections %v, want %v", conns, want)
	}
	if a.shared != 0 || b.shared != 1 || c.shared != 1 {
		t.Errorf("payloads that share: %d, %d, %d; want 0, 1, 1", a.shared, b.shared, c.shared)
	}
	for _, s := range senders {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := rr.Close(); err != nil || !a.closed || !b.closed || !c.closed || a.open+b.open+c.open != 0 {
		t.Errorf("Close: %v; %+v %+v %+v", err, a, b, c)
	}
}

func TestBatches(t *testing.T) {
	f, g := batchingFake{&fake{input: "1"}}, batchingFake{&fake{input: "1"}}
	b, err := RoundRobin([]Target{{"f", f}, {"g", g}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.(Batcher).PrepareBatch(make([]*workload.Entry, 2))
	if err != nil || string(p.Inputs()[0].Value.Data) != "1bb" {
		t.Errorf("%v, %v", p, err)
	}
	b, err = RoundRobin([]Target{{"f", f}, {"g", &fake{}}}, 1)
	if _, ok := b.(Batcher); ok || err != nil {
		t.Errorf("a target cannot batch, but all together can (%v)", err)
	}
}

// A conversationalFake can hold conversations. It keeps the messages so far.
type conversationalFake struct{ *fake }

func (f conversationalFake) NewConversation() Conversation {
	return &fakeConversation{f: f.fake}
}

type fakeConversation struct {
	f    *fake
	said string
}

func (c *fakeConversation) Turn(*workload.Entry) (Payload, error) {
	c.said += "q"
	return &fakePayload{c.f, c.said}, c.f.err
}

func (c *fakeConversation) AddReply(x *Exchange) (contentless bool, err error) {
	if x.Request.Status != export.StatusOK {
		return false, errors.New("failed")
	}
	c.said += "a"
	return false, nil
}

// The turns of a conversation go to the targets in turn, like all requests. Each target gets the
// whole history, whichever target answered.
func TestConversations(t *testing.T) {
	f, g := conversationalFake{&fake{}}, conversationalFake{&fake{}}
	b, err := RoundRobin([]Target{{"f", f}, {"g", g}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.Open(t.Context(), 0, rxclock.New())
	if err != nil {
		t.Fatal(err)
	}
	c := b.(Conversational).NewConversation()
	for i, want := range []string{"q", "qaq", "qaqaq"} {
		p, err := c.Turn(&workload.Entry{})
		if err != nil || string(p.Inputs()[0].Value.Data) != want {
			t.Fatalf("turn %d: %v, %v, want %s", i, p, err, want)
		}
		x := &Exchange{Request: export.Request{ID: uint64(i + 1), Status: export.StatusOK}}
		s.Send(t.Context(), p, x)
		if _, err := c.AddReply(x); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(f.sent, []uint64{1, 3}) || !slices.Equal(g.sent, []uint64{2}) {
		t.Errorf("sent %v and %v, want them in turn", f.sent, g.sent)
	}
	if _, err := c.AddReply(&Exchange{}); err == nil {
		t.Error("a turn that failed is no error")
	}
	b, err = RoundRobin([]Target{{"f", f}, {"g", &fake{}}}, 1)
	if _, ok := b.(Conversational); ok || err != nil {
		t.Errorf("a target cannot talk, but all together can (%v)", err)
	}
}

func TestErrors(t *testing.T) {
	if _, err := RoundRobin(nil, 1); err == nil {
		t.Error("no target: no error")
	}
	broken := errors.New("broken: connection refused")
	for _, tt := range []struct {
		name string
		a, b *fake
		do   func(b Backend) error
		want string
	}{
		{"both are not there", &fake{err: errors.New("a: gone")}, &fake{err: broken}, func(b Backend) error { return b.Check(context.Background()) }, "a: gone\nbroken: connection refused"},
		{"different models", &fake{name: "a", model: "x"}, &fake{name: "b", model: "y"}, func(b Backend) error { return b.Check(context.Background()) }, `the servers have different models: a has "x", b has "y"; choose one with -m`},
		{"the first refuses the input", &fake{name: "a", err: broken}, &fake{name: "b", err: broken}, prepareOne, "broken: connection refused"},
		{"the second alone does", &fake{name: "a"}, &fake{name: "b", err: broken}, prepareOne, "b: broken: connection refused"},
		{"different inputs", &fake{name: "a", input: "1"}, &fake{name: "b", input: "2"}, prepareOne, "a and b would be sent different inputs; are their models the same?"},
		{"the second does not open", &fake{}, &fake{err: broken}, func(b Backend) error { _, err := b.Open(context.Background(), 0, rxclock.New()); return err }, "broken: connection refused"},
		{"the second does not close", &fake{}, &fake{err: broken}, Backend.Close, "broken: connection refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.do(over(t, tt.a, tt.b)); fmt.Sprint(err) != tt.want {
				t.Errorf("\ngot  %v\nwant %s", err, tt.want)
			}
			if tt.a.open+tt.b.open != 0 {
				t.Error("a sender is left open")
			}
		})
	}
}

func prepareOne(b Backend) error {
	_, err := b.Prepare(&workload.Entry{})
	return err
}

// Of two models in turn each gets to both of two servers.
func TestModelsInTurn(t *testing.T) {
	f := &fake{model: "m"}
	b, err := RoundRobin([]Target{{"f", f}, {"g", f}}, 2)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for id := uint64(1); id <= 8; id++ {
		x := &Exchange{}
		x.Request.ID = id
		got = append(got, b.(*servers).target(x))
	}
	if want := []int{0, 0, 1, 1, 0, 0, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("servers %v, want %v", got, want)
	}
}

func (c *fakeConversation) Fork() Conversation {
	fork := *c
	return &fork
}
