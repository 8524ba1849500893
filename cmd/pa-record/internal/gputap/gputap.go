package main

import (
	"github.com/pa-tools/pa/cmd/pa-record/internal/settings"
	"github.com/pa-tools/pa/pkg/analyze/dialect/perfanalyzer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/pawindow"
	"github.com/pa-tools/pa/pkg/recorder"
)

// A gpuTap is telemetry from which the console, too, takes what a Triton server
// tells of its GPUs. It is for the goroutine of the recorder.
type gpuTap struct {
	recorder.Telemetry
	taken []*export.Scrape // from Telemetry, and not handed on yet
	seen  []*export.Scrape // of GPUs, at the present level
	// done are what levels came to, by the beginning of what is reported of them.
	done map[uint64]*perfanalyzer.GPUs
}

// maxGPUScrapes bounds those that are kept of a level, the latest: nine hours of them
// at least, a second apart.
const maxGPUScrapes = 1 << 16

// watching returns the telemetry for the recorder, from which the console takes
// what it shows: nothing of servers whose metrics perf_analyzer does not read.
func (c *console) watching(t recorder.Telemetry) recorder.Telemetry {
	if c.settings.ServiceKind != settings.Triton {
		return t
	}
	c.gpus = &gpuTap{Telemetry: t, done: map[uint64]*perfanalyzer.GPUs{}}
	return c.gpus
}

// Take implements [recorder.Telemetry].
func (t *gpuTap) Take() []*export.Scrape {
	t.take()
	all := t.taken
	t.taken = nil
	return all
}

func (t *gpuTap) take() {
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

// of returns what the server told of its GPUs in what is reported of a level. When it
// is asked for the first time, the level has just ended.
func (t *gpuTap) of(l *recorder.Level) *perfanalyzer.GPUs {
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
