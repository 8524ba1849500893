package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/forecast"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/dataset"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
	"github.com/pa-tools/pa/pkg/recorder/workload/synth"
	"github.com/pa-tools/pa/pkg/tokenizer/hub"
)

// inputData is the data that a run sends, with its description.
type inputData struct {
	workload.Source
	streams workload.Source     // all streams of files for Triton; nil for other data
	notes   []string            // notes to print
	meta    *export.DatasetMeta // for the export; nil if the settings describe it
	facts   *dataset.Facts      // of the files; nil without files
	// sessions describes what the source holds; nil if it is no workload.Sessions.
	sessions *workload.SessionFacts
	close    func() error // closes the files

	s       *settings
	tokens  *tokenCounter
	builtin *workload.BuiltinSets // built-in prompts; nil for other data
	media   *synth.MediaSource    // made-up images and audio; nil for none
	madeUp  bool                  // all entries are made up
	set     workload.Set          // the set that Source holds now
}

// textPerToken returns the length in bytes of a token of the entries' texts, which for usual text is an estimate.
func (e *inputData) textPerToken() float64 {
	const tokens = 1000
	if e.madeUp && e.tokens.texts != nil {
		if text, _, err := e.tokens.texts.Text(0, tokens); err == nil && text != "" {
			return float64(len(text)) / tokens
		}
	}
	return forecast.TextPerToken
}

// openData opens the data of the settings. It also sets s.Encode, and adds its notes about
// the tokenizer to s. getenv is os.Getenv except in tests; in is standard input.
func openData(ctx context.Context, s *settings, getenv func(string) string, in io.Reader) (*inputData, error) {
	tokens := &tokenCounter{ctx: ctx, s: s, getenv: getenv}
	s.encode = tokens.encode
	if s.Tokenizer != "" || s.DefaultTokenizer != "" {
		// A named tokenizer must exist, even if only the analysis uses it. Load the
		// default one before the run, too, so that its notes come first.
		if _, err := tokens.load(); err != nil {
			return nil, err
		}
	}
	e, err := openSource(ctx, s, tokens, getenv, in)
	if err != nil {
		return nil, err
	}
	if err := s.takeSessions(e.Source); err != nil {
		return nil, errors.Join(err, e.close())
	}
	if err := s.checkEffects(e.facts); err != nil {
		return nil, errors.Join(err, e.close())
	}
	if err := s.checkSessions(e.sessions); err != nil {
		return nil, errors.Join(err, e.close())
	}
	for _, src := range []*workload.Source{&e.Source, &e.streams} {
		if *src == nil {
			continue
		}
		if *src, err = adapt(*src, s, tokens, e.facts); err != nil {
			return nil, errors.Join(err, e.close())
		}
	}
	if e.Source, err = spreadOverModels(s, e.Source); err != nil {
		return nil, errors.Join(err, e.close())
	}
	e.s, e.tokens = s, tokens
	e.madeUp = e.builtin != nil || s.makesPrompts() || tokens.makes(e.Source)
	if tokens.err != nil { // of the requests of sessions, which are made when they are read
		return nil, errors.Join(tokens.err, e.close())
	}
	if note := credentialsNote(credentials(e.Source)); note != "" {
		e.notes = append(e.notes, note)
	}
	if api, _ := s.api(); s.ServiceKind == kindOpenAI && s.template == nil && s.extraLength == "" {
		if note := render.LengthNote(api, e.Source); note != "" {
			e.notes = append(e.notes, note)
		}
	}
	if used := tokens.meta(); used != nil && e.meta != nil {
		e.meta.Tokenizer = used
	}
	return e, nil
}

// The requests of a data set have the same members, so that credentials looks at these many only.
const (
	credentialEntries = 1000
	credentialBytes   = 4 << 20
)

