package infperf

import (
	"fmt"
	"math"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// oneLevel is the warning about requests whose stages are not known.
const oneLevel = formatName + " does not say which stage a request belongs to: all are in one level"

// An fileStage is a stage of the load in the settings.
type fileStage struct {
	Rate        float64  `yaml:"rate"`
	Duration    float64  `yaml:"duration"` // in seconds
	Requests    *float64 `yaml:"num_requests"`
	Concurrency float64  `yaml:"concurrency_level"`
}

// requests returns how many requests the stage sends; ok is false if the settings do not say so.
// inference-perf draws the times of a rate's requests, not their number.
func (x *fileStage) requests() (n int, ok bool) {
	v := x.Rate * x.Duration
	if x.Requests != nil {
		v = *x.Requests
	}
	if !(v >= 1 && v < math.MaxInt32) {
		return 0, false
	}
	return int(v), true
}

// useSettings stores the load in run. It makes each of several stages a level if the requests show
// which stage they belong to.
func (s *source) useSettings(run *export.Run, name string, content []byte) error {
	var settings struct {
		Load struct {
			Type     string      `yaml:"type"`
			Interval float64     `yaml:"interval"` // seconds between stages
			Stages   []fileStage `yaml:"stages"`
		} `yaml:"load"`
		Server struct {
			Model string `yaml:"model_name"`
			URL   string `yaml:"base_url"`
		} `yaml:"server"`
	}
	if err := yaml.Unmarshal(content, &settings); err != nil {
		return fmt.Errorf("%s: is not the YAML of inference-perf's settings: %w", name, err)
	}
	if m := run.Meta; m.Model == "" {
		m.Model = settings.Server.Model
	}
	if m := run.Meta; m.URL == "" {
		m.URL = resultfile.WithoutSecrets(settings.Server.URL)
	}
	l := &settings.Load
	mode, value := export.ModeRequestRate, func(x *fileStage) float64 { return x.Rate }
	switch l.Type {
	case "concurrent":
		mode, value = export.ModeConcurrency, func(x *fileStage) float64 { return x.Concurrency }
	case "constant", "poisson":
	default:
		return nil
	}
	switch {
	case len(l.Stages) == 1:
		resultfile.SetLoad(run, mode, value(&l.Stages[0]))
		s.knowStages(run)
	case len(l.Stages) > 1 && s.file != nil:
		starts, err := s.starts()
		if err != nil {
			return nil // next reports the error
		}
		first, ok := stageStarts(starts, l.Stages, l.Interval)
		if !ok {
			return nil
		}
		s.stages = first
		run.Experiments = make([]export.Experiment, len(l.Stages))
		for i := range l.Stages {
			if v := value(&l.Stages[i]); v > 0 && !math.IsInf(v, 0) {
				run.Experiments[i].Mode, run.Experiments[i].Value = mode, resultfile.Digits(v)
			}
		}
		s.knowStages(run)
	}
	return nil
}

// knowStages removes the warning that stages are not known.
func (s *source) knowStages(run *export.Run) {
	run.Meta.Warnings = slices.DeleteFunc(run.Meta.Warnings, func(w string) bool { return w == oneLevel })
}

// starts returns the times at which the requests of the file started, in its order; NaN for an
// unknown one.
func (s *source) starts() ([]float64, error) {
	c := s.file.Cursor(s.begin, resultfile.ColumnChunk)
	var all []float64
	for {
		more, err := c.Elem(len(all) == 0)
		if err != nil || !more {
			return all, err
		}
		v, err := c.Value("the request")
		if err != nil {
			return nil, err
		}
		var q struct {
			Start *float64 `json:"start_time"`
		}
		start := math.NaN()
		if resultfile.Decode(v, &q) == nil && q.Start != nil {
			start = *q.Start
		}
		all = append(all, start)
	}
}

// stageStarts returns the index of the first request of each stage after the first. A stage begins
// an interval after all requests of the stage before have ended. stageStarts tells the stages apart
// by their numbers of requests, if the settings and the file agree on the sum. Else it looks for
// the intervals, one between two stages. ok is false if it finds neither, or if the file does not
// hold one stage after the other.
func stageStarts(starts []float64, stages []fileStage, interval float64) (first []int, ok bool) {
	order := slices.DeleteFunc(slices.Clone(starts), math.IsNaN)
	slices.Sort(order)
	var begins []float64 // of the stages after the first
	n, known := 0, len(order) == len(starts)
	for i := range stages {
		if i > 0 && known && n < len(order) {
			begins = append(begins, order[n])
			known = order[n]-order[n-1] >= 0.5*interval
		}
		m, has := stages[i].requests()
		n, known = n+m, known && has
	}
	if !known || n != len(order) {
		begins = nil
		for i := 1; i < len(order); i++ {
			if interval > 0 && order[i]-order[i-1] >= 0.9*interval {
				begins = append(begins, order[i])
			}
		}
	}
	if len(begins) != len(stages)-1 {
		return nil, false
	}
	at := 0
	for i, start := range starts {
		stage, found := slices.BinarySearch(begins, start)
		if found {
			stage++
		}
		if math.IsNaN(start) {
			stage = at
		}
		if stage < at {
			return nil, false
		}
		for ; at < stage; at++ {
			first = append(first, i)
		}
	}
	return first, len(first) == len(begins)
}
