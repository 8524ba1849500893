package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/forecast"
	"github.com/pa-tools/pa/pkg/recorder/journal"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/dataset"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
)

// forecastLoad returns what the runs send, and where they write it.
func (s *settings) forecastLoad() *forecast.Load {
	l := &forecast.Load{
		Config: recorder.Config{Measure: s.Measure.Measure, Warmup: s.Warmup, WarmupTime: time.Duration(s.WarmupDuration), Starts: s.starts, RefillWindow: s.SessionWindow == windowRefill},
		Levels: s.levels, Halvings: s.halvings, Endless: s.endless(), RampUp: time.Duration(s.RampUp), Sessions: s.slotsOfSessions(),
		MayEnd: s.levelPlan != nil || s.Measure.stopOnUnstable, PlaysData: s.FixedSchedule || s.conversations() && !s.Measure.Fixed(),
		Runs: len(s.plannedRuns()), Exports: s.exportPaths(), Answers: forecast.Answers{Streaming: s.Streaming, Model: s.Model},
	}
	if s.world.Several() {
		l.Config.Ranks = &recorder.Ranks{World: s.world}
	}
	if s.AutoSweep {
		l.AutoSweep = s.sweepConcurrency()
	}
	for i := range l.Runs {
		l.WarmupRuns += len(s.warmupsBefore(i))
	}
	if s.ServiceKind == kindOpenAI && s.template == nil {
		l.Answers.API, _ = s.api()
	}
	return l
}

// unsentRows returns a warning if the duration ends before everything was sent that was asked for:
// the rows of a schedule, or with open loops the entries of --num-dataset-entries. It returns ""
// otherwise.
func (s *settings) unsentRows(data *forecast.Facts, f *forecast.Forecast) string {
	d := s.Measure.Duration
	if d == 0 {
		return ""
	}
	for _, level := range s.levels {
		schedule, ok := level.(load.Open)
		n := level.Traits().Instants
		if !ok || n == 0 {
			continue
		}
		what := "row"
		if level.Traits().Conversations {
			what = "session"
		}
		warm := max(time.Duration(s.WarmupDuration), schedule.Due(s.Warmup))
		unsent := n - schedule.DueWithin(warm+d)
		if unsent <= 0 {
			return ""
		}
		return fmt.Sprintf("--duration %v ends before the schedule, which takes %s: %s of %s %s left unsent; give a longer --duration, drop it, or raise --speed-up",
			d, forecast.RoundedTime(schedule.Due(n)), plural.Grouped(unsent), plural.GroupedOf(n, what), plural.Form(unsent, "is", "are"))
	}
	if !s.entriesAsked || s.restart || !f.Requests.Known() || f.Requests.Bound == recorder.AtMost || data.Entries == 0 {
		return ""
	}
	if unsent := data.Entries - int(f.Requests.Value)*max(s.BatchSize, 1); unsent > 0 && !s.world.Several() {
		return fmt.Sprintf("--duration %v at the given rates sends about %s of the %s of --num-dataset-entries and leaves %s unsent; give a longer --duration, a higher rate, or --request-count all",
			d, plural.Grouped(data.Entries-unsent), plural.GroupedOf(data.Entries, "row"), plural.Grouped(unsent))
	}
	return ""
}

// warnOfDisk warns if a file system has less room than the files of the runs need.
// space is [disk.FreeSpace] except in tests.
func (s *settings) warnOfDisk(w io.Writer, f *forecast.Forecast, space func(dir string) (disk.Space, bool), data *forecast.Facts) {
	var files []string
	journalAt := ""
	for _, run := range s.plannedRuns() {
		if journalAt == "" {
			journalAt, _ = journal.PathForAll(run.Exports)
		}
		for _, path := range run.Exports {
			if target, err := disk.Resolve(path); err == nil && !disk.IsSpecial(path) {
				files = append(files, target)
			}
		}
	}
	for _, short := range s.forecastLoad().Shortages(f, data, journalAt, files, space) {
		advice := "free space there, write elsewhere with --artifact-dir"
		if short.Repeats {
			advice += ", export .parquet (a fraction of the size)"
		}
		if short.Journal {
			advice += ", name a folder with room for the rest of the journal with --spill-dir"
		}
		dir := short.Dir
		if dir == "." {
			dir = "the current folder"
		}
		files := "exports"
		if short.Journal {
			files = "journal and export"
		}
		fmt.Fprintf(w, "pa-record: warning: %s need %v %s in %s, which has %s free: %s, or send less\n",
			files, short.Need.Bound, forecast.Bytes(short.Need.Value), dir, forecast.Bytes(short.Free), advice)
	}
}