// credentials returns the names of credentials in the first requests of src. Prompts have none.
func credentials(src workload.Source) (names []string) {
	bytes := 0
	for k := 0; k < min(src.Len(), credentialEntries) && bytes < credentialBytes; k++ {
		e, err := src.At(k)
		if err != nil || e.Prompt != nil {
			return names // the recorder reports the error
		}
		for _, f := range e.Values {
			if redact.Credential(f.Name) && !f.Value.Empty() {
				names = append(names, f.Name)
			}
			bytes += len(f.Value.Data)
			if text := f.Value.Bytes(); len(text) > 0 && (text[0] == '{' || text[0] == '[') {
				names = append(names, redact.MemberNames(string(text))...)
			}
		}
	}
	return names
}

// openSource opens the files or makes up the entries, without the changes that adapt
// and spreadOverModels make.
func openSource(ctx context.Context, s *settings, tokens *tokenCounter, getenv func(string) string, in io.Reader) (*inputData, error) {
	fill := workload.Fill{Kind: workload.FillRandom, Seed: s.Seed, StringLength: s.StringLength, StringData: s.StringData}
	e := &inputData{close: func() error { return nil }}
	switch {
	case s.madeTensors():
		if s.InputData[0] == "zero" {
			fill.Kind = workload.FillZero
		}
		e.Source = workload.List{{Fill: fill, Shapes: s.Shapes}}
	case len(s.InputData) > 0, s.namesDataset():
		return readEntries(ctx, s, tokens, getenv, in)
	case s.Agents != nil:
		texts, err := tokens.loadTexts()
		if err != nil {
			return nil, err
		}
		if err := e.makeAgents(s, texts); err != nil {
			return nil, err
		}
		e.notes = append(e.notes, "the input data holds "+e.sessions.String())
	case s.inputLengths != nil:
		made, err := makeEntries(s, tokens)
		if err != nil {
			return nil, err
		}
		if err := e.illustrate(ctx, s, made); err != nil {
			return nil, err
		}
		e.meta = &export.DatasetMeta{Entries: e.Len(), Order: s.Order}
	default:
		return e, s.kind().builtin(e, s, fill)
	}
	return e, nil
}

// builtinTensors makes the entries for a Triton server without --input-data.
func builtinTensors(e *inputData, s *settings, fill workload.Fill) error {
	e.Source = workload.List{{Fill: fill, Shapes: s.Shapes}}
	e.notes = []string{"no --input-data: sending random tensors and strings"}
	return nil
}

// builtinPrompts makes the entries for an OpenAI server without --input-data.
func builtinPrompts(e *inputData, s *settings, _ workload.Fill) error {
	if _, ok := s.api(); !ok {
		return cmdline.Usagef("no --input-data, and pa-record has no built-in requests for --endpoint %s", s.Endpoint)
	}
	length := workload.BuiltinMaxTokens
	if s.outputLengths != nil || s.noOutputLength {
		length = 0 // adapt sets the lengths of the settings
	}
	e.builtin = workload.NewBuiltinSets(s.builtinEntries, length)
	e.Source = e.builtin
	e.notes = []string{"no --input-data: sending the built-in prompts"}
	return nil
}

