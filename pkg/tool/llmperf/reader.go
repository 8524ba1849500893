package llmperf

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// llm_perf.py writes an object with a member for each level of concurrency:
//
//	{"8":{"concurrency":8,"client_requests":N,"throughput":R,
//	      "perf_results":[{"output_text":S,"ttft":T,"e2e_latency":T,"input_tokens":N,"output_tokens":N},…],
//	      "metrics":{…}},…}
//
// T are seconds. The second version has TPOT in each result, and other figures:
// metrics_stats, rounded for a table, and rates of the whole system.

const formatName = "the results of llm_perf.py"

// ResultFile describes the files of llm_perf.py.
func ResultFile() resultfile.Kind {
	return resultfile.Kind{Name: formatName, Sniff: sniff, Open: open}
}

func sniff(o *resultfile.Outline) bool {
	if o.Array || len(o.Names) == 0 || o.Names[0] != o.First || !o.HasInner("concurrency", "client_requests") {
		return false
	}
	_, err := strconv.Atoi(o.First)
	return err == nil
}

type fileResult struct {
	Text    *string  `json:"output_text"`
	TTFT    *float64 `json:"ttft"`
	Latency *float64 `json:"e2e_latency"`
	Input   *int64   `json:"input_tokens"`
	Output  *int64   `json:"output_tokens"`
}

// A fileLevel is one level of concurrency.
type fileLevel struct {
	results int64 // offset of the '[', 0 for none
	kept    int64 // number of results
	figures map[string]float64
	level   level // of the results
}

// open reads the file up to its first request.
func open(f *resultfile.File) (*export.Run, resultfile.Source, error) {
	c, err := f.Start()
	if err != nil {
		return nil, nil, err
	}
	s := &source{}
	run := &export.Run{
		ServiceKind: new("triton"),
		Meta: &export.RunMeta{
			Schema: export.Schema, Tool: "llm_perf.py", Streaming: new(true),
			Import: &export.Import{Format: formatName, Lacks: []export.Lack{
				{Part: export.PartStarts, Why: "llm_perf.py does not keep when requests were sent"},
				{Part: export.PartGaps, Why: "llm_perf.py keeps the first response and the end of a request"},
				{Part: export.PartLast, Why: "llm_perf.py keeps the first response and the end of a request"},
				{Part: export.PartTexts, Why: "llm_perf.py keeps the text of an answer as a whole"},
				{Part: export.PartInputs, Why: "llm_perf.py does not keep what was sent"},
			}},
			Warnings: []string{"llm_perf.py ends a request when it has closed the stream, and takes the first response, even an empty one, for the first token"},
		},
	}
	err = resultfile.EachMember(c, "the document", func(name string) error {
		run.Experiments = append(run.Experiments, export.Experiment{Mode: export.ModeConcurrency, Value: levelValue(name)})
		s.all = append(s.all, &fileLevel{figures: map[string]float64{}})
		return s.all[len(s.all)-1].header(c)
	})
	if err != nil {
		return nil, nil, err
	}
	c.Release()
	var kept []resultfile.KeptLevel
	for _, l := range s.all {
		kept = append(kept, l.keptLevel())
	}
	resultfile.LackRequests(run, kept)
	s.c = f.Cursor(0, jsonscan.DefaultChunk)
	return run, s, nil
}

// header reads a level except its results.
func (l *fileLevel) header(c *jsonscan.Cursor) error {
	return resultfile.EachMember(c, "a level of concurrency", func(name string) (err error) {
		b, err := c.Peek()
		if err != nil {
			return err
		}
		switch {
		case name == "perf_results" && b == '[':
			l.results = c.Pos
			l.kept, err = resultfile.CountElements(c)
		case name == "metrics" && b == '{':
			var v []byte
			if v, err = c.Value("metrics"); err == nil {
				_ = resultfile.Decode(v, &l.figures) // other values are not compared
			}
		case b == '-' || b == 'N' || b == 'I' || '0' <= b && b <= '9':
			var v []byte
			if v, err = c.Value("member " + strconv.Quote(name)); err == nil {
				if n, problem := resultfile.ParseFloat(v); problem == nil {
					l.figures[name] = n
				}
			}
		default:
			err = resultfile.Skip(c)
		}
		return err
	})
}

// keptLevel compares the results with the number of requests that the level states.
func (l *fileLevel) keptLevel() resultfile.KeptLevel {
	k := resultfile.KeptLevel{Kept: l.kept, Stated: -1, Rate: math.NaN()}
	if n := l.figures["client_requests"]; n >= 0 && n < 1<<53 {
		k.Stated = int64(n)
	}
	if rate, ok := l.figures["request_per_sec"]; ok {
		k.Rate = rate
	}
	return k
}

