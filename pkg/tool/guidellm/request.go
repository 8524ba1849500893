package guidellm

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// seconds converts Unix nanoseconds to the nearest float. It adds whole seconds and the
// rest, because a float does not hold 61 bits.
func seconds(ns uint64) float64 { return float64(ns/1e9) + float64(ns%1e9)/1e9 }

// knownSeconds returns NaN for the unknown time 0.
func knownSeconds(ns uint64) float64 {
	if ns == 0 {
		return math.NaN()
	}
	return seconds(ns)
}

// groupOf returns the group in which GuideLLM counts a request.
func groupOf(q *export.Request) int {
	switch {
	case q.Status == export.StatusCancelled:
		return incomplete
	case q.Status > export.StatusOK:
		return errored
	}
	return successful
}

// A request holds what the file says of a request.
type request struct {
	requestStat
	q                       *export.Request
	group                   int
	firstIter, lastIter     float64
	answer, reasoning, body string
	hasText                 bool
	cached                  float64
}

// newRequest returns a request with its measured values.
func newRequest(q *export.Request, m *answer.Measured, texts *dialect.Texts) *request {
	nan := math.NaN()
	r := &request{q: q, group: groupOf(q), firstIter: nan, lastIter: nan, cached: nan}
	r.requestStat = requestStat{
		start: seconds(q.StartNS), targeted: knownSeconds(q.ScheduledNS), resolveStart: knownSeconds(q.IssuedNS), turn: q.Turn,
		prompt: nan, output: nan, first: nan, firstOutput: nan, last: nan, words: nan, characters: nan, wordsIn: nan, charactersIn: nan, iterations: nan, textTokensIn: nan, textTokensOut: nan,
	}
	r.end, r.done = seconds(dialect.EndNS(q)), r.group == successful
	r.tokenEvents(m)
	if m.InputTokens.OK {
		r.prompt, r.textTokensIn = float64(m.InputTokens.V), float64(m.InputTokens.V)
	}
	if m.CachedTokens.OK {
		r.cached = float64(m.CachedTokens.V)
	}
	if r.tokenIterations > 0 {
		r.output = r.tokenIterations
	}
	if byServer := m.TokenSource == answer.TokenUsage || m.TokenSource == answer.TokenStated; byServer && m.OutputTokens.OK && r.group == successful {
		r.output, r.textTokensOut = float64(m.OutputTokens.V), float64(m.OutputTokens.V)
	}
	r.setTexts(texts)
	return r
}

// maxTokens bounds the number of events that an imported file states for an answer. The
// rates take memory for each of them.
const maxTokens = 1 << 20

// tokenEvents sets the times of the first and the last event, and the number of events. An answer that was not streamed has none.
func (r *request) tokenEvents(m *answer.Measured) {
	if m.Streamed == answer.StreamedNo {
		if r.q.Stated == nil {
			r.iterations = 0
		}
		return
	}
	events, q := m.Answer.Events, r.q
	for i := range events {
		if !isKnown(r.firstOutput) && !events[i].Reasoning {
			r.firstOutput = seconds(events[i].RecvNS)
		}
	}
	if n := len(events); n > 0 {
		r.first, r.last = seconds(events[0].RecvNS), seconds(events[n-1].RecvNS)
		r.tokenIterations = float64(n)
	}
	if s := q.Stated; s != nil && s.TokenEvents != nil && *s.TokenEvents <= maxTokens {
		r.tokenIterations = float64(*s.TokenEvents)
	}
	if n := len(q.Responses); n > 0 {
		r.lastIter = seconds(q.Responses[n-1].RecvNS)
		if q.Stated == nil { // an import lacks events without text
			r.firstIter, r.iterations = seconds(q.Responses[0].RecvNS), float64(n)
		}
	}
}

// setTexts sets the body of the request, and the text of the answer.
func (r *request) setTexts(t *dialect.Texts) {
	if v, ok := r.q.Inputs.Get("payload"); ok {
		r.body = string(v.Data)
		r.setPrompt(v.Data)
	}
	r.answer, r.reasoning, r.hasText = t.Of(r.q)
	if s := r.q.Stated; s != nil && s.Text != nil {
		r.answer, r.reasoning, r.hasText = *s.Text, "", true
	}
	if r.hasText && r.group == successful {
		r.words, r.characters = float64(len(strings.Fields(r.answer))), float64(utf8.RuneCountInString(r.answer))
	}
}

