package serverfigures

import (
	"fmt"

	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A Kind is the kind of quantity that a [Figure] holds.
type Kind int

// The kinds.
const (
	// Time is the mean of a time: N and Mean.
	Time Kind = iota + 1
	// Gauge is a value that comes and goes: N, Mean, Min and Max of the
	// scrapes.
	Gauge
	// Counter is something that adds up: N scrapes, Total.
	Counter
)

// String returns "time", "gauge" or "counter".
func (k Kind) String() string {
	if k < Time || k > Counter {
		return "unknown"
	}
	return [...]string{"time", "gauge", "counter"}[k-Time]
}

// A Figure is a figure of a server or a GPU over the measurement of a level: its
// windows, or the selected part.
type Figure struct {
	// Name is ours ("queue", "GPU utilization"), Metric the source's.
	Name, Metric string
	Kind         Kind
	// Of names the subject of the figure for people: a model and its source, or a GPU
	// and its host.
	Of string
	// Source is the source of the scrapes, "" for ModelStatistics. Host is the host
	// that the source names, else the host of its URL. GPU is a UUID, "" for figures
	// of servers.
	Source, Host, GPU string
	// Unit is "ns", "ratio", "W", "J", "bytes" or "count".
	Unit string
	// N is the number of scrapes that held a gauge or counter, or of requests in a
	// mean time.
	N uint64
	// Mean is the mean of a gauge over its scrapes in the measurement, or Δsum/Δcount
	// of the server's own counters for a time.
	Mean float64
	// Min and Max exist only for gauges.
	Min, Max float64
	// Total is the growth of a counter from the last scrape before the measurement to
	// the first one after it, or of energy in the measurement itself.
	Total float64
	// Client is the recorder's mean of the same quantity, if Compared is set. Its
	// difference from Mean is the time of the network and of the client.
	Client   float64
	Compared bool
	// Incomparable is the reason why the difference between Client and the server's
	// figure means nothing; "" if it means something.
	Incomparable string
	// NA says why the figure has no value although there are samples: the samples
	// cannot be true. N, Mean and the like mean nothing then. "" if there is a value.
	NA string
	// Impossible says that NA is about numbers that no server can have: below 0, or infinite. Other samples
	// have no value because the server was started again.
	Impossible bool

	model string // from a label; "" if there is none
}

// ClientMinusServer returns the difference between the client's mean and the server's;
// ok is false if the two cannot be compared.
func (f *Figure) ClientMinusServer() (ns float64, ok bool) {
	return f.Client - f.Mean, f.Compared && f.Incomparable == ""
}

// compare sets the client's mean of the same quantity. Nothing is compared if m is nil
// or the client has no such mean.
func (f *Figure) compare(e *Level, model string, m *answer.Metric) {
	if m == nil || e.ClientMean == nil {
		return
	}
	f.Client, f.Compared = e.ClientMean(model, *m)
}

// mostOf is above all figures of servers: 10^15 bytes, joules or requests.
const mostOf = 1e15

// dropImpossible gives f a reason in place of a value that cannot be true: one below 0 or beyond mostOf, or a
// time beyond a year.
func (f *Figure) dropImpossible() {
	if f.NA != "" {
		return
	}
	values := [...]float64{f.Mean, f.Min, f.Max, f.Total}
	for _, v := range values {
		most := mostOf
		if f.Kind == Time {
			most = float64(export.LongestNS)
		}
		if !(v >= 0 && v <= most) {
			f.NA, f.Impossible = fmt.Sprintf("%s comes to %v", f.Metric, v), true
			f.N, f.Mean, f.Min, f.Max, f.Total, f.Compared = 0, 0, 0, 0, 0, false
			return
		}
	}
}
