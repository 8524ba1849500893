package recorder

import (
	"context"
	"fmt"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// An instantTalker answers at once, so that only the driver takes time.
type instantTalker struct{ clock *rxclock.Clock }

// instantPayload is the only payload of an instantTalker.
type instantPayload struct{}

func (instantPayload) Inputs() export.Fields { return nil }

func (*instantTalker) Check(context.Context) error                      { return nil }
func (*instantTalker) Model() string                                    { return "instant" }
func (*instantTalker) Prepare(*workload.Entry) (backend.Payload, error) { return instantPayload{}, nil }
func (*instantTalker) Decode(*backend.Exchange) error                   { return nil }
func (*instantTalker) Close() error                                     { return nil }
func (*instantTalker) Turn(*workload.Entry) (backend.Payload, error)    { return instantPayload{}, nil }
func (*instantTalker) AddReply(*backend.Exchange) (bool, error)         { return false, nil }
func (t *instantTalker) Fork() backend.Conversation                     { return t }
func (t *instantTalker) NewConversation() backend.Conversation          { return t }
func (t *instantTalker) Open(context.Context, int, *rxclock.Clock) (backend.Sender, error) {
	return t, nil
}

func (t *instantTalker) Send(_ context.Context, _ backend.Payload, x *backend.Exchange) {
	x.Request.StartNS, x.Request.Status = t.clock.NowNS(), export.StatusOK
	x.Respond(export.Response{RecvNS: x.Request.StartNS, Source: export.SourceUser}, nil)
}

// BenchmarkConversations has four linear conversations of ten turns at a time. An operation is a turn.
func BenchmarkConversations(b *testing.B) {
	var data workload.List
	for i := range 1000 {
		data = append(data, workload.Entry{Session: fmt.Sprint(i / 10), Turn: i % 10})
	}
	clock := rxclock.New()
	b.ReportAllocs()
	_, err := Run(b.Context(), Config{
		Backend: &instantTalker{clock}, Clock: clock, Entries: repeated{data, b.N}, Levels: []load.Level{load.Sessions{N: 4}},
		Measure: window.Measure{}, Writer: benchWriter{}, Run: export.Run{Meta: &export.RunMeta{}},
	})
	if err != nil {
		b.Fatal(err)
	}
}

// repeated repeats entries up to a number, with new sessions.
type repeated struct {
	workload.List
	n int
}

func (r repeated) Len() int { return r.n }

func (r repeated) At(k int) (workload.Entry, error) {
	e, err := r.List.At(k % len(r.List))
	if round := k / len(r.List); round > 0 {
		e.Session = fmt.Sprint(round, " ", e.Session)
	}
	return e, err
}

// A benchWriter keeps nothing.
type benchWriter struct{}

func (benchWriter) BeginExperiment(string, string) error   { return nil }
func (benchWriter) WriteRequest(*export.Request) error     { return nil }
func (benchWriter) EndExperiment(*export.Experiment) error { return nil }
func (benchWriter) WriteScrape(*export.Scrape) error       { return nil }
func (benchWriter) Close(*export.Run) error                { return nil }
