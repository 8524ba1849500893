package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/dataset"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
	"github.com/pa-tools/pa/pkg/recorder/workload/synth"
)

// dataFacts are what a forecast needs to know of the input data.
type dataFacts struct {
	entries       int             // 0: unknown
	about         bool            // entries is an estimate
	why           string          // why entries is unknown
	input, output recorder.Figure // tokens of a request, on average
	inputBytes    float64         // of a request's prompt, on average; NaN if unknown
	thinking      time.Duration   // all think times together
}

const (
	// mostSampled and mostSampledBytes bound the entries that a forecast looks at.
	mostSampled      = 256
	mostSampledBytes = 16 << 20
	// mostDryBytes bounds the files that --dry-run reads.
	mostDryBytes = 32 << 20
	// textPerToken is the length in bytes of a token of usual text.
	textPerToken = 4
)

// dataFacts looks at src, the opened input data, or if that is nil at what the flags say.
func (s *settings) dataFacts(src workload.Source) *dataFacts {
	d := &dataFacts{output: recorder.Figure{Basis: "the requests ask for no length of the answers"}}
	if src != nil {
		d.entries = src.Len()
	}
	switch {
	case s.inputLengths != nil:
		d.madeUp(s)
	case src != nil:
		d.sample(src)
	}
	api, known := render.APIOf(s.endpointPath())
	switch {
	case s.ServiceKind == kindOpenAI && (!known || api.LengthMembers() == nil):
		d.output = recorder.Figure{Basis: "answers of this endpoint have no length in tokens"}
	case s.template != nil:
		d.output = recorder.Figure{Basis: "--request-template decides about the answers"}
	case s.outputLengths != nil:
		d.output = recorder.Figure{Value: s.outputLengths.MeanLength(), Bound: recorder.AtMost, Basis: "--output-tokens " + s.OutputLaw}
		if s.ExactOutput {
			d.output.Bound = lengthBound(s.outputLengths)
		}
	case s.noOutputLength:
		d.output = recorder.Figure{Basis: "the requests ask for no length of the answers"}
	case s.extraLength != "":
		if n := lengthIn([]byte(s.ExtraBody), []string{s.extraLength}); n > 0 {
			d.output = recorder.Figure{Value: n, Bound: recorder.AtMost, Basis: s.extraLength + " of --extra-body"}
		}
	}
	if s.Sessions > 0 {
		d.input = d.input.Add(recorder.Figure{Bound: recorder.AtLeast, Basis: "without the history of conversations"})
	}
	return d
}

// lengthBound says how well the mean of a distribution tells the lengths that are drawn.
func lengthBound(law synth.LengthDistribution) recorder.Bound {
	switch law := law.(type) {
	case synth.Fixed:
		return recorder.Exact
	case synth.Normal:
		if law.Stddev == 0 {
			return recorder.Exact
		}
	}
	return recorder.About
}

// madeUp sets the facts of made-up prompts.
func (d *dataFacts) madeUp(s *settings) {
	texts := max(1, s.BatchTexts)
	if s.ranks() {
		texts = 1 + max(1, s.BatchTexts)
	}
	d.input = recorder.Figure{Value: s.inputLengths.MeanLength()*float64(texts) + float64(s.PrefixTokens), Bound: lengthBound(s.inputLengths), Basis: "prompts of " + s.InputLaw + " tokens"}
	d.inputBytes = d.input.Value * textPerToken
	if s.hasMedia() {
		d.inputBytes = math.NaN()
	}
	if s.MadeSessions == 0 {
		if d.entries == 0 {
			d.entries = s.DatasetEntries
		}
		return
	}
	if d.entries == 0 {
		d.entries, d.about = int(math.Round(float64(s.MadeSessions)*s.TurnsMean)), s.TurnsStddev > 0 || s.TurnsMean != math.Trunc(s.TurnsMean)
	}
	ratio := 1.0
	if s.DelayRatio != nil {
		ratio = *s.DelayRatio
	}
	d.thinking = time.Duration(float64(max(d.entries-s.MadeSessions, 0)) * s.DelayMeanMS * ratio * float64(time.Millisecond))
}

