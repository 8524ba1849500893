package genaibench

import (
	"fmt"
	"math"
	"strconv"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// genai-bench writes an object for each level:
//
//	{"aggregated_metrics":{"scenario":S,"num_concurrency":N,"iteration_type":S,"num_requests":N,…,"stats":{"ttft":{"min":T,…,"p99":T},…}},
//	 "individual_request_metrics":[{"ttft":T,"tpot":T,"e2e_latency":T,"num_input_tokens":N,"num_output_tokens":N,…,
//	                                "error_code":N|null,"error_message":S|null},…],
//	 "_time_unit":"s"|"ms"}
//
// Files without _time_unit have seconds. A request that failed has an error code and no other value.

const (
	toolName     = "genai-bench"
	formatName   = toolName + "'s result of a level"
	metadataName = "experiment_metadata.json"
)

// ResultFile describes the files of genai-bench.
func ResultFile() resultfile.Kind {
	return resultfile.Kind{Name: formatName, Sniff: sniff, Open: open, Stated: []resultfile.Statement{statement()}, Beside: []resultfile.Neighbour{
		{
			Is: func(o *resultfile.Outline) bool {
				return !o.Array && o.Has("cmd", "benchmark_version", "api_backend")
			},
			What: metadataName + " of " + toolName, Holds: "settings", Give: "a file with a concurrency in its name from the same folder",
		},
	}}
}

func sniff(o *resultfile.Outline) bool {
	return !o.Array && o.First == "aggregated_metrics" && o.HasInner("scenario", "num_concurrency")
}

type fileRequest struct {
	TTFT      *float64 `json:"ttft"`
	TPOT      *float64 `json:"tpot"`
	Latency   *float64 `json:"e2e_latency"`
	Input     *int64   `json:"num_input_tokens"`
	Output    *int64   `json:"num_output_tokens"`
	Reasoning *int64   `json:"num_reasoning_tokens"`
	ErrorCode *int     `json:"error_code"`
	Message   *string  `json:"error_message"`
}

// open reads the file except its requests.
func open(f *resultfile.File) (*export.Run, resultfile.Source, error) {
	c, err := f.Start()
	if err != nil {
		return nil, nil, err
	}
	s := &source{unit: "s"}
	run := &export.Run{
		Experiments: make([]export.Experiment, 1),
		Meta: &export.RunMeta{
			Schema: export.Schema, Tool: toolName,
			Import: &export.Import{Format: formatName, Lacks: []export.Lack{
				{Part: export.PartStarts, Why: "genai-bench does not keep when requests were sent"},
				{Part: export.PartGaps, Why: "genai-bench keeps the first token and the end of a request"},
				{Part: export.PartLast, Why: "genai-bench keeps the first token and the end of a request"},
				{Part: export.PartTexts, Why: "genai-bench keeps no texts"},
				{Part: export.PartInputs, Why: "genai-bench does not keep what was sent"},
			}},
			Warnings: []string{"genai-bench's tpot divides the time from the first token to the end of the stream, which can come after the last token"},
		},
	}
	begin, kept := int64(0), int64(0)
	err = resultfile.EachMember(c, "the document", func(name string) error {
		b, err := c.Peek()
		if err != nil {
			return err
		}
		switch {
		case name == "individual_request_metrics" && b == '[':
			begin = c.Pos
			kept, err = resultfile.CountElements(c)
			return err
		case (name == "aggregated_metrics" && b == '{') || name == "_time_unit":
			v, err := c.Value("member " + strconv.Quote(name))
			if err != nil {
				return err
			}
			if name == "_time_unit" {
				_ = resultfile.Decode(v, &s.unit) // any other value is refused below
				return nil
			}
			s.stored, err = resultfile.ParseSummary(f.Name, v)
			return err
		}
		return resultfile.Skip(c)
	})
	switch {
	case err != nil:
		return nil, nil, err
	case s.unit != "s" && s.unit != "ms":
		return nil, nil, fmt.Errorf("%s: _time_unit: expected \"s\" or \"ms\", found %q", f.Name, s.unit)
	case begin == 0 || kept == 0 || s.stored == nil:
		return nil, nil, resultfile.NoRequests(fmt.Errorf("%s: is a result of genai-bench without requests; give the file with individual_request_metrics", f.Name))
	}
	c.Release()
	s.load(run)
	if errorRateWrong(s.stored.Figures["num_error_requests"], s.stored.Figures["error_rate"]) {
		run.Meta.Warnings = append(run.Meta.Warnings, wrongErrorRate)
	}
	run.Meta.Import.Results = []map[string]string{{"scenario": s.stored.Texts["scenario"]}}
	if d, ok := s.stored.Figures["run_duration"]; ok {
		run.Meta.Import.Results[0]["duration"] = resultfile.Digits(d)
	}
	k := resultfile.KeptLevel{Kept: kept, Stated: -1, Rate: math.NaN()}
	if n, ok := s.stored.Figures["num_requests"]; ok && n >= 0 && n < 1<<53 {
		k.Stated = int64(n)
	}
	s.stored.Kept = k
	resultfile.LackRequests(run, []resultfile.KeptLevel{k})
	s.C = f.Cursor(begin+1, jsonscan.DefaultChunk)
	return run, s, nil
}

// wrongErrorRate says what is wrong with a share of errors.
const wrongErrorRate = "genai-bench computes error_rate before it counts the requests, so it states 0 although requests failed"

// errorRateWrong reports whether the share of errors is wrong.
func errorRateWrong(errors, rate float64) bool { return errors > 0 && rate == 0 }

// source is the source of the requests of a level.
type source struct {
	resultfile.Requests
	unit   string // of times: "s" or "ms"
	stored *resultfile.Summary

	totals totals
}

// load takes the load from the statistics. A run over sizes of batches has a concurrency, too: 1.
func (s *source) load(run *export.Run) {
	resultfile.SetLoad(run, export.ModeConcurrency, s.stored.Figures["num_concurrency"])
	delete(s.stored.Figures, "num_concurrency")
	delete(s.stored.Figures, "batch_size")
}

// Next implements resultfile.Source.
func (s *source) Next(r *export.Request) (int, error) {
	var q fileRequest
	at, err := s.NextRequest(r, &q)
	if err != nil {
		return 0, err
	}
	if bad := s.request(r, &q); bad != nil {
		bad.At = at
		return 0, bad
	}
	s.totals.add(&q)
	return 0, nil
}

// request fills in r.
func (s *source) request(r *export.Request, q *fileRequest) *resultfile.BadEntry {
	r.StartNS, r.StartSource = resultfile.SyntheticStart, export.SourceUser
	r.Status, r.Phase = export.StatusOK, export.PhaseMeasured
	r.Stated = &export.Stated{InputTokens: q.Input, OutputTokens: q.Output}
	if q.Reasoning != nil && *q.Reasoning > 0 {
		r.Stated.ReasoningTokens = q.Reasoning
	}
	if q.ErrorCode != nil {
		code := *q.ErrorCode
		if code < 300 || code > 599 {
			code = 0
		}
		resultfile.Fail(r, code, export.TextOf(q.Message))
		r.Stated.ErrorType = strconv.Itoa(*q.ErrorCode)
		return nil
	}
	if q.Latency == nil {
		return &resultfile.BadEntry{Msg: "e2e_latency is missing"}
	}
	whole, ok := s.nanoseconds(*q.Latency)
	if !ok {
		return resultfile.BadTime(0, "e2e_latency", *q.Latency)
	}
	if q.TTFT != nil && *q.TTFT != *q.Latency {
		first, ok := s.nanoseconds(*q.TTFT)
		if !ok || first > whole {
			return resultfile.BadTime(0, "ttft", *q.TTFT)
		}
		resultfile.Respond(r, r.StartNS+first, nil)
	} else { // an answer that came as a whole
		r.Stated.Streamed = new(false)
	}
	resultfile.Respond(r, r.StartNS+whole, nil)
	if len(r.Responses) == 2 {
		r.Stated.Streamed = new(true)
		r.Responses[1].Final = true
	}
	return nil
}

// nanoseconds converts a time of the file.
func (s *source) nanoseconds(t float64) (ns uint64, ok bool) {
	if s.unit == "ms" {
		return resultfile.Milliseconds(t)
	}
	return resultfile.Nanoseconds(t)
}

// metrics are the metrics whose statistics Check computes again.
var metrics = [...]string{"ttft", "tpot", "e2e_latency", "num_input_tokens", "num_output_tokens"}

// totals are the values of the requests.
type totals struct {
	requests, errors int
	spreads          [len(metrics)]resultfile.Spread
}

// add adds a request.
func (t *totals) add(q *fileRequest) {
	t.requests++
	if q.ErrorCode != nil {
		t.errors++
		return
	}
	for i, v := range []*float64{q.TTFT, q.TPOT, q.Latency, resultfile.Float(q.Input), resultfile.Float(q.Output)} {
		if v != nil {
			t.spreads[i].Add(*v)
		}
	}
}

// Check compares the statistics of the file with its requests. With --warmup-ratio and --cooldown-ratio they are of a part of the
// requests, which the file does not name: then the sum of a metric divided by its mean is less than the number of requests.
func (s *source) Check(c *resultfile.SelfCheck) {
	t := &s.totals
	f := s.stored.Figures
	computed := map[string]float64{
		"num_requests": float64(t.requests), "num_error_requests": float64(t.errors), "num_completed_requests": float64(t.requests - t.errors),
	}
	const counted = "stats.e2e_latency."
	whole := math.Round(f[counted+"sum"]/f[counted+"mean"]) == float64(t.requests-t.errors)
	for i, name := range metrics {
		if whole {
			t.spreads[i].Figures(computed, s.stored, "stats."+name, statistic)
		}
	}
	c.File = s.stored.File
	s.stored.Compare(c, computed)
	if whole || s.stored.Kept.Partial() {
		s.stored.Rest(c)
		return
	}
	c.Rest([]string{"stats"}, "they leave out the first and the last requests (--warmup-ratio, --cooldown-ratio)")
}

// statistic returns a statistic as numpy computes it.
func statistic(s resultfile.Sample, name string) float64 {
	if name == "stddev" {
		name = "std"
	}
	return s.Stat(name)
}

// SummaryNames implements resultfile.Summarized.
func (s *source) SummaryNames(string) []string { return []string{metadataName} }

// UseSummary takes the model from the settings.
func (s *source) UseSummary(run *export.Run, name string, content []byte) error {
	settings, err := resultfile.ParseSummary(name, content)
	if err == nil {
		run.Meta.Model = settings.Texts["api_model_name"]
	}
	return err
}
