package serverfigures

import "github.com/pa-tools/pa/pkg/answer"

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