// setPrompt counts the words and characters of the prompt: of a chat the last message, before which the first turn has
// system messages. GuideLLM does not count a text that is empty.
func (r *request) setPrompt(payload []byte) {
	body, err := py.ParseJSON(dialect.Valid(payload), py.JSON)
	if err != nil {
		return
	}
	add := func(texts []string) {
		for _, text := range texts {
			if text != "" {
				r.wordsIn = orZero(r.wordsIn) + float64(len(strings.Fields(text)))
				r.charactersIn = orZero(r.charactersIn) + float64(utf8.RuneCountInString(text))
			}
		}
	}
	prompt, _ := body.Member("prompt")
	add(prompt.Texts())
	messages, _ := body.Member("messages")
	last := messages.Len() - 1
	messages.Elements(func(i int, m py.Value) bool {
		if role, _ := m.Member("role"); i == last || r.turn == 0 && role.Text() == "system" {
			content, _ := m.Member("content")
			add(content.Texts("text"))
		}
		return true
	})
}

// orNull returns v, null for NaN.
func orNull(v float64) any {
	if !isKnown(v) {
		return nil
	}
	return v
}

// whole returns a count, null for NaN.
func whole(v float64) any {
	if !isKnown(v) {
		return nil
	}
	return int64(v)
}

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// object returns the request as the file has it.
func (r *request) object(rel *release, levelStartNS uint64) py.Object {
	q := r.q
	id := strconv.FormatUint(q.ID, 10)
	var o py.Object
	set := func(name string, v any) { o = append(o, py.Member{Name: name, Value: v}) }
	set("type_", "generative_request_stats")
	set("request_id", id)
	set("response_id", textOrNull(q.ServerID))
	set("request_args", r.args())
	set("output", r.wholeText())
	set("reasoning_output", textOrNull(r.reasoning))
	set("tool_calls", nil)
	set("info", r.info(id, levelStartNS))
	set("input_metrics", quantities(rel, r.textTokensIn, r.cached, r.wordsIn, r.charactersIn))
	set("response_metrics", nil)
	set("output_metrics", quantities(rel, r.textTokensOut, math.NaN(), r.words, r.characters))
	end := math.NaN()
	if r.done {
		end = r.end
	}
	set("request_start_time", r.start)
	set("request_end_time", r.end)
	set("request_latency", orNull(r.latency()))
	set("request_dispatch_delay", orNull(r.delay()))
	blocked := any(nil)
	if isKnown(r.targeted) {
		blocked = 0.0
	}
	set("turn_predecessor_delay", blocked)
	set("turn_scheduling_delay", orNull(r.delay()))
	set("request_scheduled_latency", orNull(end-r.targeted))
	set("prompt_tokens", whole(r.prompt))
	set("cached_tokens", whole(r.cached))
	set("output_tokens", whole(r.output))
	set("total_tokens", whole(r.total()))
	set("time_to_first_token_ms", orNull(r.ttft()))
	set("time_to_last_round_trip_ms", nil)
	set("avg_round_trip_time_ms", nil)
	set("time_per_output_token_ms", orNull(r.perToken()))
	set("inter_token_latency_ms", orNull(r.interToken()))
	set("tokens_per_second", r.perSecond(r.total()))
	set("output_tokens_per_second", r.perSecond(r.output))
	set("time_to_first_output_token_ms", orNull(r.firstOutputTime()))
	set("iter_tokens_per_iteration", orNull(r.perIteration()))
	each := math.NaN()
	if r.tokenIterations >= 1 {
		each = r.output / r.tokenIterations
	}
	set("output_tokens_per_iteration", orNull(each))
	return o
}

// perSecond returns n divided by the latency.
func (r *request) perSecond(n float64) any {
	if l := r.latency(); l != 0 {
		return orNull(n / l)
	}
	return nil
}

// wholeText returns the text of a complete answer, null for any other.
func (r *request) wholeText() any {
	if r.group != successful || !r.hasText {
		return nil
	}
	return r.answer
}

