package infperf

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// inference-perf writes the statistics of the requests of all stages to
// summary_lifecycle_metrics.json. Both files begin with a prefix if the user chose one:
//
//	{"benchmark_time_seconds":T,"load_summary":{"count":N,…},
//	 "successes":{"count":N,"latency":{METRIC:{"mean":T,"min":T,…,"p99.9":T},…},
//	              "throughput":{…},"output_len":{…},…},
//	 "failures":{"count":N,"request_latency":{…},…}}
//
// Times are in seconds. Beside them are the same statistics of each stage, in stage_N_lifecycle_metrics.json.

const (
	requestsName = "per_request_lifecycle_metrics.json"
	summaryName  = "summary_lifecycle_metrics.json"
	stageBegin   = "stage_"
	stageEnd     = "_lifecycle_metrics.json"
	settingsName = "config.yaml"
)

var _ resultfile.Summarized = (*source)(nil)

func (s *source) SummaryNames(file string) []string {
	if prefix, ok := strings.CutSuffix(file, requestsName); ok {
		return []string{prefix + summaryName, prefix + stageBegin + "*" + stageEnd, prefix + settingsName}
	}
	return nil
}

// UseSummary implements resultfile.Summarized.
func (s *source) UseSummary(run *export.Run, name string, content []byte) error {
	if resultfile.Named(name, settingsName) {
		return s.useSettings(run, name, content)
	}
	stored, err := resultfile.ParseSummary(name, content)
	if err != nil {
		return err
	}
	if _, ok := stored.Figures["load_summary.count"]; !ok {
		return errors.New("is not a summary of inference-perf: it has no load_summary with a count")
	}
	if n, ok := stageOf(name); ok {
		s.useStage(run, n, stored)
		return nil
	}
	s.totals = &fileTotals{stored: stored, first: math.Inf(1)}
	_ = stored.CompareKept(run, []string{"load_summary.count"}, "successes.throughput.requests_per_sec", func() (int64, error) {
		return resultfile.CountElements(s.file.Cursor(s.begin-1, resultfile.ColumnChunk)) // next reports the error
	})
	return nil
}

// fileTotals are the values of the requests, to be compared with the summary.
type fileTotals struct {
	stored      *resultfile.Summary
	ok, failed  int
	first, last float64 // the earliest start, the latest end

	latency, perToken, ttft, tpot, gaps, output, failedLatency resultfile.Spread

	early bool // a request is in the layout before 0.4, whose formulas are others
}

// add adds the times and tokens of a request.
func (t *fileTotals) add(q *fileRequest) {
	if q.Start == nil || q.End == nil {
		t.early = true
		return
	}
	latency := *q.End - *q.Start
	t.first, t.last = min(t.first, *q.Start), max(t.last, *q.End)
	if q.Error != nil {
		t.failed++
		t.failedLatency.Add(latency)
		return
	}
	t.ok++
	if q.Info == nil || q.Info.Response == nil || q.Info.Response.OutputTokens == nil {
		t.early = true
		return
	}
	m := q.Info.Response
	n := float64(*m.OutputTokens)
	t.latency.Add(latency)
	t.output.Add(n)
	if n > 0 {
		t.perToken.Add(latency / n)
	} else {
		t.perToken.Add(0)
	}
	times := m.TokenTimes
	if len(times) < 2 {
		return
	}
	t.ttft.Add(times[0] - *q.Start)
	if n > 1 {
		t.tpot.Add((times[len(times)-1] - times[0]) / (n - 1))
	}
	for i := 1; i < len(times); i++ {
		t.gaps.Add(times[i] - times[i-1])
	}
}

// compare compares the stored figures with the totals.
func (t *fileTotals) compare(c *resultfile.SelfCheck) {
	c.File = t.stored.File
	computed := map[string]float64{
		"load_summary.count": float64(t.ok + t.failed), "successes.count": float64(t.ok), "failures.count": float64(t.failed),
	}
	if t.stored.Kept.Partial() { // the other figures are of all requests
		t.stored.Compare(c, computed)
		return
	}
	seconds := t.last - t.first
	if t.ok+t.failed > 0 {
		computed["benchmark_time_seconds"] = seconds
	}
	if !t.early {
		for metric, values := range map[string]*resultfile.Spread{
			"successes.latency.request_latency": &t.latency, "successes.latency.normalized_time_per_output_token": &t.perToken,
			"successes.latency.time_per_output_token": &t.tpot, "successes.latency.time_to_first_token": &t.ttft,
			"successes.latency.inter_token_latency": &t.gaps, "successes.output_len": &t.output, "failures.request_latency": &t.failedLatency,
		} {
			values.Figures(computed, t.stored, metric, resultfile.Sample.Stat)
		}
		if seconds > 0 {
			computed["successes.throughput.requests_per_sec"] = float64(t.ok) / seconds
			computed["successes.throughput.output_tokens_per_sec"] = t.output.Sum.Value() / seconds
		}
	}
	t.stored.Compare(c, computed)
}

