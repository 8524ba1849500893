package gputap

import (
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/pawindow"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/tool/perfanalyzer"
)

// A Tap passes telemetry on to the recorder and keeps the GPU metrics of Triton servers
// for the console. Only one goroutine may use it at a time.
type Tap struct {
	recorder.Telemetry
	taken []*export.Scrape // taken from Telemetry and not passed on yet
	seen  []*export.Scrape // GPU metrics of the present level
	// done holds the GPU figures of past levels, by the start of the reported time.
	done map[uint64]*perfanalyzer.GPUs
}

// maxGPUScrapes bounds the scrapes that are kept for a level. At least half as many, the
// latest, are kept: nine hours of one endpoint at a scrape a second.
const maxGPUScrapes = 1 << 16

// New returns a tap of the telemetry t. The recorder gets the tap in place of t.
func New(t recorder.Telemetry) *Tap {
	return &Tap{Telemetry: t, done: map[uint64]*perfanalyzer.GPUs{}}
}

// Take implements [recorder.Telemetry].
func (t *Tap) Take() []*export.Scrape {
	t.take()
	all := t.taken
	t.taken = nil
	return all
}

func (t *Tap) take() {
	for _, s := range t.Telemetry.Take() {
		t.taken = append(t.taken, s)
		if only := perfanalyzer.OnlyGPUs(s); only != nil {
			if len(t.seen) == maxGPUScrapes {
				t.seen = append([]*export.Scrape(nil), t.seen[maxGPUScrapes/2:]...)
			}
			t.seen = append(t.seen, only)
		}
	}
}

// Of returns the GPU figures of the reported time of a level. The first call for a level
// must follow its end directly.
func (t *Tap) Of(l *recorder.Level) *perfanalyzer.GPUs {
	begin := l.Reported.StartNS
	if t.done[begin] == nil {
		t.take()
		watch := perfanalyzer.NewGPUWatch(pawindow.Window{StartNS: begin, EndNS: l.Reported.EndNS})
		for _, s := range t.seen {
			watch.Add(s)
		}
		t.seen = nil
		t.done[begin] = watch.GPUs()
	}
	return t.done[begin]
}
