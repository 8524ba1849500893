package diff

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/export"
)

// A Config says how to read runs. Both sides must be read with the same one.
type Config struct {
	// Measure says how requests are measured.
	Measure analyze.Config
	// Series keeps the values of all requests and gaps, 8 bytes each, which a
	// comparison of one run with one run needs. Without it, a run is what its
	// statistics are.
	Series bool
}

// A Run is what is compared of one recorded run.
type Run struct {
	Name     string // as the user gave it
	Header   *export.Run
	Model    string
	Levels   []Level
	Warnings []export.Warning

	series     bool
	firstStart uint64 // of all requests
	requests   int
}

// Read reads a run to its end. The error is that of the reader, of ctx or of
// the tokenizer; the Run is never nil and holds what could be read.
func Read(ctx context.Context, name string, r export.Reader, cfg Config) (*Run, error) {
	header := r.Run()
	run := &Run{Name: name, Header: header, series: cfg.Series}
	if header.Meta != nil {
		run.Model = header.Meta.Model
	}
	meter := analyze.NewMeter(header, cfg.Measure)
	var levels []builder
	var err error
	for r.Next() {
		if run.requests&1023 == 0 && ctx.Err() != nil {
			err = context.Cause(ctx)
			break
		}
		q := r.Request()
		i := r.Experiment()
		if i < 0 || i >= len(header.Experiments) {
			err = fmt.Errorf("request %d belongs to experiment %d, but the file has %d", run.requests, i, len(header.Experiments))
			break
		}
		for len(levels) <= i {
			levels = append(levels, builder{})
		}
		if run.Model == "" && run.requests == 0 {
			run.Model = modelOf(q)
		}
		if run.firstStart == 0 || q.StartNS != 0 && q.StartNS < run.firstStart {
			run.firstStart = q.StartNS
		}
		run.requests++
		m, measureErr := meter.Measure(q)
		if measureErr != nil {
			err = fmt.Errorf("request %d: %w", q.ID, measureErr)
			break
		}
		levels[i].add(q, m)
	}
	if err == nil {
		err = r.Err()
	}
	for len(levels) < len(header.Experiments) {
		levels = append(levels, builder{})
	}
	for i := range levels {
		counted, excluded := export.Skipped(r, i)
		levels[i].unreadable = counted + excluded
		run.Levels = append(run.Levels, levels[i].finish(&header.Experiments[i], cfg.Series))
	}
	run.Warnings = slices.Clone(r.Warnings())
	return run, err
}

// sameAs reports whether two files hold the same run: no two start in the same
// nanosecond.
func (r *Run) sameAs(o *Run) bool {
	return r.requests > 0 && r.requests == o.requests && r.firstStart == o.firstStart
}

// clockSteps are the steps of the wall clock that the recorder saw.
func (r *Run) clockSteps() int {
	n := 0
	if m := r.Header.Meta; m != nil {
		for _, w := range m.Warnings {
			if strings.HasPrefix(w, clockStepWarning) {
				n++
			}
		}
	}
	return n
}

// How the warnings of pa-record start that say something about comparability.
const (
	clockStepWarning  = "the wall clock was set by "
	saturationWarning = "the client may be the limit: "
)

// modelOf returns the model that the payload of an OpenAI request names, for
// files without metadata; "" when there is none.
func modelOf(q *export.Request) string {
	v, ok := q.Inputs.Get("payload")
	if !ok {
		return ""
	}
	var body struct {
		Model string `json:"model"`
	}
	if json.Unmarshal(v.Data, &body) != nil {
		return ""
	}
	return body.Model
}