// sample looks at entries at equal distances, and takes them for all.
func (d *dataFacts) sample(src workload.Source) {
	n := min(src.Len(), mostSampled)
	var seen, withLength, bytes int
	var tokens, lengths float64
	var thinking time.Duration
	counted, prompts := true, true
	for i := 0; i < n && bytes < mostSampledBytes; i++ {
		e, err := src.At(i * src.Len() / n)
		if err != nil {
			break // the recorder reports it
		}
		one := lengthsOf(&e)
		seen++
		bytes += one.bytes
		tokens += one.tokens
		counted, prompts = counted && one.counted, prompts && one.prompt
		if one.output > 0 {
			withLength++
			lengths += one.output
		}
		thinking += e.Delay
	}
	if seen == 0 {
		d.inputBytes = math.NaN()
		return
	}
	all := float64(src.Len()) / float64(seen)
	d.thinking = time.Duration(float64(thinking) * all)
	d.inputBytes = float64(bytes) / float64(seen)
	basis := plural.GroupedOf(seen, "row")
	if seen < src.Len() {
		basis += " of " + plural.Grouped(src.Len())
	}
	if prompts {
		how := fmt.Sprintf("%s, at %d bytes a token", basis, textPerToken)
		if counted {
			how = basis
		}
		d.input = recorder.Figure{Value: tokens / float64(seen), Bound: recorder.About, Basis: how}
	} else {
		d.input = recorder.Figure{Basis: "the input data are not prompts"}
	}
	if withLength == seen {
		d.output = recorder.Figure{Value: lengths / float64(withLength), Bound: recorder.AtMost, Basis: "the lengths that " + basis + " ask for"}
	}
}

// entryLengths are the lengths of an entry.
type entryLengths struct {
	bytes   int
	tokens  float64 // of the prompt
	output  float64 // tokens that it asks for; 0: none
	counted bool    // tokens is no estimate
	prompt  bool    // the entry is a prompt, or the body of a request
}

// lengthsOf returns the lengths of an entry.
func lengthsOf(e *workload.Entry) (l entryLengths) {
	if p := e.Prompt; p != nil && p.Body == nil {
		l.prompt = true
		l.bytes = len(p.Messages) + len(p.System) + len(p.Text)
		for _, text := range p.More {
			l.bytes += len(text)
		}
		l.tokens = float64(l.bytes) / textPerToken
		if l.counted = p.IDs != nil && len(p.Text) == l.bytes; l.counted {
			l.tokens = float64(len(p.IDs))
		}
		for _, m := range p.Media {
			l.bytes += len(m.URL)
		}
		l.output = float64(p.MaxTokens)
		return l
	}
	bodies := [][]byte{}
	if e.Prompt != nil {
		bodies = append(bodies, e.Prompt.Body)
	} else if v, ok := e.Values.Get("payload"); ok {
		var all []json.RawMessage
		if json.Unmarshal(v.Data, &all) == nil {
			for _, body := range all {
				bodies = append(bodies, body)
			}
		}
	}
	for _, body := range bodies {
		l.prompt = true
		l.bytes += len(body)
		l.tokens += float64(len(body)) / textPerToken
		l.output += lengthIn(body, []string{"max_tokens", "max_completion_tokens", "max_output_tokens"})
	}
	if !l.prompt {
		for _, f := range e.Values {
			l.bytes += len(f.Value.Data)
		}
		for _, raw := range e.Raw {
			l.bytes += len(raw)
		}
	}
	return l
}

// lengthIn returns the first of the members of a request's body that is a number; 0 if there is none.
func lengthIn(body []byte, members []string) float64 {
	var all map[string]json.RawMessage
	if json.Unmarshal(body, &all) != nil {
		return 0
	}
	for _, name := range members {
		var n float64
		if v, ok := all[name]; ok && json.Unmarshal(v, &n) == nil {
			return n
		}
	}
	return 0
}

