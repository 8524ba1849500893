package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A forecast says before the load what the runs of a command line take together, of the share of
// this process. Its figures are in seconds, requests, tokens and bytes.
type forecast struct {
	recorder.Forecast
	InputTokens, OutputTokens recorder.Figure
	Export                    recorder.Figure // all files that the runs leave, of all formats
	Journal                   recorder.Figure // of one run, which the end of the run removes

	run  recorder.Forecast // of one run
	rank bool              // it is of one rank among several
}

// MarshalJSON implements json.Marshaler.
func (f *forecast) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Time         recorder.Figure `json:"time_s"`
		Requests     recorder.Figure `json:"requests"`
		InputTokens  recorder.Figure `json:"input_tokens"`
		OutputTokens recorder.Figure `json:"output_tokens"`
		Export       recorder.Figure `json:"export_bytes"`
		Journal      recorder.Figure `json:"journal_bytes"`
	}{f.Time, f.Requests, f.InputTokens, f.OutputTokens, f.Export, f.Journal})
}

// forecast returns the forecast of the runs with this data.
func (s *settings) forecast(data *dataFacts) *forecast {
	f := &forecast{run: s.runForecast(data), rank: s.world.Several()}
	recorded := len(s.plannedRuns())
	runs := recorded
	for i := range recorded {
		runs += len(s.warmupsBefore(i))
	}
	times := func(n int, one recorder.Figure) recorder.Figure {
		return one.Times(recorder.Figure{Value: float64(n), Bound: recorder.Exact})
	}
	f.Time, f.Requests = times(runs, f.run.Time), times(runs, f.run.Requests)
	f.InputTokens, f.OutputTokens = f.Requests.Times(data.input), f.Requests.Times(data.output)
	output := f.run.Requests.Times(data.output)
	f.Journal = s.fileBytes(journalSize, f.run.Requests, output, data)
	f.Export = recorder.Figure{Bound: recorder.Exact}
	for _, path := range s.exportPaths() {
		f.Export = f.Export.Add(times(recorded, s.fileBytes(sizesFor(path), f.run.Requests, output, data)))
	}
	return f
}

// runForecast returns the forecast of one run.
func (s *settings) runForecast(data *dataFacts) recorder.Forecast {
	if data.entries == 0 && (s.Measure.All || s.FixedSchedule || s.Sessions > 0) {
		return recorder.Forecast{Time: recorder.Figure{Basis: data.why}, Requests: recorder.Figure{Basis: data.why}}
	}
	cfg := recorder.Config{Entries: entryCount(data.entries), Measure: s.Measure.Measure, Warmup: s.Warmup, WarmupTime: time.Duration(s.WarmupDuration)}
	if s.world.Several() {
		cfg.Ranks = &recorder.Ranks{World: s.world}
	}
	levels := s.levels
	bound := recorder.Exact
	switch {
	case s.endless():
		const why = "nothing but the latency ends the search"
		return recorder.Forecast{Time: recorder.Figure{Basis: why}, Requests: recorder.Figure{Basis: why}}
	case s.AutoSweep && s.Measure.Times > 0:
		const why = "the server's throughput decides about the rates"
		return recorder.Forecast{Time: recorder.Figure{Basis: why}, Requests: recorder.Figure{Basis: why}}
	case s.AutoSweep:
		ramp := time.Duration(s.RampUp)
		levels = slices.Repeat([]load.Level{load.Concurrency{N: s.sweepConcurrency(), RampUp: ramp}}, recorder.AutoSweepLevels)
		bound = recorder.AtMost
	case s.levelPlan != nil, s.Measure.stopOnUnstable && len(levels) > 1:
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
	for range s.halvings {
		all = all.Add(most)
	}
	if bound == recorder.AtMost {
		all = all.Within(bound)
	}
	if s.Sessions > 0 {
		if !all.Time.Known() && data.thinking > 0 {
			share := data.thinking / time.Duration(s.Sessions)
			all.Time = recorder.Figure{Value: share.Seconds(), Bound: recorder.AtLeast, Basis: "the think times; " + all.Time.Basis}
		}
		if data.about {
			all.Requests = all.Requests.Within(recorder.About)
		}
	}
	return all
}

// An entryCount is a workload.Source of that many entries, of which nothing else is known.
type entryCount int

// Len implements workload.Source.
func (n entryCount) Len() int { return int(n) }

// At implements workload.Source.
func (n entryCount) At(int) (workload.Entry, error) {
	return workload.Entry{}, fmt.Errorf("only the number of entries, %d, is known", int(n))
}

// String returns the forecast on one line: what is known, then what is not, and why.
func (f *forecast) String() string {
	type figure struct {
		name string
		recorder.Figure
		text string
	}
	figures := []figure{
		{"time", f.Time, briefTime(time.Duration(min(f.Time.Value, maxSeconds) * float64(time.Second)))},
		{"requests", f.Requests, amount(f.Requests, "request")},
		{"input tokens", f.InputTokens, amount(f.InputTokens, "input token")},
		{"output tokens", f.OutputTokens, amount(f.OutputTokens, "output token")},
		{"export", f.Export, byteText(f.Export.Value) + " of export"},
	}
	var known, whys []string
	missing := map[string][]string{}
	for _, one := range figures {
		switch {
		case !one.Known():
			if missing[one.Basis] == nil {
				whys = append(whys, one.Basis)
			}
			missing[one.Basis] = append(missing[one.Basis], one.name)
		case one.Bound == recorder.Exact:
			known = append(known, one.text)
		default:
			known = append(known, one.Bound.String()+" "+one.text)
		}
	}
	text := strings.Join(known, ", ")
	for i, why := range whys {
		switch {
		case i > 0 || text != "":
			text += "; no "
		default:
			text += "no "
		}
		text += orList(missing[why]) + ": " + why
	}
	if f.rank {
		text += " (of this rank)"
	}
	return text
}

// maxSeconds is the longest time that a time.Duration holds.
const maxSeconds = float64(math.MaxInt64 / int64(time.Second))

// orList returns "a", "a or b", "a, b or c".
func orList(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// amount returns a number of things for people: all digits where it is exact or below 10,000, else
// three of them.
func amount(f recorder.Figure, one string) string {
	v := math.Round(f.Value)
	switch {
	case f.Bound == recorder.Exact && v < 1<<53 || v < 9999.5:
		return plural.GroupedOf(int64(v), one)
	case v < 999_500:
		return plural.GroupedOf(int64(math.Round(v/1000)*1000), one)
	}
	return threeDigits(v/1e6) + " M " + one + "s"
}

// byteText returns a number of bytes for people: "900 MB".
func byteText(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}} {
		if v >= 0.9995*unit.size {
			return threeDigits(v/unit.size) + " " + unit.name
		}
	}
	return threeDigits(v/1e3) + " kB"
}

