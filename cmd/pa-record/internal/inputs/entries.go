package inputs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pa-tools/pa/cmd/pa-record/internal/settings"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/internal/regular"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/dataset"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
	"github.com/pa-tools/pa/pkg/recorder/workload/synth"
)

// Data is the data that a run sends, with its description.
type Data struct {
	workload.Source
	Streams workload.Source     // all streams of files for Triton; nil for other data
	Notes   []string            // notes to print
	Meta    *export.DatasetMeta // for the export; nil if the settings describe it
	Facts   *dataset.Facts      // of the files; nil without files
	Close   func() error        // closes the files

	s       *settings.Settings
	tokens  *tokenCounter
	builtin *workload.BuiltinSets // built-in prompts; nil for other data
	media   *synth.MediaSource    // made-up images and audio; nil for none
	madeUp  bool                  // all entries are made up
	set     workload.Set          // the set that Source holds now
}

// Open opens the data of the settings. It also sets s.Encode, and adds its notes about
// the tokenizer to s. getenv is os.Getenv except in tests; in is standard input.
func Open(ctx context.Context, s *settings.Settings, getenv func(string) string, in io.Reader) (*Data, error) {
	tokens := &tokenCounter{ctx: ctx, s: s, getenv: getenv}
	s.Encode = tokens.encode
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
	if err := s.CheckEffects(e.Facts); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	for _, src := range []*workload.Source{&e.Source, &e.Streams} {
		if *src == nil {
			continue
		}
		if *src, err = adapt(*src, s, tokens, e.Facts); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	if e.Source, err = spreadOverModels(s, e.Source); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	e.s, e.tokens = s, tokens
	e.madeUp = e.builtin != nil || s.InputLengths != nil || tokens.makes(e.Source)
	if note := settings.CredentialsNote(credentials(e.Source)); note != "" {
		e.Notes = append(e.Notes, note)
	}
	if used := tokens.meta(); used != nil && e.Meta != nil {
		e.Meta.Tokenizer = used
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
func openSource(ctx context.Context, s *settings.Settings, tokens *tokenCounter, getenv func(string) string, in io.Reader) (*Data, error) {
	fill := workload.Fill{Kind: workload.FillRandom, Seed: s.Seed, StringLength: s.StringLength, StringData: s.StringData}
	e := &Data{Close: func() error { return nil }}
	switch {
	case s.MadeTensors():
		if s.InputData[0] == "zero" {
			fill.Kind = workload.FillZero
		}
		e.Source = workload.List{{Fill: fill, Shapes: s.Shapes}}
	case len(s.InputData) > 0, s.NamesDataset():
		return readEntries(ctx, s, tokens, getenv, in)
	case s.InputLengths != nil:
		made, err := makeEntries(s, tokens)
		if err != nil {
			return nil, err
		}
		if err := e.illustrate(ctx, s, made); err != nil {
			return nil, err
		}
		e.Meta = &export.DatasetMeta{Entries: e.Len(), Order: s.Order}
	case s.ServiceKind == settings.Triton:
		e.Source = workload.List{{Fill: fill, Shapes: s.Shapes}}
		e.Notes = []string{"no --input-data: sending random tensors and strings"}
	default:
		if _, ok := render.APIOf(s.EndpointPath()); !ok {
			return nil, cmdline.Usagef("no --input-data, and there are no built-in requests for --endpoint %s", s.Endpoint)
		}
		length := workload.BuiltinMaxTokens
		if s.OutputLengths != nil || s.NoOutputLength {
			length = 0 // adapt sets the lengths of the settings
		}
		e.builtin = workload.NewBuiltinSets(s.BuiltinEntries, length)
		e.Source = e.builtin
		e.Notes = []string{"no --input-data: sending the built-in prompts"}
	}
	return e, nil
}

// readEntries opens files.
func readEntries(ctx context.Context, s *settings.Settings, tokens *tokenCounter, getenv func(string) string, in io.Reader) (*Data, error) {
	if len(s.InputData) == 1 && s.ServiceKind == settings.Triton {
		if e, err := readTensors(s.InputData[0], s.Shapes); e != nil || err != nil {
			return e, err
		}
	}
	o := s.DatasetOptions()
	o.Stdin, o.Texts, o.Sessions = in, tokens, s.Sessions > 0
	o.OnlyKnown = s.ServiceKind == settings.Triton // a tensor needs an input of the model
	if s.OutputLengths == nil && !s.NoOutputLength {
		o.Count = tokens.count
	}
	if s.Ranks() && len(s.InputData) == 1 {
		if queries, passages, ok := rankedFiles(s.InputData[0]); ok {
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
	for _, members := range set.Ignored() {
		s.NoEffect(members, "pa-record does not send these members of a row")
	}
	e := &Data{Source: set, Notes: set.Notes(), Facts: &facts, Meta: &export.DatasetMeta{Order: s.Order}, Close: set.Close}
	if rows, note := traceRows(s, &facts); rows != "" {
		e.Meta.TraceRows = rows
		e.Notes = append(e.Notes, note)
	}
	for _, f := range set.Files() {
		e.Meta.Files = append(e.Meta.Files, export.DatasetFile(f))
	}
	if set.Streams() > 1 {
		e.Meta.Streams = set.Streams()
		e.Notes = append(e.Notes, "the input data holds several streams: to a model that keeps state each is sent as a sequence, to another one only the first is sent")
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
	e.Meta.Entries = e.Len()
	e.Source = shaped{e.Source, s.Shapes}
	if s.ServiceKind == settings.Triton {
		e.Streams = shaped{set, s.Shapes}
	}
	return e, nil
}

// traceRows says what later turns of a trace are taken to hold, and how that is known: "whole",
// "new" or "mixed". It returns "" where no conversations of a trace are sent.
func traceRows(s *settings.Settings, facts *dataset.Facts) (rows, note string) {
	turns := facts.TraceWhole + facts.TraceNew + facts.TraceUnknown
	if turns == 0 || s.Sessions == 0 {
		return "", ""
	}
	of := plural.GroupedOf(turns, "later turn") + " of the trace"
	switch added := facts.TraceNew + facts.TraceUnknown; {
	case s.TraceRows != "":
		return s.TraceRows, fmt.Sprintf("--trace-rows %s: %s", s.TraceRows, map[string]string{
			string(dataset.RowsWhole): "the row of a later turn is the whole prompt",
			string(dataset.RowsNew):   "the row of a later turn is put after the history",
		}[s.TraceRows])
	case added == 0:
		return string(dataset.RowsWhole), of + ": each row is the whole prompt, since its hash_ids extend the turn before; the history is not sent again (--trace-rows new puts it before them)"
	case facts.TraceWhole == 0 && facts.TraceNew == 0:
		return string(dataset.RowsNew), of + ": each row is put after the history, since no hash_ids tell what it holds (--trace-rows whole sends it alone)"
	case facts.TraceWhole == 0:
		return string(dataset.RowsNew), of + ": each row is put after the history, since its hash_ids do not extend the turn before (--trace-rows whole sends it alone)"
	default:
		return "mixed", fmt.Sprintf("%s: %s are whole prompts, since their hash_ids extend the turn before, and %s are put after the history; --trace-rows whole or new takes all alike", of, plural.Grouped(facts.TraceWhole), plural.Grouped(added))
	}
}

// limit keeps the number of entries that --num-dataset-entries sets.
func (e *Data) limit(s *settings.Settings) {
	if n := s.DatasetEntries; n > e.Len() {
		e.Notes = append(e.Notes, fmt.Sprintf("--num-dataset-entries %d: there are only %d", n, e.Len()))
	} else if n > 0 {
		e.Source = workload.Limit(e.Source, n, s.SendOrder)
	}
}

func openSet(ctx context.Context, s *settings.Settings, getenv func(string) string, o dataset.Options) (set *dataset.Set, err error) {
	if s.NamesDataset() {
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
func readTensors(path string, shapes map[string][]int64) (*Data, error) {
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
		if raw[f.Name()], err = regular.ReadFile(context.Background(), filepath.Join(path, f.Name()), maxTensorBytes); err != nil {
			return nil, fmt.Errorf("--input-data: %w", err)
		}
	}
	if len(raw) == 0 {
		return nil, fmt.Errorf("--input-data %s: the folder holds no file", path)
	}
	return &Data{Source: workload.List{{Raw: raw, Shapes: shapes}}, Close: func() error { return nil }}, nil
}

// shaped is a source whose entries have those shapes.
type shaped struct {
	workload.Source
	shapes map[string][]int64
}

// At implements workload.Source.
func (s shaped) At(k int) (workload.Entry, error) {
	e, err := s.Source.At(k)
	e.Shapes = s.shapes
	return e, err
}

// spreadOverModels returns src with a model for each entry, where there are several.
func spreadOverModels(s *settings.Settings, src workload.Source) (workload.Source, error) {
	if len(s.Models) == 0 {
		return src, nil
	}
	all, err := workload.Models(src, workload.ModelChoice{
		Names: s.Models, Random: s.ModelChoice == workload.RandomModels, Seed: s.Seed, Batch: s.BatchSize,
		Once: s.OneRound || s.Measurement.All || s.FixedSchedule || s.Sessions > 0,
	})
	if err != nil {
		return nil, fmt.Errorf("-m %s: %w", strings.Join(s.Models, ","), err)
	}
	return all, nil
}
