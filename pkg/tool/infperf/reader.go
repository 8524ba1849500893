package infperf

import (
	"encoding/json"
	"fmt"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
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

const formatName = "inference-perf per_request_lifecycle_metrics.json"

// ResultFile describes the files of inference-perf.
func ResultFile() resultfile.Kind {
	return resultfile.Kind{Name: formatName, Sniff: sniff, Open: open, Stated: []resultfile.Statement{statement()}, Beside: []resultfile.Neighbour{
		{
			Is: func(o *resultfile.Outline) bool {
				return o.First == "global" && o.Has("global", "reports") && o.HasInner("warnings", "errors")
			},
			What: "validation.json of inference-perf", Holds: "what it found wrong with its reports", Give: "per_request_lifecycle_metrics.json from the same folder",
		},
	}}
}

func sniff(o *resultfile.Outline) bool {
	if o.Array {
		return o.Has("start_time", "end_time", "request")
	}
	return o.Has("load_summary")
}

type fileRequest struct {
	Start    *float64 `json:"start_time"`
	End      *float64 `json:"end_time"`
	Request  *string  `json:"request"`
	Response *string  `json:"response"`
	Info     *struct {
		InputTokens *int64 `json:"input_tokens"`
		Response    *struct {
			OutputTokens *int64     `json:"output_tokens"`
			Usage        *fileUsage `json:"server_usage"`
			Chunks       []string   `json:"response_chunks"`
			ChunkTimes   []float64  `json:"chunk_times"`
			TokenTimes   []float64  `json:"output_token_times"`
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

type fileUsage struct {
	Prompt     *int64 `json:"prompt_tokens"`
	Completion *int64 `json:"completion_tokens"`
}

// open reads the file up to its first request.
func open(f *resultfile.File) (*export.Run, resultfile.Source, error) {
	c, err := f.Start()
	if err != nil {
		return nil, nil, err
	}
	if b, err := c.Peek(); err != nil {
		return nil, nil, err
	} else if b == '{' {
		return nil, nil, resultfile.NoRequests(fmt.Errorf("%s: is a summary of inference-perf, which holds statistics and no requests; give per_request_lifecycle_metrics.json from the same folder (report.request_lifecycle.per_request: true)", f.Name))
	}
	c.Pos++
	run := &export.Run{
		Experiments: make([]export.Experiment, 1),
		ServiceKind: new("openai"),
		Meta: &export.RunMeta{
			Schema: export.Schema, Tool: "inference-perf",
			Import: &export.Import{Format: formatName, Lacks: []export.Lack{
				{Part: export.PartEpoch, Why: "inference-perf writes times of a clock whose start is unknown"},
			}},
			Warnings: []string{
				"a request ends with its last chunk that has text: the times of others and of [DONE] are not in the file, and its end_time is taken after the client has counted tokens",
				oneLevel,
			},
		},
	}
	s := &source{Requests: resultfile.Requests{C: c}, file: f, begin: c.Pos}
	return run, s, s.peek(run)
}

// source is the source of the array.
type source struct {
	resultfile.Requests
	file   *resultfile.File
	begin  int64       // offset of the first request
	stages []int       // index of the first request of each stage after the first
	stage  int         // of the current request
	totals *fileTotals // nil without a summary
	// files are what the files of stages state, by the number of the stage; nil without such files. fileStarts are the times
	// at which the requests started, for them.
	files      map[int]stageFile
	fileStarts []float64
}

// peek takes the model and the kind of endpoint from the first request.
func (s *source) peek(run *export.Run) error {
	if b, err := s.C.Peek(); err != nil || b != '{' {
		return err
	}
	at := s.C.Pos
	v, err := s.C.Value("the first request")
	if err != nil {
		return err
	}
	s.C.Pos = at
	var q fileRequest
	var body struct {
		Model    string          `json:"model"`
		Stream   *bool           `json:"stream"`
		Messages json.RawMessage `json:"messages"`
		Prompt   json.RawMessage `json:"prompt"`
	}
	if resultfile.Decode(v, &q) != nil || q.Request == nil || json.Unmarshal([]byte(*q.Request), &body) != nil {
		return nil // next reports the error
	}
	run.Meta.Model, run.Meta.Streaming = body.Model, body.Stream
	switch {
	case body.Messages != nil:
		run.Endpoint = new("v1/chat/completions")
	case body.Prompt != nil:
		run.Endpoint = new("v1/completions")
	}
	return nil
}

// Next implements resultfile.Source.
func (s *source) Next(r *export.Request) (int, error) {
	var q fileRequest
	at, err := s.NextRequest(r, &q)
	for s.stage < len(s.stages) && s.Index > s.stages[s.stage] {
		s.stage++
	}
	if err != nil {
		return s.stage, err
	}
	if bad := s.request(r, &q); bad != nil {
		bad.At, bad.Excluded = at, q.Error != nil
		return s.stage, bad
	}
	if s.totals != nil {
		s.totals.add(&q)
	}
	return s.stage, nil
}

// request fills in r from an entry of the file.
func (s *source) request(r *export.Request, q *fileRequest) *resultfile.BadEntry {
	if q.Start == nil {
		return &resultfile.BadEntry{Msg: "start_time is missing"}
	}
	var ok bool
	if r.StartNS, ok = resultfile.Nanoseconds(*q.Start); !ok {
		return resultfile.BadTime(0, "start_time", *q.Start)
	}
	r.StartSource, r.Status, r.Phase = export.SourceUser, export.StatusOK, export.PhaseMeasured
	if q.Request != nil {
		r.Inputs = export.Fields{{Name: "payload", Value: export.Text(*q.Request)}}
	}
	if q.Error != nil {
		resultfile.Fail(r, 0, q.Error.Type+": "+q.Error.Message)
		r.Message = resultfile.Message(q.Error.Message)
		if q.End != nil {
			r.FailedNS, _ = resultfile.Nanoseconds(*q.End)
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
		if ns, ok := resultfile.Nanoseconds(*q.End); ok && ns > end {
			r.Stated.EndNS = &ns
		}
	}
	return nil
}

// responses fills in the chunks, and the figures that the file states about them.
func (s *source) responses(r *export.Request, q *fileRequest) *resultfile.BadEntry {
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
		return &resultfile.BadEntry{Msg: fmt.Sprintf("%d response_chunks but %d chunk_times", len(chunks), len(times))}
	}
	r.NoOutputs = len(chunks) == 0
	for i, t := range times {
		ns, ok := resultfile.Nanoseconds(t)
		if !ok {
			return resultfile.BadTime(0, "chunk_times", t)
		}
		if r.NoOutputs {
			resultfile.Respond(r, ns, nil)
		} else {
			resultfile.Respond(r, ns, resultfile.Event(chunks[i]))
		}
	}
	if len(times) == 0 && r.Status == export.StatusOK && q.Response != nil && q.End != nil {
		// Not streamed. The end includes the time for counting tokens; the file has no
		// better one.
		ns, ok := resultfile.Nanoseconds(*q.End)
		if !ok {
			return resultfile.BadTime(0, "end_time", *q.End)
		}
		r.NoOutputs = false
		st.Streamed = new(false)
		resultfile.Respond(r, ns, resultfile.Body(*q.Response))
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

// Check compares the figures of the summary. The file itself states none.
func (s *source) Check(c *resultfile.SelfCheck) {
	if s.totals != nil {
		s.totals.compare(c)
		s.totals.stored.Rest(c)
	}
}