// dataFacts looks at the opened input data, or without a source at what the flags say. textPerToken is the length in bytes of a
// token of the data's texts.
func (s *settings) dataFacts(e *inputData, textPerToken float64) *forecast.Facts {
	unknown := recorder.Figure{Basis: "the requests ask for no length of the answers"}
	if s.template != nil {
		unknown.Basis = "the request template decides the length of the answers"
	}
	d := &forecast.Facts{Output: unknown}
	src, sessions, flag := e.Source, e.sessions, 0.
	if s.outputLengths != nil {
		flag = s.outputLengths.MeanLength()
	}
	if src != nil {
		d.Entries = src.Len()
	}
	switch {
	case s.Agents != nil && sessions != nil:
		s.Agents.forecastFacts(d, sessions)
		return d
	case s.inputLengths != nil:
		s.madeUpFacts(d)
	case src != nil:
		d.Sample(src, textPerToken, flag)
		if sessions != nil {
			d.Sessions = sessions
			d.Thinking += sessions.Idle
		}
	}
	api, known := s.api()
	switch {
	case s.ServiceKind == kindOpenAI && (!known || !api.AsksLength()):
		d.Output = recorder.Figure{Basis: "answers of this endpoint have no length in tokens"}
	case s.template != nil && !s.template.Uses(render.PlaceholderMaxTokens):
		d.Output = unknown
	case flag > 0 && e.facts != nil && e.facts.Lengths+e.facts.Whole > 0: // they win over the flag
	case s.outputLengths != nil:
		d.Output = recorder.Figure{Value: flag, Bound: recorder.AtMost, Basis: "--output-tokens " + s.OutputLaw}
		if s.ExactOutput {
			d.Output.Bound = forecast.LengthBound(s.outputLengths)
		}
	case s.noOutputLength:
		d.Output = unknown
	case s.extraLength != "":
		if n := forecast.LengthIn([]byte(s.ExtraBody), []string{s.extraLength}); n > 0 {
			d.Output = recorder.Figure{Value: n, Bound: recorder.AtMost, Basis: s.extraLength + " of --extra-body"}
		}
	}
	if s.conversations() && (d.Sessions == nil || d.Sessions.Recorded < d.Sessions.Sessions) {
		d.Input = d.Input.Add(recorder.Figure{Bound: recorder.AtLeast, Basis: "without the history of conversations"})
	}
	return d
}

// madeUpFacts sets the facts of made-up prompts.
func (s *settings) madeUpFacts(d *forecast.Facts) {
	texts := max(1, s.BatchTexts)
	if s.ranks() {
		texts = 1 + max(1, s.BatchTexts)
	}
	d.Input = recorder.Figure{Value: s.inputLengths.MeanLength()*float64(texts) + float64(s.PrefixTokens), Bound: forecast.LengthBound(s.inputLengths), Basis: "prompts of " + s.InputLaw + " tokens"}
	d.InputBytes = d.Input.Value * forecast.TextPerToken
	if s.hasMedia() {
		d.InputBytes = math.NaN()
	}
	if s.MadeSessions == 0 {
		if d.Entries == 0 {
			d.Entries = s.DatasetEntries
		}
		return
	}
	if d.Entries == 0 {
		d.Entries, d.About = int(math.Round(float64(s.MadeSessions)*s.TurnsMean)), s.TurnsStddev > 0 || s.TurnsMean != math.Trunc(s.TurnsMean)
	}
	d.Thinking = time.Duration(max(d.Entries-s.MadeSessions, 0)) * s.delays.Bound(s.thinkTime().Mean)
}