// print writes the forecast to w.
func (f *forecast) print(w io.Writer) { fmt.Fprintf(w, "pa-record: forecast: %v\n", f) }

// unsentRows returns a warning if the duration ends before everything was sent that was asked for:
// the rows of a schedule, or with open loops the entries of --num-dataset-entries. It returns ""
// otherwise.
func (s *settings) unsentRows(data *dataFacts, f *forecast) string {
	d := s.Measure.Duration
	if d == 0 {
		return ""
	}
	for _, level := range s.levels {
		schedule, ok := level.(load.Timetable)
		if !ok {
			continue
		}
		n := len(schedule.Offsets)
		warm := max(time.Duration(s.WarmupDuration), schedule.Due(s.Warmup))
		unsent := n - schedule.DueWithin(warm+d)
		if unsent <= 0 {
			return ""
		}
		return fmt.Sprintf("--duration %v ends before the schedule, which takes %s: %s of %s are left unsent; give a longer --duration, drop it, or raise --speed-up",
			d, briefTime(schedule.Due(n)), plural.Grouped(unsent), plural.GroupedOf(n, "row"))
	}
	if !s.entriesAsked || s.restart || !f.Requests.Known() || f.Requests.Bound == recorder.AtMost || data.entries == 0 {
		return ""
	}
	if unsent := data.entries - int(f.Requests.Value)*max(s.BatchSize, 1); unsent > 0 && !s.world.Several() {
		return fmt.Sprintf("--duration %v at the rates asked for sends about %s of the %s of --num-dataset-entries: %s are left unsent; give a longer --duration, a higher rate, or --request-count all",
			d, plural.Grouped(data.entries-unsent), plural.GroupedOf(data.entries, "row"), plural.Grouped(unsent))
	}
	return ""
}

// laterRuns returns the time of the runs after the present one: by the forecast, or else by the
// mean of the runs that have ended.
func (r *repeatedRun) laterRuns() recorder.Figure {
	if r.runsLeft <= 0 {
		return recorder.Figure{Bound: recorder.Exact}
	}
	f := r.forecast.run.Time
	if !f.Known() && len(r.took) > 0 {
		mean := time.Duration(0)
		for _, took := range r.took {
			mean += took / time.Duration(len(r.took))
		}
		f = recorder.Figure{Value: mean.Seconds(), Bound: recorder.About, Basis: "the runs before"}
	}
	return f.Times(recorder.Figure{Value: float64(r.runsLeft), Bound: recorder.Exact})
}
