package forecast

import (
	"fmt"
	"slices"
	"time"

	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A Load is what the runs of a command line send, and where they write it.
type Load struct {
	Config recorder.Config // measure, warm-up and ranks; the entries are in Facts
	// Levels are the levels of a run, or the known bounds of a search.
	Levels    []load.Level
	MayEnd    bool          // the run may end before the last of several levels
	Halvings  int           // how often a binary search halves its range at most
	Endless   bool          // nothing but the latency ends a search
	AutoSweep int           // the highest concurrency of an automatic sweep; 0: none
	RampUp    time.Duration // of its levels
	PlaysData bool          // the data ends each level
	Sessions  int           // conversations at a time; 0: none

	Runs, WarmupRuns int      // recorded, and before them
	Exports          []string // files of a run
	Answers          Answers
}

// A Forecast says before the load what the runs of a command line take together, of the share of
// this process. Its figures are in seconds, requests, tokens and bytes.
type Forecast struct {
	recorder.Forecast
	InputTokens, OutputTokens recorder.Figure
	Export                    recorder.Figure // all files that the runs leave, of all formats
	Journal                   recorder.Figure // of one run, which the end of the run removes

	Run    recorder.Forecast // of one run
	runs   int               // number of runs, with those before the recorded ones
	ofRank bool              // it is of one rank among several
}

// Forecast returns the forecast of the runs with this data.
func (l *Load) Forecast(data *Facts) *Forecast {
	f := &Forecast{Run: l.run(data), runs: l.Runs + l.WarmupRuns, ofRank: l.Config.Ranks != nil}
	times := func(n int, one recorder.Figure) recorder.Figure {
		return one.Times(recorder.Figure{Value: float64(n), Bound: recorder.Exact})
	}
	f.Time, f.Requests = times(f.runs, f.Run.Time), times(f.runs, f.Run.Requests)
	f.InputTokens, f.OutputTokens = f.Requests.Times(data.Input), f.Requests.Times(data.Output)
	output := f.Run.Requests.Times(data.Output)
	f.Journal = l.fileBytes(journalSize, f.Run.Requests, output, data)
	f.Export = recorder.Figure{Bound: recorder.Exact}
	for _, path := range l.Exports {
		f.Export = f.Export.Add(times(l.Runs, l.fileBytes(sizesFor(path), f.Run.Requests, output, data)))
	}
	return f
}

// run returns the forecast of one run.
func (l *Load) run(data *Facts) recorder.Forecast {
	if data.Entries == 0 && (l.Config.Measure.All || l.PlaysData) {
		return recorder.Forecast{Time: recorder.Figure{Basis: data.Why}, Requests: recorder.Figure{Basis: data.Why}}
	}
	cfg := l.Config
	cfg.Entries = entryCount(data.Entries)
	levels := l.Levels
	bound := recorder.Exact
	switch {
	case l.Endless:
		const why = "only the latency ends the search"
		return recorder.Forecast{Time: recorder.Figure{Basis: why}, Requests: recorder.Figure{Basis: why}}
	case l.AutoSweep > 0 && cfg.Measure.Times > 0:
		const why = "the rates depend on the server's throughput"
		return recorder.Forecast{Time: recorder.Figure{Basis: why}, Requests: recorder.Figure{Basis: why}}
	case l.AutoSweep > 0:
		levels = slices.Repeat([]load.Level{load.Concurrency{N: l.AutoSweep, RampUp: l.RampUp}}, recorder.AutoSweepLevels)
		bound = recorder.AtMost
	case l.MayEnd && len(levels) > 1:
		bound = recorder.AtMost
	}
	var all, most recorder.Forecast
	for i, level := range levels {
		one := cfg.Forecast(level)
		if i == 0 {
			all, most = one, one
			continue
		}
		all, most = all.Add(one), most.Max(one)
	}
	for range l.Halvings {
		all = all.Add(most)
	}
	if bound == recorder.AtMost {
		all = all.Within(bound)
	}
	if l.Sessions > 0 {
		if !all.Time.Known() && data.Thinking > 0 {
			atOnce := l.Sessions
			if data.Sessions != nil { // all of them may be in flight
				atOnce = min(atOnce, data.Sessions.Sessions)
			}
			share := data.Thinking / time.Duration(atOnce)
			bound := recorder.AtLeast
			if data.ThinkingAbout {
				bound = recorder.About
			}
			all.Time = recorder.Figure{Value: share.Seconds(), Bound: bound, Basis: "the think times; " + all.Time.Basis}
		}
		if data.About {
			all.Requests = all.Requests.Within(recorder.About)
		}
	}
	return all
}

// An entryCount is a workload.Source of that many entries; nothing else is known of them.
type entryCount int

// Len implements workload.Source.
func (n entryCount) Len() int { return int(n) }

// At implements workload.Source.
func (n entryCount) At(int) (workload.Entry, error) {
	return workload.Entry{}, fmt.Errorf("only the number of entries, %d, is known", int(n))
}

// Later returns the time in seconds of the runs to come. left is their number. The forecast of one run
// gives the time of each; without a forecast, the mean of the runs that have ended does.
func Later(run recorder.Figure, took []time.Duration, left int) recorder.Figure {
	if left <= 0 {
		return recorder.Figure{Bound: recorder.Exact}
	}
	if !run.Known() && len(took) > 0 {
		mean := time.Duration(0)
		for _, one := range took {
			mean += one / time.Duration(len(took))
		}
		run = recorder.Figure{Value: mean.Seconds(), Bound: recorder.About, Basis: "the runs before"}
	}
	return run.Times(recorder.Figure{Value: float64(left), Bound: recorder.Exact})
}
