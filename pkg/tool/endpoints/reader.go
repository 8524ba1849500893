package endpoints

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// mlcommons/endpoints writes a line of JSON for each event:
//
//	{"event_type":E,"timestamp_ns":T,"sample_uuid":ID|"","conversation_id":S,"turn":N|null,
//	 "data":DATA|null,"finish_reason":S,"worker_id":N}
//
//	sample.issued          ["PromptData",TEXT|null,TOKENS|null,MESSAGES|null,…]
//	sample.recv_first      the first chunk of a streamed answer
//	sample.recv_non_first  a later chunk, with --client.stream-all-chunks only
//	error.generic          ["ErrorData",TYPE,MESSAGE]; then comes the sample's complete
//	sample.complete        ["TextModelOutput",OUTPUT,REASONING|null,CALLS|null]; OUTPUT and REASONING
//	                       are a text, or of a stream [the first text, all others joined]
//	session.…              started, start_performance_tracking, stop_…, ended
//
// T is CLOCK_MONOTONIC. The main process takes the time of a chunk when the chunk has passed a
// message queue, and a worker process takes the time of the end: the end can be before the last
// chunk, and lines are not in the order of their times. Events of one sample are in the order
// above. The warm-up has no sample.complete.

const (
	formatName = "mlcommons/endpoints events.jsonl"
	eventsName = "events.jsonl"
)

// These bound the memory for samples that were issued and are not complete: about 100 bytes a
// sample, 8 bytes a chunk, and the bytes of ids and error texts.
const (
	maxUnderWay  = 4 << 20
	maxChunks    = 32 << 20
	maxTextBytes = 512 << 20
)

type event struct {
	Type           string          `json:"event_type"`
	TimestampNS    *uint64         `json:"timestamp_ns"`
	Sample         string          `json:"sample_uuid"`
	ConversationID string          `json:"conversation_id"`
	Turn           *int            `json:"turn"`
	Data           json.RawMessage `json:"data"`
	FinishReason   *string         `json:"finish_reason"`
	WorkerID       int             `json:"worker_id"`
}

// text returns element i of the data if it is a text.
func (e *event) text(i int) string {
	var s string
	var all []json.RawMessage
	if json.Unmarshal(e.Data, &all) == nil && i < len(all) {
		_ = json.Unmarshal(all[i], &s) // "" for another type
	}
	return s
}

// An sample is a sample that was issued and is not complete.
type sample struct {
	id       uint64
	issuedNS uint64
	at       int64 // offset and length of the line of its sample.issued
	length   int
	chunks   []uint64 // times, in the order of the file
	phase    export.Phase
	tracked  bool // counts in the tool's figures
	block    int  // see totals
	failed   bool
	errType  string
	errText  string
}

// errorBytes returns the bytes of the texts of the error.
func (q *sample) errorBytes() int { return len(q.errType) + len(q.errText) }

// ResultFile describes the files of mlcommons/endpoints.
func ResultFile() resultfile.Kind {
	return resultfile.Kind{Name: formatName, Sniff: sniff, Open: open, Beside: filesBeside(), Stated: []resultfile.Statement{statement()}}
}

func sniff(o *resultfile.Outline) bool {
	return !o.Array && o.Has("event_type", "timestamp_ns", "sample_uuid")
}

// open reads the file up to its first request.
func open(f *resultfile.File) (*export.Run, resultfile.Source, error) {
	c, err := f.Start()
	if err != nil {
		return nil, nil, err
	}
	at := c.Pos
	gaps := chunks(c)
	s := &source{
		file: f, Values: resultfile.Values{C: f.Cursor(at, jsonscan.DefaultChunk)}, underWay: map[string]*sample{},
	}
	run := &export.Run{
		Experiments: make([]export.Experiment, 1),
		Meta: &export.RunMeta{
			Schema: export.Schema, Tool: "mlcommons/endpoints",
			Import: &export.Import{Format: formatName, Lacks: []export.Lack{
				{Part: export.PartEpoch, Why: "mlcommons/endpoints writes times of a clock whose start is unknown"},
				{Part: export.PartTexts, Why: "mlcommons/endpoints keeps the text of an answer as a whole"},
			}},
			Warnings: []string{
				"the client times chunks in its main process, after a message queue, but the end of an answer in a worker, before the queue: chunks of a busy client can be late by many milliseconds",
			},
		},
	}
	if !gaps {
		run.Meta.Import.Lacks = append(run.Meta.Import.Lacks, export.Lack{
			Part: export.PartGaps, Why: "mlcommons/endpoints keeps the time of the first chunk and of the end; --client.stream-all-chunks keeps all",
		})
		run.Meta.Warnings = append(run.Meta.Warnings, "the last token of an answer has the time of the end of the answer: "+formatName+" holds no time of it")
	}
	return run, s, nil
}

