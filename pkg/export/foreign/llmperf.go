package foreign

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/internal/jsonfile"
)

// llm_perf.py writes an object with a member for each level of concurrency:
//
//	{"8":{"concurrency":8,"client_requests":N,"throughput":R,
//	      "perf_results":[{"output_text":S,"ttft":T,"e2e_latency":T,"input_tokens":N,"output_tokens":N},…],
//	      "metrics":{…}},…}
//
// T are seconds. The second version has TPOT in each result, and other figures:
// metrics_stats, rounded for a table, and rates of the whole system.

const llmPerfName = "the results of llm_perf.py"

func sniffLLMPerf(o *outline) bool {
	if o.array || len(o.names) == 0 || o.names[0] != o.first || !o.hasInner("concurrency", "client_requests") {
		return false
	}
	_, err := strconv.Atoi(o.first)
	return err == nil
}

type llmPerfResult struct {
	Text    *string  `json:"output_text"`
	TTFT    *float64 `json:"ttft"`
	Latency *float64 `json:"e2e_latency"`
	Input   *int64   `json:"input_tokens"`
	Output  *int64   `json:"output_tokens"`
	TPOT    *float64 `json:"TPOT"`
}

// An llmPerfLevel is one level of concurrency.
type llmPerfLevel struct {
	results int64 // offset of the '[', 0 for none
	kept    int64 // number of results
	figures map[string]float64
	values  llmPerfValues
}

func openLLMPerf(f *file) (*export.Run, source, error) {
	c, err := f.start()
	if err != nil {
		return nil, nil, err
	}
	s := &llmPerf{}
	run := &export.Run{
		ServiceKind: text("triton"),
		Meta: &export.RunMeta{
			Schema: export.Schema, Tool: "llm_perf.py", Streaming: boolean(true),
			Import: &export.Import{Format: llmPerfName, Lacks: []export.Lack{
				{Part: export.PartStarts, Why: "llm_perf.py does not keep when requests were sent"},
				{Part: export.PartGaps, Why: "llm_perf.py keeps the first response and the end of a request"},
				{Part: export.PartLast, Why: "llm_perf.py keeps the first response and the end of a request"},
				{Part: export.PartTexts, Why: "llm_perf.py keeps the text of an answer as a whole"},
				{Part: export.PartInputs, Why: "llm_perf.py does not keep what was sent"},
			}},
			Warnings: []string{"llm_perf.py ends a request when it has closed the stream, and takes the first response, even an empty one, for the first token"},
		},
	}
	err = eachMember(c, "the document", func(name string) error {
		run.Experiments = append(run.Experiments, export.Experiment{Mode: export.ModeConcurrency, Value: levelValue(name)})
		s.all = append(s.all, &llmPerfLevel{figures: map[string]float64{}})
		return s.all[len(s.all)-1].header(c)
	})
	if err != nil {
		return nil, nil, err
	}
	c.Release()
	var kept []keptLevel
	for _, l := range s.all {
		kept = append(kept, l.keptLevel())
	}
	lackRequests(run, kept)
	s.c = f.cursor(0, jsonfile.DefaultChunk)
	return run, s, nil
}

// header reads a level except its results.
func (l *llmPerfLevel) header(c *jsonfile.Cursor) error {
	return eachMember(c, "a level of concurrency", func(name string) (err error) {
		b, err := c.Peek()
		if err != nil {
			return err
		}
		switch {
		case name == "perf_results" && b == '[':
			l.results = c.Pos
			l.kept, err = countElements(c)
		case name == "metrics" && b == '{':
			var v []byte
			if v, err = c.Value("metrics"); err == nil {
				_ = decode(v, &l.figures) // other values are not compared
			}
		case b == '-' || b == 'N' || b == 'I' || '0' <= b && b <= '9':
			var v []byte
			if v, err = c.Value("member " + strconv.Quote(name)); err == nil {
				if n, problem := parseFloat(v); problem == nil {
					l.figures[name] = n
				}
			}
		default:
			err = skip(c)
		}
		return err
	})
}

// keptLevel compares the results with the number of requests that the level states.
func (l *llmPerfLevel) keptLevel() keptLevel {
	k := keptLevel{kept: l.kept, stated: -1, rate: math.NaN()}
	if n := l.figures["client_requests"]; n >= 0 && n < 1<<53 {
		k.stated = int64(n)
	}
	if rate, ok := l.figures["request_per_sec"]; ok {
		k.rate = rate
	}
	return k
}