// source is the source of the document.
type source struct {
	c     *jsonscan.Cursor
	all   []*fileLevel
	at    int
	index int // of the next result
	id    uint64
}

func (s *source) Where() string {
	return fmt.Sprintf("level %d, result %d", s.at, max(s.index-1, 0))
}

// Next implements resultfile.Source.
func (s *source) Next(r *export.Request) (int, error) {
	for ; s.at < len(s.all); s.at, s.index = s.at+1, 0 {
		l := s.all[s.at]
		if l.results == 0 {
			continue
		}
		if s.index == 0 {
			s.c.Pos = l.results + 1
		}
		more, err := s.c.Elem(s.index == 0)
		if err != nil {
			return s.at, err
		}
		if !more {
			continue
		}
		s.index++
		v, err := s.c.Value("the result")
		if err != nil {
			return s.at, err
		}
		at := s.c.Pos - int64(len(v))
		var q fileResult
		if err := resultfile.Decode(v, &q); err != nil {
			return s.at, resultfile.TypeError(at, err)
		}
		r.ID = s.id
		s.id++
		return s.at, q.request(r, at, &l.level)
	}
	s.at = max(len(s.all)-1, 0)
	return s.at, io.EOF
}

// request fills in r.
func (q *fileResult) request(r *export.Request, at int64, l *level) error {
	if q.Latency == nil {
		return &resultfile.BadEntry{At: at, Msg: "e2e_latency is missing"}
	}
	whole, ok := resultfile.Nanoseconds(*q.Latency)
	if !ok {
		return resultfile.BadTime(at, "e2e_latency", *q.Latency)
	}
	r.StartNS, r.StartSource = resultfile.SyntheticStart, export.SourceUser
	r.Status, r.Phase = export.StatusOK, export.PhaseMeasured
	st := &export.Stated{InputTokens: q.Input, OutputTokens: q.Output, Text: q.Text}
	r.Stated = st
	if q.TTFT != nil && *q.TTFT >= 0 { // −1 over HTTP
		first, ok := resultfile.Nanoseconds(*q.TTFT)
		if !ok {
			return resultfile.BadTime(at, "ttft", *q.TTFT)
		}
		resultfile.Respond(r, r.StartNS+first, nil)
	} else {
		st.Streamed = new(false)
	}
	resultfile.Respond(r, r.StartNS+whole, nil)
	if len(r.Responses) == 2 {
		r.Responses[1].Final = true
	}
	if q.Text != nil && *q.Text == "" { // no response had any output
		st.Silent = []int{0}
	}
	q.count(l)
	return nil
}

// count adds the result to the figures of a level.
func (q *fileResult) count(l *level) {
	o := &result{ttft: math.NaN(), latency: *q.Latency}
	if q.TTFT != nil {
		o.ttft = *q.TTFT
	}
	if q.Input != nil {
		o.input = *q.Input
	}
	if q.Output != nil {
		o.output = *q.Output
	}
	l.add(o)
}

// Check computes the figures of each level again. The file lacks the time over which
// the system's rates are taken, so check compares the rates of tokens with the rate of
// requests.
func (s *source) Check(c *resultfile.SelfCheck) {
	for _, l := range s.all {
		level, kept := &l.level, l.keptLevel()
		c.At = fmt.Sprintf("concurrency %v", l.figures["concurrency"])
		figures := []metric{{"client_requests", float64(level.Requests)}}
		if level.Requests > 0 && !kept.Partial() { // the other figures are of all requests
			rate := l.figures["request_per_sec"] / float64(level.Requests)
			figures = append(
				append(figures, level.averages()...),
				metric{"total_input_tps_in_system", float64(level.InputTokens) * rate},
				metric{"total_output_tps_in_system", float64(level.OutputTokens) * rate},
			)
		}
		for _, f := range figures {
			if stored, ok := l.figures[f.name]; ok && !math.IsNaN(f.value) {
				c.Figure(f.name, stored, f.value)
			}
		}
		c.Rest(slices.DeleteFunc(slices.Collect(maps.Keys(l.figures)), func(name string) bool { return name == "concurrency" }), kept.WhyRest())
	}
}

// levelValue returns the name of a level if it is a number, else "".
func levelValue(name string) string {
	if _, err := strconv.Atoi(name); err != nil {
		return ""
	}
	return name
}