// readEntries opens files.
func readEntries(ctx context.Context, s *settings, tokens *tokenCounter, getenv func(string) string, in io.Reader) (*inputData, error) {
	if len(s.InputData) == 1 && s.ServiceKind == kindTriton {
		if e, err := readTensors(s.InputData[0], s.Shapes); e != nil || err != nil {
			return e, err
		}
	}
	o := s.datasetOptions()
	o.Stdin, o.Texts, o.Sessions, o.Delays = in, tokens, s.conversations(), s.delays
	o.OnlyKnown = s.ServiceKind == kindTriton // a tensor needs an input of the model
	if s.outputLengths == nil && !s.noOutputLength {
		o.Count = tokens.count
	}
	if s.ranks() && len(s.InputData) == 1 {
		if queries, passages, ok := dataset.RankedFiles(s.InputData[0]); ok {
			return readRankings(ctx, s, queries, passages, o)
		}
	}
	set, err := openSet(ctx, s, getenv, o)
	if err != nil {
		return nil, err
	}
	if tokens.err != nil {
		return nil, errors.Join(tokens.err, set.Close())
	}
	facts := set.Facts()
	if _, whole := set.AsSessions(); s.needsChat != "" && (!whole || facts.LaterTurns > 0) {
		return nil, errors.Join(cmdline.Usagef("%s, or data whose requests hold their history", s.needsChat), set.Close())
	}
	for _, members := range set.Ignored() {
		s.noEffect(members, "pa-record does not send these members of an entry")
	}
	e := &inputData{Source: set, notes: set.Notes(), facts: &facts, meta: &export.DatasetMeta{Order: s.Order, Assumed: set.Assumed()}, close: set.Close}
	if err := e.readSessions(s, set, &facts); err != nil {
		return nil, errors.Join(err, set.Close())
	}
	if rows, note := traceRows(s, &facts); rows != "" {
		e.meta.TraceRows = rows
		e.notes = append(e.notes, note)
	}
	for _, f := range set.Files() {
		e.meta.Files = append(e.meta.Files, export.DatasetFile(f))
	}
	if set.Streams() > 1 {
		e.meta.Streams = set.Streams()
		e.notes = append(e.notes, "the input data holds several streams: a model that keeps state gets each as a sequence, any other model only the first")
		if e.Source = set.Stream(0); e.Len() == 0 {
			return nil, errors.Join(fmt.Errorf("--input-data %s: the first stream holds no request", strings.Join(s.InputData, ", ")), set.Close())
		}
	}
	if s.BatchTexts > 1 || s.BatchImages > 1 {
		if e.Source, err = workload.Batches(e.Source, batches(s)); err != nil {
			return nil, errors.Join(fmt.Errorf("--batch-size-text, --batch-size-image: %w", err), set.Close())
		}
	} else {
		e.limit(s)
	}
	e.meta.Entries = e.Len()
	if _, ok := e.Source.(workload.Sessions); ok {
		if err := e.countSessions(s, &facts); err != nil {
			return nil, errors.Join(err, set.Close())
		}
		e.notes = append(e.notes, "the input data holds "+e.sessions.String())
		return e, nil
	}
	e.Source = shapedSource{e.Source, s.Shapes}
	if s.ServiceKind == kindTriton {
		e.streams = shapedSource{set, s.Shapes}
	}
	return e, nil
}

// traceRows says what later turns of a trace are taken to hold, and how that is known: "whole",
// "new" or "mixed". It returns "" where no conversations of a trace are sent.
func traceRows(s *settings, facts *dataset.Facts) (rows, note string) {
	turns := facts.TraceWhole + facts.TraceNew + facts.TraceUnknown
	if turns == 0 || !s.conversations() {
		return "", ""
	}
	turnsText := plural.GroupedOf(turns, "later turn") + " of the trace"
	switch added := facts.TraceNew + facts.TraceUnknown; {
	case s.TraceRows != "":
		return s.TraceRows, fmt.Sprintf("--trace-rows %s: %s", s.TraceRows, map[string]string{
			string(dataset.RowsWhole): "the row of a later turn is the whole prompt",
			string(dataset.RowsNew):   "the row of a later turn is put after the history",
		}[s.TraceRows])
	case added == 0:
		return string(dataset.RowsWhole), turnsText + ": each row holds the whole prompt, as its hash_ids or the layout say, so it is sent without the history (--trace-rows new adds it)"
	case facts.TraceWhole == 0:
		return string(dataset.RowsNew), turnsText + ": each row follows the history, because its hash_ids do not begin with the ids of the turn before (--trace-rows whole sends it alone)"
	default:
		return "mixed", fmt.Sprintf("%s: %s with the whole prompt, because the hash_ids begin with the ids of the turn before, and %s with the history before it; --trace-rows whole or new treats all alike", turnsText, plural.Grouped(facts.TraceWhole), plural.Grouped(added))
	}
}