// oneLevel is the warning about requests whose stages are not known.
const oneLevel = formatName + " does not say which stage a request belongs to: all are in one level"

// A fileStage is a stage of the load in the settings.
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
	case len(l.Stages) > 1 && len(l.Stages) == len(run.Experiments): // the files of the stages told them apart
		for i := range l.Stages {
			setLoad(&run.Experiments[i], mode, value(&l.Stages[i]))
		}
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
			setLoad(&run.Experiments[i], mode, value(&l.Stages[i]))
		}
		s.knowStages(run)
	}
	return nil
}

// setLoad sets the load of a level, if the value can be one.
func setLoad(e *export.Experiment, mode string, v float64) {
	if v > 0 && !math.IsInf(v, 0) {
		e.Mode, e.Value = mode, resultfile.Digits(v)
	}
}

// A stageFile is what the file of a stage states about its requests.
type stageFile struct {
	requests    int
	seconds     float64 // from the first start to the last end; NaN if not stated
	rate        float64 // NaN if not stated
	concurrency float64 // NaN if not stated
}

// stageOf returns the number of the stage whose statistics a file with this name holds.
func stageOf(name string) (n int, ok bool) {
	name = filepath.Base(name)
	_, name, ok = strings.Cut(name, stageBegin)
	digits, _, is := strings.Cut(name, stageEnd)
	n, err := strconv.Atoi(digits)
	return n, ok && is && err == nil && n >= 0
}

// useStage takes the file of stage n. When the files of all stages are there, so that their numbers of requests add up to the
// requests of the run, each stage is a level.
func (s *source) useStage(run *export.Run, n int, stored *resultfile.Summary) {
	figure := func(name string) float64 {
		if v, ok := stored.Figures[name]; ok {
			return v
		}
		return math.NaN()
	}
	count := figure("load_summary.count")
	if !(count >= 1 && count < math.MaxInt32) || s.file == nil {
		return
	}
	if s.files == nil {
		s.files = map[int]stageFile{}
		s.fileStarts, _ = s.starts() // next reports the error
	}
	s.files[n] = stageFile{int(count), figure("benchmark_time_seconds"), figure("load_summary.requested_rate"), figure("load_summary.concurrency")}
	first, ok := s.splitByFiles()
	if !ok {
		return
	}
	s.stages, run.Experiments = first, make([]export.Experiment, len(s.files))
	for i, number := range slices.Sorted(maps.Keys(s.files)) {
		if x := s.files[number]; x.concurrency > 0 { // written for a load of this kind only
			setLoad(&run.Experiments[i], export.ModeConcurrency, x.concurrency)
		} else {
			setLoad(&run.Experiments[i], export.ModeRequestRate, x.rate)
		}
	}
	s.knowStages(run)
}

// splitByFiles returns the index of the first request of each stage after the first. ok is false if the files of the stages
// and the requests contradict each other, or if a stage has no file.
func (s *source) splitByFiles() (first []int, ok bool) {
	sum := 0
	for _, x := range s.files {
		sum += x.requests
	}
	if sum != len(s.fileStarts) {
		return nil, false
	}
	order := slices.DeleteFunc(slices.Clone(s.fileStarts), math.IsNaN)
	slices.Sort(order)
	var begins []float64
	n := 0
	for i, number := range slices.Sorted(maps.Keys(s.files)) {
		x := s.files[number]
		if x.requests > len(order)-n {
			return nil, false
		}
		if i > 0 {
			begins = append(begins, order[n])
		}
		n += x.requests
		if order[n-1]-order[n-x.requests] > x.seconds {
			return nil, false
		}
	}
	return firstOfStages(s.fileStarts, begins)
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
	return firstOfStages(starts, begins)
}

// firstOfStages returns the index of the first request of each stage after the first, given the times at which these stages
// begin. ok is false if the file does not hold one stage after the other.
func firstOfStages(starts, begins []float64) (first []int, ok bool) {
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