// dryData returns the facts of the input data for --dry-run, which asks no other machine, reads no
// stream and no more than mostDryBytes. It sets the level of a fixed schedule.
func (s *settings) dryData(ctx context.Context) *dataFacts {
	src, release, err := s.drySource(ctx)
	if err != nil {
		d := s.dataFacts(nil)
		d.why, d.inputBytes = err.Error(), math.NaN()
		d.input = recorder.Figure{Basis: d.why}
		if !d.output.Known() {
			d.output.Basis = d.why
		}
		return d
	}
	defer release()
	return s.dataFacts(src)
}

// drySource opens the input data; a nil source is made up.
func (s *settings) drySource(ctx context.Context) (src workload.Source, release func(), err error) {
	none := func() {}
	switch {
	case s.inputLengths != nil:
		return nil, none, nil
	case s.namesDataset():
		return nil, none, fmt.Errorf("--dataset %s is read when the run begins", s.Layout)
	case s.readsFiles():
		return s.dryFiles(ctx)
	case s.ServiceKind == kindTriton:
		return nil, none, errors.New("tensors are made up when the model is known")
	}
	e := &inputData{}
	if err := builtinPrompts(e, s, workload.Fill{}); err != nil {
		return nil, none, err
	}
	src, err = spreadOverModels(s, e.Source)
	return src, none, err
}

// dryFiles opens the files of --input-data.
func (s *settings) dryFiles(ctx context.Context) (src workload.Source, release func(), err error) {
	if err := readQuickly(s.InputData); err != nil {
		return nil, nil, err
	}
	if s.ranks() || s.BatchTexts > 1 || s.BatchImages > 1 {
		return nil, nil, errors.New("the input data is read when the run begins")
	}
	o := s.datasetOptions()
	o.Texts, o.Sessions, o.Spool.MaxBytes = lengthTexts{}, s.Sessions > 0, mostDryBytes
	if s.outputLengths == nil && !s.noOutputLength {
		o.Count = func(text string) int { return len(text)/textPerToken + 1 }
	}
	set, err := dataset.Open(ctx, s.InputData, o)
	if err != nil {
		return nil, nil, fmt.Errorf("--input-data: %w", err)
	}
	e := &inputData{Source: set}
	e.limit(s)
	src = e.Source
	if s.DelayRatio != nil {
		src = workload.Map(src, workload.ScaleThinkTime(*s.DelayRatio))
	}
	if src, err = spreadOverModels(s, src); err == nil && s.FixedSchedule {
		src, err = s.schedule(src)
	}
	if err != nil {
		return nil, nil, errors.Join(err, set.Close())
	}
	return src, func() { _ = set.Close() }, nil
}

// readQuickly returns why files cannot be read for a dry run: they are missing, streams or large.
func readQuickly(paths []string) error {
	total := int64(0)
	for _, path := range paths {
		if path == "-" {
			return errors.New("--input-data -: standard input is read when the run begins")
		}
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("--input-data: %w", err)
		}
		files := []os.FileInfo{info}
		if info.IsDir() {
			inside, err := os.ReadDir(path)
			if err != nil {
				return fmt.Errorf("--input-data: %w", err)
			}
			files = nil
			for _, f := range inside {
				if info, err := os.Stat(filepath.Join(path, f.Name())); err == nil && !info.IsDir() && dataset.IsDataFile(f.Name()) {
					files = append(files, info)
				}
			}
		}
		for _, info := range files {
			if !info.Mode().IsRegular() {
				return fmt.Errorf("--input-data %s is no regular file, and is read when the run begins", path)
			}
			if total += info.Size(); total > mostDryBytes {
				return fmt.Errorf("--input-data %s is large, and is read when the run begins", path)
			}
		}
	}
	return nil
}

// lengthTexts are made-up texts of which only the length matters. It implements dataset.Texts.
type lengthTexts struct{}

// Text implements dataset.Texts.
func (lengthTexts) Text(_ uint64, tokens int) (string, []uint32, error) {
	return strings.Repeat("text ", tokens)[:max(textPerToken*tokens, 0)], make([]uint32, tokens), nil
}

// Blocks implements dataset.Texts.
func (t lengthTexts) Blocks(_ []int64, _, tokens int) (string, []uint32, error) {
	return t.Text(0, tokens)
}