// readSessions makes the sessions of a set the source of e, if it is of a layout of sessions.
func (e *inputData) readSessions(s *settings, set *dataset.Set, facts *dataset.Facts) error {
	all, ok := set.AsSessions()
	switch {
	case !ok:
		return nil
	case s.ServiceKind != kindOpenAI:
		return fmt.Errorf("--input-data %s: it holds sessions (%s), which need an OpenAI-compatible server", strings.Join(s.InputData, ", "), set.Files()[0].Layout)
	}
	e.Source = all
	e.notes = append(e.notes, sessionModelsNote(s, facts.Sessions.Models)...)
	return nil
}

// countSessions sets e.sessions if the source holds sessions. facts describe all files.
func (e *inputData) countSessions(s *settings, facts *dataset.Facts) error {
	all, ok := e.Source.(workload.Sessions)
	if !ok {
		return nil
	}
	x := facts.Sessions
	if all.Sessions() != x.Sessions { // a part of the files
		var err error
		if x, err = workload.FactsOf(s.delays.Of(all).(workload.Sessions)); err != nil {
			return fmt.Errorf("--input-data: %w", err)
		}
	}
	e.sessions = &x
	return nil
}

// sessionModelsNote says what becomes of the models that recorded sessions name.
func sessionModelsNote(s *settings, recorded []string) []string {
	if len(recorded) == 0 {
		return nil
	}
	names := "model " + recorded[0]
	if len(recorded) > 1 {
		names = "models " + strings.Join(recorded, ", ")
	}
	if len(s.Models) == 0 {
		return []string{fmt.Sprintf("the sessions were recorded with the %s; here all requests go to one model", names)}
	}
	return []string{fmt.Sprintf("the sessions were recorded with the %s: in each session, %s replaces the first model, the next of -m the next one, and so on in turn", names, s.Models[0])}
}

// limit keeps the number of entries, or of sessions, that --num-dataset-entries sets.
func (e *inputData) limit(s *settings) {
	if all, ok := e.Source.(workload.Sessions); ok {
		if n := s.DatasetEntries; n > all.Sessions() {
			e.notes = append(e.notes, fmt.Sprintf("--num-dataset-entries %d: there are only %s", n, plural.GroupedOf(all.Sessions(), "session")))
		} else if n > 0 {
			e.Source = workload.LimitSessions(all, n, s.sendOrder)
		}
		return
	}
	if n := s.DatasetEntries; n > e.Len() {
		e.notes = append(e.notes, fmt.Sprintf("--num-dataset-entries %d: there are only %d", n, e.Len()))
	} else if n > 0 {
		e.Source = workload.Limit(e.Source, n, s.sendOrder)
	}
}

func openSet(ctx context.Context, s *settings, getenv func(string) string, o dataset.Options) (set *dataset.Set, err error) {
	if s.namesDataset() {
		if set, err = openNamed(ctx, s, getenv, o); err != nil {
			err = readError(ctx, "--dataset "+s.Layout, err)
		}
		return set, err
	}
	if set, err = dataset.Open(ctx, s.InputData, o); err != nil {
		err = readError(ctx, "--input-data", err)
	}
	return set, err
}