// llmPerf is the source of the document.
type llmPerf struct {
	c     *jsonfile.Cursor
	all   []*llmPerfLevel
	at    int
	index int // of the next result
	id    uint64
}

func (s *llmPerf) where() string {
	return fmt.Sprintf("level %d, result %d", s.at, max(s.index-1, 0))
}

func (s *llmPerf) next(r *export.Request) (int, error) {
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
		var q llmPerfResult
		if err := decode(v, &q); err != nil {
			return s.at, typeError(at, err)
		}
		r.ID = s.id
		s.id++
		return s.at, q.request(r, at, &l.values)
	}
	s.at = max(len(s.all)-1, 0)
	return s.at, io.EOF
}

// request fills in r.
func (q *llmPerfResult) request(r *export.Request, at int64, values *llmPerfValues) error {
	if q.Latency == nil {
		return &badEntry{at: at, msg: "e2e_latency is missing"}
	}
	whole, ok := nanoseconds(*q.Latency)
	if !ok {
		return badTime(at, "e2e_latency", *q.Latency)
	}
	r.StartNS, r.StartSource = syntheticStart, export.SourceUser
	r.Status, r.Phase = export.StatusOK, export.PhaseMeasured
	st := &export.Stated{InputTokens: q.Input, OutputTokens: q.Output, Text: q.Text}
	r.Stated = st
	if q.TTFT != nil && *q.TTFT >= 0 { // −1 over HTTP
		first, ok := nanoseconds(*q.TTFT)
		if !ok {
			return badTime(at, "ttft", *q.TTFT)
		}
		respond(r, r.StartNS+first, nil)
	} else {
		st.Streamed = boolean(false)
	}
	respond(r, r.StartNS+whole, nil)
	if len(r.Responses) == 2 {
		r.Responses[1].Final = true
	}
	if q.Text != nil && *q.Text == "" { // no response had any output
		st.Silent = []int{0}
	}
	values.add(q)
	return nil
}

// llmPerfValues are the values of a level, in seconds and tokens.
type llmPerfValues struct {
	ttft, latency sample
	input, output float64
}

func (v *llmPerfValues) add(q *llmPerfResult) {
	ttft := math.NaN()
	if q.TTFT != nil {
		ttft = *q.TTFT
	}
	v.ttft, v.latency = append(v.ttft, ttft), append(v.latency, *q.Latency)
	if q.Input != nil {
		v.input += float64(*q.Input)
	}
	if q.Output != nil {
		v.output += float64(*q.Output)
	}
}

// check computes the figures of each level again. The file lacks the time over which
// the system's rates are taken, so check compares the rates of tokens with the rate of
// requests.
func (s *llmPerf) check(c *selfCheck) {
	for _, l := range s.all {
		v, kept := &l.values, l.keptLevel()
		n := float64(len(v.latency))
		c.at = fmt.Sprintf("concurrency %v", l.figures["concurrency"])
		busy := v.latency.sum()
		for _, f := range []struct {
			name     string
			computed float64
		}{
			{"client_requests", n},
			{"average_input_token_per_sec", v.input / busy},
			{"average_output_token_per_sec", v.output / busy},
			{"average_ttft", v.ttft.mean()},
			{"average_latency", v.latency.mean()},
			{"p99_ttft", v.ttft.sorted().percentile(99)},
			{"p99_latency", v.latency.sorted().percentile(99)},
			{"total_input_tps_in_system", v.input * l.figures["request_per_sec"] / n},
			{"total_output_tps_in_system", v.output * l.figures["request_per_sec"] / n},
		} {
			if stored, ok := l.figures[f.name]; ok && !math.IsNaN(f.computed) {
				c.figure(f.name, stored, f.computed)
			}
			if kept.partial() {
				break // the other figures are of all requests
			}
		}
		c.rest(slices.DeleteFunc(slices.Collect(maps.Keys(l.figures)), func(name string) bool { return name == "concurrency" }), kept.whyRest())
	}
}

// levelValue returns the name of a level if it is a number, else "".
func levelValue(name string) string {
	if _, err := strconv.Atoi(name); err != nil {
		return ""
	}
	return name
}