// chunks reports whether the file holds the times of all chunks. It reads up to the
// first complete answer whose stream had more than one part. A bad line ends it; next reports
// that line.
func chunks(c *jsonscan.Cursor) bool {
	v := resultfile.Values{C: c}
	streamed := false
	for {
		line, err := v.Next("an event")
		if bad := new(resultfile.BadEntry); errors.As(err, &bad) {
			continue
		}
		if err != nil {
			return !streamed // whole bodies have no chunks; of streams nothing shows later ones
		}
		var e event
		if resultfile.Decode(line, &e) != nil {
			continue
		}
		switch e.Type {
		case "sample.recv_non_first":
			return true
		case "sample.recv_first":
			streamed = true
		case "sample.complete":
			if streamed && output(e.Data).parts > 1 {
				return false
			}
		}
	}
}

// source is the source of the events.
type source struct {
	resultfile.Values
	file     *resultfile.File
	underWay map[string]*sample
	chunks   int // of all samples under way
	texts    int // bytes of the ids and error texts of these samples
	issued   uint64

	started, tracking, stopped, ended bool // session events seen so far
	endNS                             uint64
	rest                              []*sample // still under way at the end, in order
	left                              int       // of the warm-up, to be reported
	warmupAt                          int64

	noReason, reasons int // successful answers without and with a finish_reason
	noSample          int // errors that name no sample
	firstError        string

	totals *totals // nil without a summary
	line   []byte  // buffer for a line that is read again
}

func (s *source) Where() string { return fmt.Sprintf("event %d", max(s.Index-1, 0)) }

// Next implements resultfile.Source.
func (s *source) Next(r *export.Request) (int, error) {
	for {
		if s.left > 0 {
			s.left--
			return 0, &resultfile.BadEntry{At: s.warmupAt, Msg: "a request of the warm-up has no end in " + formatName, Excluded: true}
		}
		if s.ended {
			return 0, s.unfinished(r)
		}
		line, err := s.Values.Next("an event")
		if errors.Is(err, io.EOF) {
			err = jsonscan.ErrCut // session.ended is missing
		}
		if err != nil {
			return 0, err
		}
		var e event
		if err := resultfile.Decode(line, &e); err != nil {
			return 0, resultfile.TypeError(s.At, err)
		}
		if e.TimestampNS == nil {
			return 0, &resultfile.BadEntry{At: s.At, Msg: "timestamp_ns is missing"}
		}
		if q, err := s.event(&e, len(line)); err != nil || q != nil {
			if err == nil {
				err = s.complete(r, q, &e)
			}
			return 0, err
		}
	}
}

// event takes one event. It returns the sample that it completes, else nil.
func (s *source) event(e *event, length int) (*sample, error) {
	switch e.Type {
	case "sample.issued":
		return nil, s.issue(e, length)
	case "sample.recv_first", "sample.recv_non_first":
		q := s.underWay[e.Sample]
		if q == nil { // of the warm-up, or late after a timeout
			return nil, nil
		}
		if s.chunks++; s.chunks > maxChunks {
			return nil, fmt.Errorf("%s: byte %d: requests under way have more than %d chunks, which is the limit", s.file.Name, s.At, maxChunks)
		}
		if e.Type == "sample.recv_first" {
			s.totals.first(q, *e.TimestampNS)
		}
		q.chunks = append(q.chunks, *e.TimestampNS)
	case "sample.complete":
		q := s.underWay[e.Sample]
		if q == nil {
			return nil, &resultfile.BadEntry{At: s.At, Msg: "sample.complete of a sample without sample.issued"}
		}
		delete(s.underWay, e.Sample)
		s.chunks -= len(q.chunks)
		s.texts -= len(e.Sample) + q.errorBytes()
		return q, nil
	case "session.started":
		s.started = true
	case "session.start_performance_tracking":
		if s.started && !s.tracking && !s.stopped { // what came before is the warm-up
			s.left, s.warmupAt = len(s.underWay), s.At
			clear(s.underWay)
			s.chunks, s.texts = 0, 0
		}
		if !s.tracking {
			s.tracking = true
			s.totals.begin(*e.TimestampNS)
		}
	case "session.stop_performance_tracking":
		s.tracking, s.stopped = false, true
	case "session.ended":
		s.ended, s.endNS = true, *e.TimestampNS
		for _, q := range s.underWay {
			s.rest = append(s.rest, q)
		}
		clear(s.underWay)
		slices.SortFunc(s.rest, func(a, b *sample) int { return int(a.id) - int(b.id) })
	default:
		if strings.HasPrefix(e.Type, "error.") {
			return nil, s.failure(e)
		}
	}
	return nil, nil
}