// readError returns the error for a flag whose data could not be read. If a signal ended
// the reading, the error is the signal's and does not blame the flag.
func readError(ctx context.Context, flag string, err error) error {
	var ended cmdline.SignalError
	if errors.As(err, &ended) && errors.Is(context.Cause(ctx), ended) {
		return fmt.Errorf("%w while %s was read", ended, flag)
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// maxTensorBytes bounds a file of a folder of tensors.
const maxTensorBytes = 4 << 30

// readTensors reads a folder with a file for each input, as perf_analyzer has it;
// nil if path is something else.
func readTensors(path string, shapes map[string][]int64) (*inputData, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return nil, nil // opening it as a file says why
	}
	inside, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("--input-data: %w", err)
	}
	raw := map[string][]byte{}
	for _, f := range inside {
		if dataset.IsDataFile(f.Name()) {
			return nil, nil // a folder of datasets
		}
		if f.IsDir() || strings.HasPrefix(f.Name(), ".") {
			continue
		}
		if raw[f.Name()], err = disk.ReadFile(context.Background(), filepath.Join(path, f.Name()), maxTensorBytes); err != nil {
			return nil, fmt.Errorf("--input-data: %w", err)
		}
	}
	if len(raw) == 0 {
		return nil, fmt.Errorf("--input-data %s: the folder holds no file", path)
	}
	return &inputData{Source: workload.List{{Raw: raw, Shapes: shapes}}, close: func() error { return nil }}, nil
}

// shapedSource is a source whose entries have those shapes.
type shapedSource struct {
	workload.Source
	shapes map[string][]int64
}

// At implements workload.Source.
func (s shapedSource) At(k int) (workload.Entry, error) {
	e, err := s.Source.At(k)
	e.Shapes = s.shapes
	return e, err
}

// spreadOverModels returns src with a model for each entry, where there are several.
func spreadOverModels(s *settings, src workload.Source) (workload.Source, error) {
	if len(s.Models) == 0 {
		return src, nil
	}
	all, err := workload.Models(src, workload.ModelChoice{
		Names: s.Models, Random: s.ModelChoice == workload.RandomModels, Seed: s.Seed, Batch: s.BatchSize,
		Once: s.oneRound || s.Measure.All || s.FixedSchedule || s.conversations(),
	})
	if err != nil {
		return nil, fmt.Errorf("-m %s: %w", strings.Join(s.Models, ","), err)
	}
	return all, nil
}

// readRankings opens queries, and the passages that are ranked by them.
func readRankings(ctx context.Context, s *settings, queries, passages string, o dataset.Options) (_ *inputData, err error) {
	e := &inputData{meta: &export.DatasetMeta{Order: s.Order}, close: func() error { return nil }}
	defer func() {
		if err != nil {
			err = errors.Join(readError(ctx, "--input-data", err), e.close())
		}
	}()
	var sets []workload.Source
	for _, path := range []string{queries, passages} {
		set, err := dataset.Open(ctx, []string{path}, o)
		if err != nil {
			return nil, err
		}
		before := e.close
		e.close = func() error { return errors.Join(before(), set.Close()) }
		e.notes = append(e.notes, set.Notes()...)
		for _, f := range set.Files() {
			e.meta.Files = append(e.meta.Files, export.DatasetFile(f))
		}
		sets = append(sets, set)
	}
	if e.Source, err = workload.Rankings(sets[0], sets[1], batches(s)); err != nil {
		return nil, err
	}
	if s.BatchTexts <= 1 {
		e.limit(s)
	}
	e.meta.Entries = e.Len()
	return e, nil
}

// batches returns how many texts and images are put into each request, for --batch-size-text
// and --batch-size-image, and how many requests there are.
func batches(s *settings) workload.Batch {
	n := s.DatasetEntries
	if n == 0 {
		n = defaultEntries
	}
	return workload.Batch{N: n, Texts: max(1, s.BatchTexts), Images: max(1, s.BatchImages), Seed: s.Seed}
}