// args returns the request as JSON in a string.
func (r *request) args() any {
	if r.body == "" {
		return nil
	}
	body, err := py.ParseJSON(r.body, py.JSON)
	if err != nil {
		return nil
	}
	stream := any(nil)
	if v, ok := body.Member("stream"); ok {
		stream = v.Truthy()
	}
	return string(py.AppendORJSON(nil, py.Object{
		{Name: "method", Value: nil},
		{Name: "stream", Value: stream},
		{Name: "headers", Value: nil},
		{Name: "params", Value: nil},
		{Name: "body", Value: body.Any()},
		{Name: "files", Value: nil},
		{Name: "content", Value: nil},
	}))
}

var statusNames = [numGroups]string{"completed", "cancelled", "errored"}

// info returns the times of the request and its place in the conversation.
func (r *request) info(id string, levelStartNS uint64) py.Object {
	q := r.q
	answerEnd, failure := math.NaN(), any(nil)
	if r.done {
		answerEnd = r.end
	} else if q.Message != "" {
		failure = q.Message
	}
	place := fmt.Sprintf("main_%d", q.Turn)
	parents := []string{}
	if q.Turn > 0 {
		parents = []string{fmt.Sprintf("main_%d", q.Turn-1)}
	}
	process := any(q.Worker)
	if q.Stated != nil {
		process = nil
	}
	timings := py.Object{
		{Name: "targeted_start", Value: orNull(r.targeted)},
		{Name: "predecessor_completed", Value: nil},
		{Name: "queued", Value: nil},
		{Name: "dequeued", Value: nil},
		{Name: "scheduled_at", Value: nil},
		{Name: "resolve_start", Value: orNull(r.resolveStart)},
		{Name: "request_start", Value: r.start},
		{Name: "first_request_iteration", Value: orNull(r.firstIter)},
		{Name: "first_token_iteration", Value: orNull(r.first)},
		{Name: "first_output_token_iteration", Value: orNull(r.firstOutput)},
		{Name: "last_token_iteration", Value: orNull(r.last)},
		{Name: "last_request_iteration", Value: orNull(r.lastIter)},
		{Name: "request_iterations", Value: whole(r.iterations)},
		{Name: "token_iterations", Value: int64(r.tokenIterations)},
		{Name: "last_request_sent", Value: nil},
		{Name: "request_sent_sum", Value: 0.0},
		{Name: "request_sent_count", Value: 0},
		{Name: "token_received_sum", Value: 0.0},
		{Name: "token_received_count", Value: 0},
		{Name: "request_end", Value: orNull(answerEnd)},
		{Name: "resolve_end", Value: r.end},
		{Name: "finalized", Value: nil},
	}
	return py.Object{
		{Name: "request_id", Value: id},
		{Name: "conversation_id", Value: textOrNull(q.SessionID)},
		{Name: "history_len", Value: q.Turn},
		{Name: "turn_index", Value: q.Turn},
		{Name: "preceding_nodes", Value: q.Turn},
		{Name: "node_id", Value: place},
		{Name: "agent_id", Value: "default"},
		{Name: "parent_node_ids", Value: parents},
		{Name: "status", Value: statusNames[r.group]},
		{Name: "scheduler_node_id", Value: nil},
		{Name: "scheduler_process_id", Value: process},
		{Name: "scheduler_start_time", Value: orNull(knownSeconds(levelStartNS))},
		{Name: "timings", Value: timings},
		{Name: "settings", Value: py.Object{{Name: "relative_timestamp", Value: nil}, {Name: "requeue_delay", Value: nil}, {Name: "trace_duration", Value: nil}}},
		{Name: "error", Value: failure},
		{Name: "traceback", Value: nil},
		{Name: "started_at", Value: r.start},
		{Name: "completed_at", Value: r.end},
	}
}

// quantities returns the amounts of input or output; they are text only.
func quantities(rel *release, tokens, cached, words, characters float64) py.Object {
	o := py.Object{
		{Name: "text_tokens", Value: whole(tokens)},
		{Name: "cached_tokens", Value: whole(cached)},
		{Name: "text_words", Value: whole(words)},
		{Name: "text_characters", Value: whole(characters)},
	}
	for _, name := range rel.noQuantities {
		o = append(o, py.Member{Name: name, Value: nil})
	}
	return append(o, py.Member{Name: "total_tokens", Value: whole(tokens)})
}