// keepTexts counts n more bytes of texts of samples under way. It returns an error if they are too many.
func (s *source) keepTexts(n int) error {
	if s.texts += n; s.texts > maxTextBytes {
		return fmt.Errorf("%s: byte %d: the ids and error texts of requests under way have more than %d bytes, which is the limit", s.file.Name, s.At, maxTextBytes)
	}
	return nil
}

// issue takes a sample.issued whose line has that length.
func (s *source) issue(e *event, length int) error {
	switch {
	case e.Sample == "":
		return &resultfile.BadEntry{At: s.At, Msg: "sample.issued without sample_uuid"}
	case s.underWay[e.Sample] != nil:
		return &resultfile.BadEntry{At: s.At, Msg: "sample.issued again for a sample that is under way"}
	case *e.TimestampNS == 0:
		return &resultfile.BadEntry{At: s.At, Msg: "timestamp_ns of sample.issued is 0"}
	case len(s.underWay) == maxUnderWay:
		return fmt.Errorf("%s: byte %d: more than %d requests are under way, which is the limit", s.file.Name, s.At, maxUnderWay)
	}
	q := &sample{id: s.issued, issuedNS: *e.TimestampNS, at: s.At, length: length, phase: export.PhaseMeasured}
	q.tracked, q.block = s.tracking, s.totals.block()
	switch {
	case s.tracking || !s.started:
	case s.stopped:
		q.phase = export.PhaseCooldown
	default:
		q.phase = export.PhaseWarmup
	}
	s.totals.issue(q)
	s.issued++
	s.underWay[e.Sample] = q
	return s.keepTexts(len(e.Sample))
}

// failure takes an error of a sample, or of the client as a whole.
func (s *source) failure(e *event) error {
	kind, text := e.text(1), e.text(2)
	q := s.underWay[e.Sample]
	switch {
	case q != nil:
		more := len(kind) + len(text) - q.errorBytes()
		q.failed, q.errType, q.errText = true, kind, text
		s.totals.fail(q)
		return s.keepTexts(more)
	case e.Sample == "":
		if s.noSample++; s.noSample == 1 {
			s.firstError = resultfile.Message(kind + ": " + text)
		}
	}
	return nil
}

// complete fills in the request of a sample whose sample.complete is e.
func (s *source) complete(r *export.Request, q *sample, e *event) error {
	end := *e.TimestampNS
	out := output(e.Data)
	s.totals.complete(q, end, e.FinishReason)
	if err := s.request(r, q); err != nil {
		return err
	}
	r.SessionID, r.Worker = e.ConversationID, e.WorkerID
	if e.Turn != nil {
		r.Turn = *e.Turn
	}
	if out.text != "" || !q.failed {
		r.Stated.Text = &out.text
	}
	streamed := len(q.chunks) > 0
	r.Stated.Streamed = &streamed
	switch {
	case q.failed:
		resultfile.Fail(r, statusOf(q.errText), q.errType+": "+q.errText)
		r.Message, r.Stated.ErrorType, r.FailedNS = resultfile.Message(q.errText), q.errType, end
		return nil
	case e.FinishReason == nil:
		s.noReason++
	default:
		s.reasons++
	}
	last := uint64(0)
	for _, t := range q.chunks {
		last = max(last, t)
	}
	switch n := len(q.chunks); {
	case n == 1 && out.parts > 1, !streamed: // the rest came by then
		resultfile.Respond(r, end, nil)
	case end >= last:
		resultfile.Respond(r, end, nil)
		r.Responses[n].Final = true
		r.Stated.Silent = []int{n}
	}
	if len(q.chunks) == 1 && out.parts <= 1 {
		r.Stated.TokenEvents = new(int64(1))
	}
	return nil
}

// request fills in what a sample shows before its end.
func (s *source) request(r *export.Request, q *sample) error {
	r.ID, r.StartNS, r.StartSource = q.id, q.issuedNS, export.SourceUser
	r.Status, r.Phase = export.StatusOK, q.phase
	r.Stated = &export.Stated{}
	for _, t := range q.chunks {
		resultfile.Respond(r, t, nil)
	}
	return s.prompt(r, q)
}