// openNamed opens the dataset that --dataset names: the files of Hugging Face's
// cache, else its first rows from the datasets server.
func openNamed(ctx context.Context, s *settings, getenv func(string) string, o dataset.Options) (*dataset.Set, error) {
	home, _ := os.UserHomeDir() // without one there is no cache
	h, d := hub.FromEnv(getenv, home), hubDatasets[s.Layout]
	if files := h.CachedFiles(d); len(files) > 0 {
		if s.sendOrder.Kind == workload.Sequential && s.Layout != "sharegpt" { // the layout sharegpt skips rows
			o.MaxRows = s.DatasetEntries
		}
		return dataset.Open(ctx, files, o)
	}
	s.note("--dataset %s: asking %s for the first %d rows of %s", s.Layout, addressOf(h.DatasetServer()), s.DatasetEntries, d.Name)
	text, err := h.FetchRows(ctx, d, s.DatasetEntries)
	if err != nil {
		return nil, err
	}
	return dataset.OpenReader(ctx, d.Name, bytes.NewReader(text), o)
}

// makeEntries returns prompts that are made up.
func makeEntries(s *settings, tok *tokenCounter) (workload.Source, error) {
	texts, err := tok.loadTexts()
	if err != nil {
		return nil, err
	}
	c := synth.Config{
		Texts: texts, Seed: s.Seed, Input: s.inputLengths, Output: s.outputLengths, Exact: s.ExactOutput,
		Prefixes: s.Prefixes, PrefixTokens: s.PrefixTokens, Prompts: s.DatasetEntries,
		More: max(0, s.BatchTexts-1),
	}
	if s.ranks() {
		c.More = max(1, s.BatchTexts)
	}
	if s.MadeSessions > 0 {
		c.Prompts, c.Sessions, c.Delay = 0, s.MadeSessions, s.thinkTime()
		c.Turns = synth.Normal{Mean: s.TurnsMean, Stddev: s.TurnsStddev}
	}
	return synth.New(c)
}

// adapt returns src as the settings want prompts that were not made up: with
// lengths of answers, a beginning of their own, other think times.
// facts is nil for data without files.
func adapt(src workload.Source, s *settings, tok *tokenCounter, facts *dataset.Facts) (workload.Source, error) {
	src = s.delays.Of(src)
	if s.makesPrompts() {
		return src, nil
	}
	if s.outputLengths != nil {
		change := workload.WithOutputLength(func(k int) int { return synth.OutputTokens(s.outputLengths, s.Seed, k) }, s.ExactOutput)
		if facts != nil && facts.Prompts > 0 { // otherwise nothing takes the length, which is an error
			change = exceptWhole(change)
		}
		src = workload.Map(src, change)
	}
	if s.CacheSalt == "" && s.Prefixes == 0 {
		return src, nil
	}
	texts, err := tok.loadTexts()
	if err != nil {
		return nil, fmt.Errorf("--cache-bust, --num-prefix-prompts: %w", err)
	}
	if all, ok := src.(workload.Sessions); ok {
		if s.CacheSalt != "" {
			all = workload.MapSessions(all, workload.WithSessionPrefix(func(k int) (string, error) { return texts.Opening(uint64(k)), nil }))
		}
		if s.Prefixes > 0 {
			all = workload.MapSessions(all, workload.WithSessionPrefix(func(k int) (string, error) { return texts.Prefix(uint64(k), s.Prefixes, s.PrefixTokens) }))
		}
		return all, nil
	}
	if s.CacheSalt != "" {
		src = workload.Map(src, workload.WithPrefix(func(k int, _ *workload.Entry) (string, error) { return texts.Opening(uint64(k)), nil }))
	}
	if s.Prefixes > 0 {
		src = workload.Map(src, workload.WithPrefix(func(k int, e *workload.Entry) (string, error) {
			if e.Turn > 0 {
				return "", nil // the first turn has it, and is sent again with every other
			}
			return texts.Prefix(uint64(k), s.Prefixes, s.PrefixTokens)
		}))
	}
	return src, nil
}

// exceptWhole returns change without an effect on whole requests, which applyRules names.
func exceptWhole(change func(int, *workload.Entry) error) func(int, *workload.Entry) error {
	return func(k int, e *workload.Entry) error {
		if e.Prompt == nil || e.Prompt.Body != nil {
			return nil
		}
		return change(k, e)
	}
}

