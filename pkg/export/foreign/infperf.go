package foreign

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/internal/jsonfile"
)

// inference-perf writes an array with an object for each request, the stages one
// after the other:
//
//	[{"start_time":T,"end_time":T,"request":BODY,"response":TEXT,
//	  "info":{"input_tokens":N,"request_metrics":{…},
//	          "response_metrics":{"output_tokens":N,"server_usage":{…},
//	                              "response_chunks":[DATA,…],"chunk_times":[T,…],"output_token_times":[T,…]}},
//	  "error":{"error_type":S,"error_msg":S}|null},…]
//
// T are seconds of a clock with an arbitrary zero. chunk_times are the times of the
// chunks with text; output_token_times repeats them for each token of a chunk.
// end_time is taken when the client has counted the tokens of the answer. Before 0.4,
// info itself held output_tokens and output_token_times, one for each chunk.

const infPerfName = "inference-perf per_request_lifecycle_metrics.json"

func sniffInferencePerf(o *outline) bool {
	if o.array {
		return o.has("start_time", "end_time", "request")
	}
	return o.has("load_summary")
}

type infPerfRequest struct {
	Start    *float64 `json:"start_time"`
	End      *float64 `json:"end_time"`
	Request  *string  `json:"request"`
	Response *string  `json:"response"`
	Info     *struct {
		InputTokens *int64 `json:"input_tokens"`
		Response    *struct {
			OutputTokens *int64        `json:"output_tokens"`
			Usage        *infPerfUsage `json:"server_usage"`
			Chunks       []string      `json:"response_chunks"`
			ChunkTimes   []float64     `json:"chunk_times"`
			TokenTimes   []float64     `json:"output_token_times"`
		} `json:"response_metrics"`
		RequestMetrics *struct {
			Text *struct {
				InputTokens *int64 `json:"input_tokens"`
			} `json:"text"`
		} `json:"request_metrics"`
		// Before 0.4.
		OutputTokens *int64    `json:"output_tokens"`
		TokenTimes   []float64 `json:"output_token_times"`
	} `json:"info"`
	Error *struct {
		Type    string `json:"error_type"`
		Message string `json:"error_msg"`
	} `json:"error"`
}

type infPerfUsage struct {
	Prompt     *int64 `json:"prompt_tokens"`
	Completion *int64 `json:"completion_tokens"`
}

func openInferencePerf(f *file) (*export.Run, source, error) {
	c, err := f.start()
	if err != nil {
		return nil, nil, err
	}
	if b, err := c.Peek(); err != nil {
		return nil, nil, err
	} else if b == '{' {
		return nil, nil, fmt.Errorf("%s: is a summary of inference-perf, which holds statistics and no requests; give per_request_lifecycle_metrics.json from the same folder (report.request_lifecycle.per_request: true)", f.name)
	}
	c.Pos++
	run := &export.Run{
		Experiments: make([]export.Experiment, 1),
		ServiceKind: text("openai"),
		Meta: &export.RunMeta{
			Schema: export.Schema, Tool: "inference-perf",
			Import: &export.Import{Format: infPerfName, Lacks: []export.Lack{
				{Part: export.PartEpoch, Why: "inference-perf writes readings of a clock without saying when that began"},
			}},
			Warnings: []string{
				"a request ends with its last chunk that has text: the times of others and of [DONE] are not in the file, and its end_time is taken after the client has counted tokens",
				infPerfOneLevel,
			},
		},
	}
	s := &infPerf{c: c, file: f, begin: c.Pos}
	return run, s, s.peek(run)
}

// infPerf is the source of the array.
type infPerf struct {
	c      *jsonfile.Cursor
	file   *file
	begin  int64          // offset of the first request
	index  int            // of the next request
	stages []int          // index of the first request of each stage after the first
	stage  int            // of the current request
	totals *infPerfTotals // nil without a summary
}

func (s *infPerf) where() string { return fmt.Sprintf("request %d", max(s.index-1, 0)) }

// peek takes the model and the kind of endpoint from the first request.
func (s *infPerf) peek(run *export.Run) error {
	if b, err := s.c.Peek(); err != nil || b != '{' {
		return err
	}
	at := s.c.Pos
	v, err := s.c.Value("the first request")
	if err != nil {
		return err
	}
	s.c.Pos = at
	var q infPerfRequest
	var body struct {
		Model    string          `json:"model"`
		Stream   *bool           `json:"stream"`
		Messages json.RawMessage `json:"messages"`
		Prompt   json.RawMessage `json:"prompt"`
	}
	if decode(v, &q) != nil || q.Request == nil || json.Unmarshal([]byte(*q.Request), &body) != nil {
		return nil // next reports the error
	}
	run.Meta.Model, run.Meta.Streaming = body.Model, body.Stream
	switch {
	case body.Messages != nil:
		run.Endpoint = text("v1/chat/completions")
	case body.Prompt != nil:
		run.Endpoint = text("v1/completions")
	}
	return nil
}