// prompt reads the line of sample.issued again: the prompts of all requests under way would
// take too much memory.
func (s *source) prompt(r *export.Request, q *sample) error {
	s.line = slices.Grow(s.line[:0], q.length)[:q.length]
	if _, err := s.file.Src.ReadAt(s.line, q.at); err != nil {
		return fmt.Errorf("read %s: %w", s.file.Name, err)
	}
	var e event
	var all []json.RawMessage
	if resultfile.Decode(s.line, &e) != nil || json.Unmarshal(e.Data, &all) != nil {
		return nil // no prompt: the sample was skipped, or the line has another layout
	}
	for i := 1; i < min(len(all), 4); i++ { // a text, token ids, or messages
		var text string
		switch {
		case string(all[i]) == "null":
		case json.Unmarshal(all[i], &text) == nil:
			r.Inputs = export.Fields{{Name: "prompt", Value: export.Text(text)}}
			return nil
		default:
			r.Inputs = export.Fields{{Name: "prompt", Value: resultfile.Payload(all[i])[0].Value}}
			return nil
		}
	}
	return nil
}

// unfinished delivers the requests that were under way when the run ended, which the tool
// counts neither as completed nor as failed.
func (s *source) unfinished(r *export.Request) error {
	if len(s.rest) == 0 {
		return io.EOF
	}
	q := s.rest[0]
	s.rest = s.rest[1:]
	if err := s.request(r, q); err != nil {
		return err
	}
	r.Status, r.FailedNS, r.Message = export.StatusCancelled, s.endNS, "the run ended before the answer did"
	r.Stated.Streamed = nil
	if len(q.chunks) > 0 {
		r.Stated.Streamed = new(true)
	}
	return nil
}

// statusOf returns the HTTP status of an error text such as "503: {…}" or
// "HTTP 503: …"; 0 for none.
func statusOf(text string) int {
	text = strings.TrimPrefix(text, "HTTP ")
	code := 0
	n := 0
	for n < len(text) && n < 4 && text[n] >= '0' && text[n] <= '9' {
		code = 10*code + int(text[n]-'0')
		n++
	}
	if n != 3 || code < 300 || code > 599 || n < len(text) && text[n] != ':' && text[n] != ' ' && text[n] != ',' {
		return 0
	}
	return code
}

// Faults implements faulty.
func (s *source) Faults() []string {
	var all []string
	if s.noReason > 0 && s.reasons > 0 {
		all = append(all, fmt.Sprintf("%d of %d answers %s no finish_reason, unlike the others: the client counts a stream that broke off as complete", s.noReason, s.noReason+s.reasons, plural.Form(s.noReason, "has", "have")))
	}
	if s.noSample > 0 {
		all = append(all, fmt.Sprintf("%s without a request; the first: %s", plural.Of(s.noSample, "error"), s.firstError))
	}
	return all
}

// An eventText is the output of an answer.
type eventText struct {
	text string
	// parts is 0 without text, 1 for one chunk or a text that was not streamed, 2 for the
	// first chunk and others.
	parts int
}

// output reads the data of a sample.complete. Reasoning comes before the answer, tool
// calls after it.
func output(data json.RawMessage) eventText {
	var all []json.RawMessage
	if json.Unmarshal(data, &all) != nil {
		return eventText{}
	}
	var parts []string
	for _, i := range []int{2, 1} {
		if i >= len(all) {
			continue
		}
		var one string
		var list []string
		if json.Unmarshal(all[i], &one) == nil && one != "" {
			list = []string{one}
		} else {
			_ = json.Unmarshal(all[i], &list) // nil for another type
		}
		for _, p := range list {
			if p != "" {
				parts = append(parts, p)
			}
		}
	}
	out := eventText{strings.Join(parts, ""), min(len(parts), 2)}
	if len(all) > 3 && string(all[3]) != "null" {
		out.parts = min(out.parts+1, 2)
	}
	return out
}

// filesBeside lists the files that mlcommons/endpoints writes beside its events.
func filesBeside() []resultfile.Neighbour {
	type outline = *resultfile.Outline
	return resultfile.Neighbours("mlcommons/endpoints", "events.jsonl from the folder of the report", []resultfile.Neighbour{
		{What: "result_summary.json", Holds: "statistics", Is: func(o outline) bool { return o.Has("test_started_at", "n_samples_issued") }},
		{What: "report.txt", Holds: "statistics", Is: func(o outline) bool { return bytes.HasPrefix(o.Head, []byte("----------------- Summary ---")) }},
		{What: "sample_idx_map.json", Holds: "which row of the data set was sent", Is: func(o outline) bool { return o.Only("performance") && !o.Array }},
	})
}
