package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/regular"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/dataset"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
)

// A payloadSource is what is sent, and what is known of it.
type payloadSource struct {
	workload.Source
	streams workload.Source     // all streams of files for Triton; nil: not from files
	notes   []string            // for the user
	meta    *export.DatasetMeta // nil: nothing but what the settings say
	close   func() error
}

// newEntries opens what is sent. in is standard input.
func newEntries(ctx context.Context, s *settings, env environment, in io.Reader) (*payloadSource, error) {
	s.tokens = &tokenCounter{ctx: ctx, s: s, env: env, note: s.note}
	if s.Tokenizer != "" || s.DefaultTokenizer != "" {
		// One that was named is needed, if only by the analysis. What became of one
		// that is taken by default is said before the load, not after it.
		if _, err := s.tokens.load(); err != nil {
			return nil, err
		}
	}
	e, err := openEntries(ctx, s, env, in)
	if err != nil {
		return nil, err
	}
	for _, src := range []*workload.Source{&e.Source, &e.streams} {
		if *src == nil {
			continue
		}
		if *src, err = adapt(*src, s, s.tokens); err != nil {
			return nil, errors.Join(err, e.close())
		}
	}
	if e.Source, err = s.spreadOverModels(e.Source); err != nil {
		return nil, errors.Join(err, e.close())
	}
	if used := s.tokens.meta(); used != nil && e.meta != nil {
		e.meta.Tokenizer = used
	}
	return e, nil
}

// openEntries opens what is sent, as it was made up or read.
func openEntries(ctx context.Context, s *settings, env environment, in io.Reader) (*payloadSource, error) {
	fill := workload.Fill{Kind: workload.FillRandom, Seed: s.Seed, StringLength: s.StringLength, StringData: s.StringData}
	e := &payloadSource{close: func() error { return nil }}
	switch {
	case s.made():
		if s.InputData[0] == "zero" {
			fill.Kind = workload.FillZero
		}
		e.Source = workload.List{{Fill: fill, Shapes: s.Shapes}}
	case len(s.InputData) > 0, s.named():
		return readEntries(ctx, s, env, in)
	case s.input != nil:
		made, err := makeEntries(s, s.tokens)
		if err != nil {
			return nil, err
		}
		if err := e.illustrate(ctx, s, made); err != nil {
			return nil, err
		}
		e.meta = &export.DatasetMeta{Entries: e.Len(), Order: s.Order}
	case s.ServiceKind == kindTriton:
		e.Source = workload.List{{Fill: fill, Shapes: s.Shapes}}
		e.notes = []string{"no --input-data: sending random tensors and strings"}
	default:
		if _, ok := render.APIOf(s.endpointPath()); !ok {
			return nil, errors.New("no --input-data, and there are no built-in requests for --endpoint " + s.Endpoint)
		}
		e.Source = workload.Builtin()
		e.notes = []string{"no --input-data: sending the built-in prompts"}
	}
	return e, nil
}

// readEntries opens files.
func readEntries(ctx context.Context, s *settings, env environment, in io.Reader) (*payloadSource, error) {
	if len(s.InputData) == 1 && s.ServiceKind == kindTriton {
		if e, err := readTensors(s.InputData[0], s.Shapes); e != nil || err != nil {
			return e, err
		}
	}
	o := s.read()
	o.Stdin, o.Texts, o.Sessions = in, s.tokens, s.Sessions > 0
	if s.output == nil && !s.noOutput {
		o.Count = s.tokens.count
	}
	if s.ranks() && len(s.InputData) == 1 {
		if queries, passages, ok := rankedFiles(s.InputData[0]); ok {
			return readRankings(ctx, s, queries, passages, o)
		}
	}
	set, err := openSet(ctx, s, env, o)
	if err != nil {
		return nil, err
	}
	if s.tokens.err != nil {
		return nil, errors.Join(s.tokens.err, set.Close())
	}
	e := &payloadSource{Source: set, notes: set.Notes(), meta: &export.DatasetMeta{Order: s.Order}, close: set.Close}
	for _, f := range set.Files() {
		e.meta.Files = append(e.meta.Files, export.DatasetFile(f))
	}
	if set.Streams() > 1 {
		e.meta.Streams = set.Streams()
		e.notes = append(e.notes, "the input data holds several streams: to a model that keeps state each is sent as a sequence, to another one only the first is sent")
		if e.Source = set.Stream(0); e.Len() == 0 {
			return nil, errors.Join(fmt.Errorf("--input-data %s: the first stream holds no request", strings.Join(s.InputData, ", ")), set.Close())
		}
	}
	if s.BatchTexts > 1 || s.BatchImages > 1 {
		if e.Source, err = workload.Batches(e.Source, s.batched()); err != nil {
			return nil, errors.Join(fmt.Errorf("--batch-size-text, --batch-size-image: %w", err), set.Close())
		}
	} else {
		e.limit(s)
	}
	e.meta.Entries = e.Len()
	e.Source = shaped{e.Source, s.Shapes}
	if s.ServiceKind == kindTriton {
		e.streams = shaped{set, s.Shapes}
	}
	return e, nil
}

// limit takes those that --num-dataset-entries asks for.
func (e *payloadSource) limit(s *settings) {
	if n := s.DatasetEntries; n > e.Len() {
		e.notes = append(e.notes, fmt.Sprintf("--num-dataset-entries %d: there are only %d", n, e.Len()))
	} else if n > 0 {
		e.Source = workload.Limit(e.Source, n, s.order)
	}
}

func openSet(ctx context.Context, s *settings, env environment, o dataset.Options) (set *dataset.Set, err error) {
	if s.named() {
		if set, err = openNamed(ctx, s, env, o); err != nil {
			err = readError(ctx, "--dataset "+s.Layout, err)
		}
		return set, err
	}
	if set, err = dataset.Open(ctx, s.InputData, o); err != nil {
		err = readError(ctx, "--input-data", err)
	}
	return set, err
}

// readError says that what a flag names could not be read. Where a signal ended
// the reading, the flag is not at fault and the error is the signal's.
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
func readTensors(path string, shapes map[string][]int64) (*payloadSource, error) {
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
	return &payloadSource{Source: workload.List{{Raw: raw, Shapes: shapes}}, close: func() error { return nil }}, nil
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

// endpointPath is the endpoint without its query.
func (s *settings) endpointPath() string {
	path, _, _ := strings.Cut(s.rawEndpoint, "?")
	return strings.Trim(path, "/")
}