func (s *infPerf) next(r *export.Request) (int, error) {
	more, err := s.c.Elem(s.index == 0)
	if err != nil {
		return s.stage, err
	}
	if !more {
		return s.stage, io.EOF
	}
	for s.stage < len(s.stages) && s.index >= s.stages[s.stage] {
		s.stage++
	}
	r.ID = uint64(s.index)
	s.index++
	v, err := s.c.Value("the request")
	if err != nil {
		return s.stage, err
	}
	at := s.c.Pos - int64(len(v))
	var q infPerfRequest
	if err := decode(v, &q); err != nil {
		return s.stage, typeError(at, err)
	}
	if bad := s.request(r, &q); bad != nil {
		bad.at, bad.excluded = at, q.Error != nil
		return s.stage, bad
	}
	if s.totals != nil {
		s.totals.add(&q)
	}
	return s.stage, nil
}

func (s *infPerf) request(r *export.Request, q *infPerfRequest) *badEntry {
	if q.Start == nil {
		return &badEntry{msg: "start_time is missing"}
	}
	var ok bool
	if r.StartNS, ok = nanoseconds(*q.Start); !ok {
		return badTime(0, "start_time", *q.Start)
	}
	r.StartSource, r.Status, r.Phase = export.SourceUser, export.StatusOK, export.PhaseMeasured
	if q.Request != nil {
		r.Inputs = export.Fields{{Name: "payload", Value: export.Text(*q.Request)}}
	}
	if q.Error != nil {
		fail(r, 0, q.Error.Type+": "+q.Error.Message)
		r.Message = message(q.Error.Message)
		if q.End != nil {
			r.FailedNS, _ = nanoseconds(*q.End)
		}
	}
	r.Stated = &export.Stated{}
	if q.Info != nil {
		if bad := s.responses(r, q); bad != nil {
			return bad
		}
	}
	if q.Error != nil {
		r.Stated.ErrorType = q.Error.Type
	} else if end, ok := r.FinalResponseNS(); ok && q.End != nil {
		if ns, ok := nanoseconds(*q.End); ok && ns > end {
			r.Stated.EndNS = &ns
		}
	}
	return nil
}

// responses fills in the chunks, and the figures that the file states about them.
func (s *infPerf) responses(r *export.Request, q *infPerfRequest) *badEntry {
	info := q.Info
	st := r.Stated
	st.InputTokens, st.OutputTokens = info.InputTokens, info.OutputTokens
	if m := info.RequestMetrics; m != nil && m.Text != nil && m.Text.InputTokens != nil {
		st.InputTokens = m.Text.InputTokens
	}
	times := info.TokenTimes
	var chunks []string
	if m := info.Response; m != nil {
		st.OutputTokens = m.OutputTokens
		times, chunks = m.ChunkTimes, m.Chunks
		if u := m.Usage; u != nil && u.Completion != nil && u.Prompt != nil {
			if m.OutputTokens != nil && *m.OutputTokens != *u.Completion {
				st.CountedOutput = m.OutputTokens
			}
			st.InputTokens, st.OutputTokens = u.Prompt, u.Completion
		} else {
			st.CountedInput, st.CountedOutput = st.InputTokens, st.OutputTokens
		}
		if len(times) == 0 {
			times = distinct(m.TokenTimes)
		}
	}
	if len(chunks) > 0 && len(chunks) != len(times) {
		return &badEntry{msg: fmt.Sprintf("%d response_chunks but %d chunk_times", len(chunks), len(times))}
	}
	r.NoOutputs = len(chunks) == 0
	for i, t := range times {
		ns, ok := nanoseconds(t)
		if !ok {
			return badTime(0, "chunk_times", t)
		}
		if r.NoOutputs {
			respond(r, ns, nil)
		} else {
			respond(r, ns, event(chunks[i]))
		}
	}
	if len(times) == 0 && r.Status == export.StatusOK && q.Response != nil && q.End != nil {
		// Not streamed. The end includes the time for counting tokens; the file has no
		// better one.
		ns, ok := nanoseconds(*q.End)
		if !ok {
			return badTime(0, "end_time", *q.End)
		}
		r.NoOutputs = false
		st.Streamed = boolean(false)
		respond(r, ns, body(*q.Response))
	}
	return nil
}

// distinct returns the times without repetitions. All tokens of a chunk have the time of
// the chunk.
func distinct(times []float64) []float64 {
	var d []float64
	for i, t := range times {
		if i == 0 || t != times[i-1] {
			d = append(d, t)
		}
	}
	return d
}

// check compares the figures of the summary. The file itself states none.
func (s *infPerf) check(c *selfCheck) {
	if s.totals != nil {
		s.totals.compare(c)
		s.totals.stored.rest(c)
	}
}