// illustrate adds made-up images and audio to src, which e closes.
func (e *inputData) illustrate(ctx context.Context, s *settings, src workload.Source) error {
	if !s.hasMedia() {
		e.Source = src
		return nil
	}
	illustrated, err := synth.AddMedia(ctx, src, s.media, "")
	if err != nil {
		return err
	}
	e.Source, e.media, e.close = illustrated, illustrated, illustrated.Close
	return nil
}

// identity returns what the requests of sessions depend on: the content of the files, and the settings that change it.
func (e *inputData) identity() string {
	s := e.s
	type made struct {
		Tokenizer *export.TokenizerMeta
		Seed      uint64
		Set       workload.Set
		Salt      string
		Prefixes  [2]int
	}
	of := struct {
		Files         []export.DatasetFile
		Layout, Rows  string
		From, To      time.Duration
		BlockTokens   int
		Sessions      int
		Order         string
		Output        string
		Exact, NoMost bool
		Models        []string
		ModelChoice   string
		Seed          uint64 // of drawn lengths and models
		Made          *made
		Agents        *agentSettings `json:",omitempty"`
		History       string         `json:",omitempty"` // of made-up agents
	}{
		Layout: s.Layout, Rows: s.TraceRows, From: time.Duration(s.WindowFrom), To: time.Duration(s.WindowTo), BlockTokens: s.BlockTokens,
		Sessions: s.DatasetEntries, Order: s.Order, Exact: s.ExactOutput, NoMost: s.noOutputLength, Models: s.Models, ModelChoice: s.ModelChoice,
	}
	if of.Agents = s.Agents; s.Agents != nil {
		of.History = s.SessionHistory
	}
	if s.outputLengths != nil {
		of.Output = fmt.Sprintf("%T%+v", s.outputLengths, s.outputLengths)
	}
	if s.outputLengths != nil || s.ModelChoice == workload.RandomModels || s.sendOrder.Kind != workload.Sequential {
		of.Seed = s.Seed
	}
	if e.meta != nil {
		of.Files = slices.Clone(e.meta.Files)
		for i := range of.Files {
			of.Files[i].Name = "" // a copy elsewhere holds the same requests
		}
	}
	if e.tokens.texts != nil || s.CacheSalt != "" {
		of.Made = &made{e.tokens.meta(), s.Seed, e.set, s.levelSalt(e.set), [2]int{s.Prefixes, s.PrefixTokens}}
		if s.restart {
			of.Made.Set = workload.Set{}
		}
	}
	js, err := json.Marshal(of)
	if err != nil {
		panic(err) // plain data
	}
	return string(js)
}

// hasPrompts reports whether the entries are prompts, or bodies of requests that hold some, and
// come from files.
func (e *inputData) hasPrompts() bool {
	if e.meta == nil || e.madeUp {
		return false
	}
	first, err := e.At(0)
	return err == nil && (first.Prompt != nil || e.s.ServiceKind == kindOpenAI)
}

// renew replaces the entries for a level of a run. Made-up entries become other ones of the same
// lengths, unless --prompts restart keeps them. The beginnings of --cache-bust become other ones,
// too.
func (e *inputData) renew(ctx context.Context, set workload.Set) (recorder.Renewal, error) {
	before := e.set
	e.set = set
	made := set
	if e.s.restart {
		made = workload.Set{}
	}
	renewal := recorder.Renewal{MadeUp: e.madeUp, Salt: e.s.levelSalt(set)}
	if before == set || e.s.restart && renewal.Salt == "" {
		return renewal, nil
	}
	renewal.Changed = e.tokens.use(made, renewal.Salt)
	if e.s.restart {
		return renewal, nil
	}
	if e.builtin != nil {
		e.builtin.Use(set)
		renewal.Changed = true
	}
	if e.media != nil {
		renewal.Changed = true
		return renewal, e.media.Use(ctx, set)
	}
	return renewal, nil
}