// dryData returns the facts of the input data for --dry-run, which asks no other machine, reads no
// stream and no more than forecast.MostDryBytes. It sets the level of a fixed schedule. notes are about files of sessions.
func (s *settings) dryData(ctx context.Context) (_ *forecast.Facts, notes []string) {
	e, release, err := s.drySource(ctx)
	if err != nil {
		if !forecast.ReadLater(err) {
			s.refused = err // a run would fail, too
		}
		d := s.dataFacts(&inputData{}, forecast.TextPerToken)
		d.Why, d.InputBytes = err.Error(), math.NaN()
		d.Input = recorder.Figure{Basis: d.Why}
		if !d.Output.Known() {
			d.Output.Basis = d.Why
		}
		return d, nil
	}
	defer release()
	if e.sessions != nil {
		notes = e.notes
	}
	return s.dataFacts(e, forecast.TextPerToken), notes
}

// drySource opens the input data; a nil source is made up.
func (s *settings) drySource(ctx context.Context) (e *inputData, release func(), err error) {
	e, none := &inputData{}, func() {}
	switch {
	case s.Agents != nil:
		if err := e.makeAgents(s, nil); err != nil {
			return nil, none, err
		}
		return e, none, s.takeSessions(e.Source)
	case s.inputLengths != nil:
		return e, none, nil
	case s.namesDataset():
		return nil, none, forecast.LaterError("--dataset " + s.Layout + " is read when the run begins")
	case s.readsFiles():
		return s.dryFiles(ctx)
	case s.ServiceKind == kindTriton:
		return nil, none, forecast.LaterError("tensors are generated when the model is known")
	}
	if err := builtinPrompts(e, s, workload.Fill{}); err != nil {
		return nil, none, err
	}
	e.Source, err = spreadOverModels(s, e.Source)
	return e, none, err
}

// dryFiles opens the files of --input-data.
func (s *settings) dryFiles(ctx context.Context) (e *inputData, release func(), err error) {
	if err := forecast.CheckQuick(s.InputData); err != nil {
		return nil, nil, err
	}
	if s.ranks() || s.BatchTexts > 1 || s.BatchImages > 1 {
		return nil, nil, forecast.LaterError("the input data is read when the run begins")
	}
	o := s.datasetOptions()
	o.Texts, o.Sessions, o.Delays, o.Spool.MaxBytes = forecast.LengthTexts{}, s.conversations(), s.delays, forecast.MostDryBytes
	if s.outputLengths == nil && !s.noOutputLength {
		o.Count = func(text string) int { return len(text)/forecast.TextPerToken + 1 }
	}
	set, err := dataset.Open(ctx, s.InputData, o)
	if err != nil {
		return nil, nil, fmt.Errorf("--input-data: %w", err)
	}
	facts := set.Facts()
	e = &inputData{Source: set, notes: set.Notes(), facts: &facts}
	if err := e.readSessions(s, set, &facts); err != nil {
		return nil, nil, errors.Join(err, set.Close())
	}
	e.limit(s)
	if err := e.countSessions(s, &facts); err != nil {
		return nil, nil, errors.Join(err, set.Close())
	}
	if err := s.takeSessions(e.Source); err != nil {
		return nil, nil, errors.Join(err, set.Close())
	}
	if s.refused = s.checkSessions(e.sessions); s.refused != nil {
		return nil, nil, errors.Join(s.refused, set.Close())
	}
	e.Source = s.delays.Of(e.Source)
	if e.Source, err = spreadOverModels(s, e.Source); err == nil && s.FixedSchedule {
		e.Source, err = s.schedule(e.Source)
	}
	if err != nil {
		return nil, nil, errors.Join(err, set.Close())
	}
	return e, func() { _ = set.Close() }, nil
}
