package figure

import (
	"errors"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// Realtime says how soon the text of speech came, for requests to v1/realtime.
type Realtime struct {
	// Requests is the number of requests whose times of sending are known.
	Requests int
	// Figures holds the figures that realtimeFigures lists.
	Figures []Figure
}

// realtimeFigures are the figures of [Realtime] without values, in the order of a report.
var realtimeFigures = [...]Figure{
	{Key: "delta_latency_p50_ns", Label: "delta latency p50", Unit: "ns", Formula: "median over token events: arrival − time at which the last chunk of audio before it was sent"},
	{Key: "delta_latency_p90_ns", Label: "delta latency p90", Unit: "ns", Formula: "90th percentile of the same"},
	{Key: "delta_latency_p99_ns", Label: "delta latency p99", Unit: "ns", Formula: "99th percentile of the same"},
	{Key: "final_latency_p50_ns", Label: "end of speech to last message p50", Unit: "ns", Formula: "median over requests: last message − time at which the last chunk of audio was sent"},
	{Key: "final_latency_p90_ns", Label: "end of speech to last message p90", Unit: "ns", Formula: "90th percentile of the same"},
	{Key: "final_latency_p99_ns", Label: "end of speech to last message p99", Unit: "ns", Formula: "99th percentile of the same"},
	{Key: "send_lateness_p50_ns", Label: "lateness of audio p50", Unit: "ns", Formula: "median over chunks after the first: time sent − time sent of the first chunk − its number · interval; at least 0"},
	{Key: "send_lateness_p99_ns", Label: "lateness of audio p99", Unit: "ns", Formula: "99th percentile of the same"},
	{Key: "send_lateness_max_ns", Label: "lateness of audio max", Unit: "ns", Formula: "greatest of the same"},
}

// A realtimeCollector gathers the times of requests to v1/realtime.
type realtimeCollector struct {
	requests            int
	deltas, final, late summary.Sample[int64]
	figures             []Figure
}

// NewRealtime returns the group of [Realtime]. Its values share memory.
func NewRealtime(memory *stat.Store) Group {
	c := &realtimeCollector{}
	c.deltas.Memory, c.final.Memory, c.late.Memory = memory, memory, memory
	return c
}

// Add implements [Group].
func (c *realtimeCollector) Add(q *answer.Measured) {
	x := q.Realtime
	if x == nil {
		return
	}
	c.requests++
	c.deltas.Add(x.Deltas...)
	c.late.Add(x.Late...)
	if x.Final.OK {
		c.final.AddOne(x.Final.V)
	}
}

// End implements [Group].
func (c *realtimeCollector) End() error {
	deltas, final, late := c.deltas.Summary(), c.final.Summary(), c.late.Summary()
	c.figures = append([]Figure{}, realtimeFigures[:]...)
	for i, x := range [...]struct {
		of   *summary.Summary
		why  string
		pick func(s *summary.Summary) float64
	}{
		{deltas, "no text came", p50},
		{deltas, "no text came", p90},
		{deltas, "no text came", p99},
		{final, "no request sent all of its audio", p50},
		{final, "no request sent all of its audio", p90},
		{final, "no request sent all of its audio", p99},
		{late, "no request has a second chunk of audio", p50},
		{late, "no request has a second chunk of audio", p99},
		{late, "no request has a second chunk of audio", func(s *summary.Summary) float64 { return s.Max }},
	} {
		switch f := &c.figures[i]; {
		case c.requests == 0:
			f.Why = "no request holds the times at which audio was sent; --endpoint v1/realtime of pa-record records them"
		case x.of == nil:
			f.Why = x.why
		default:
			f.Value = x.pick(x.of)
		}
	}
	return errors.Join(c.deltas.Err, c.final.Err, c.late.Err)
}

func p50(s *summary.Summary) float64 { return s.P(50) }
func p90(s *summary.Summary) float64 { return s.P(90) }
func p99(s *summary.Summary) float64 { return s.P(99) }

// Set implements [Group].
func (c *realtimeCollector) Set(x *Level, _ *export.Run) {
	x.Realtime = &Realtime{Requests: c.requests, Figures: c.figures}
}
