package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// This file holds the figures of report --dialect strict to a second computation. It
// makes up runs event by event, writes each as an export, and computes the figures from
// the events by the formulas of docs/reference/metrics.md, without the packages of pa-analyze.

// A madeEvent is what a response, or a part of one, adds to an answer.
type madeEvent struct {
	at        int64 // ns; of the response that completes it
	choice    int
	token     bool
	reasoning bool
}

// A madeRequest is a request with all that decides its figures.
type madeRequest struct {
	start     int64
	responses []int64 // their times in the order of the file
	events    []madeEvent
	asks      *bool // "stream" in the body or the tensors
	body      *bool // the shape of the answer: false: a JSON body, true: server-sent events
	output    int64 // the server's usage; 0: none
	input     int64
	// outcome is "ok", "failed" or another reason for not counting.
	outcome string

	json string
}

// A madeLevel is a load level.
type madeLevel struct {
	users    int
	requests []*madeRequest
}

// A madeRun is an export.
type madeRun struct {
	triton bool
	record *bool // the run's own record of streaming
	flag   *bool // --streaming
	levels []madeLevel
}

// streamedState is what is known about one request: yes, no, or undecided.
type streamedState int

const (
	undecidedStream streamedState = iota
	yesStream
	noStream
)

// streamed follows the list of docs/reference/metrics.md, "Answers that were not streamed",
// except for the other requests of the level.
func (r *madeRun) streamed(q *madeRequest) streamedState {
	for _, says := range []*bool{r.flag, q.body, r.record, q.asks} {
		if says != nil && *says {
			return yesStream
		} else if says != nil {
			return noStream
		}
	}
	if len(q.responses) > 1 {
		return yesStream
	}
	return undecidedStream
}

// figures are the expected ones of a level: lists of values by metric, and rates.
type figures struct {
	values map[string][]float64
	rates  map[string]float64
	ok     int
	failed int
}

// figuresOf computes the figures of a level by the definitions.
func (r *madeRun) figuresOf(l *madeLevel) figures {
	f := figures{values: map[string][]float64{}, rates: map[string]float64{}}
	levelStreamed := false
	for _, q := range l.requests {
		if r.streamed(q) == yesStream && len(q.responses) > 1 {
			levelStreamed = true
		}
	}
	var outputs, inputs, first, last int64
	allInputs, allOutputs, someOutput := true, true, false
	for _, q := range l.requests {
		if q.outcome == "failed" {
			f.failed++
		}
		if q.outcome != "ok" {
			continue
		}
		f.ok++
		add := func(key string, v float64) {
			if v >= 0 { // a time below 0 cannot be true
				f.values[key] = append(f.values[key], v)
			}
		}
		end := slices.Max(q.responses)
		add("e2el_ns", float64(end-q.start))
		if first == 0 || q.start < first {
			first = q.start
		}
		last = max(last, end)
		var tokens []madeEvent
		for _, e := range q.events {
			if e.token {
				tokens = append(tokens, e)
			}
		}
		state := r.streamed(q)
		streamed := state == yesStream || state == undecidedStream && levelStreamed
		count, counted := q.output, true
		if q.output == 0 {
			count, counted = int64(len(tokens)), streamed
		}
		if counted {
			add("output_tokens", float64(count))
			outputs, someOutput = outputs+count, true
		} else {
			allOutputs = false
		}
		if q.input > 0 {
			add("input_tokens", float64(q.input))
			inputs += q.input
		} else {
			allInputs = false
		}
		if !streamed || len(tokens) == 0 {
			continue
		}
		add("ttft_ns", float64(tokens[0].at-q.start))
		reasoned := false
		for _, e := range tokens {
			if reasoned && !e.reasoning {
				add("ttfat_ns", float64(e.at-q.start))
				break
			}
			reasoned = reasoned || e.reasoning
		}
		byChoice := map[int][]int64{}
		for _, e := range tokens {
			byChoice[e.choice] = append(byChoice[e.choice], e.at)
		}
		if own := byChoice[tokens[0].choice]; len(own) > 1 {
			add("ttst_ns", float64(own[1]-own[0]))
		}
		for _, at := range byChoice {
			for i := 1; i < len(at); i++ {
				add("itl_ns", float64(at[i]-at[i-1]))
			}
		}
		if len(tokens) > 1 && count > 1 {
			add("tpot_ns", float64(tokens[len(tokens)-1].at-tokens[0].at)/float64(count-1))
		}
	}
	if f.ok == 0 || last <= first {
		return f
	}
	seconds := float64(last-first) / 1e9
	f.rates["requests_per_s"] = float64(f.ok) / seconds
	if allOutputs && someOutput {
		f.rates["output_tokens_per_s"] = float64(outputs) / seconds
		f.rates["output_tokens_per_s_per_user"] = float64(outputs) / seconds / float64(l.users)
		if allInputs {
			f.rates["total_tokens_per_s"] = float64(outputs+inputs) / seconds
		}
	}
	return f
}

// describe returns the figures of values by the names in the JSON report.
func describe(values []float64) map[string]float64 {
	x := slices.Clone(values)
	slices.Sort(x)
	n := float64(len(x))
	var sum, squares float64
	for _, v := range x {
		sum += v
	}
	for _, v := range x {
		squares += (v - sum/n) * (v - sum/n)
	}
	d := map[string]float64{"n": n, "mean": sum / n, "std": math.Sqrt(squares / n), "min": x[0], "max": x[len(x)-1]}
	for _, p := range []float64{50, 90, 99} {
		h := p / 100 * (n - 1)
		below := math.Floor(h)
		above := min(below+1, n-1)
		d[fmt.Sprintf("p%g", p)] = x[int(below)] + (h-below)*(x[int(above)]-x[int(below)])
	}
	return d
}

// A maker makes runs up.
type maker struct {
	*rand.Rand
	clock int64
	usage int // percent of the answers of the run that state usage
}

func (m *maker) chance(percent int) bool { return m.IntN(100) < percent }

// maybe returns true, false or, mostly, nil.
func (m *maker) maybe(percent int) *bool {
	if !m.chance(percent) {
		return nil
	}
	yes := m.chance(50)
	return &yes
}

func (m *maker) run() *madeRun {
	r := &madeRun{triton: m.chance(50), record: m.maybe(15), flag: m.maybe(15)}
	m.clock = 1_700_000_000_000_000_000 + m.Int64N(1e15)
	m.usage = []int{0, 40, 100}[m.IntN(3)]
	for range 1 + m.IntN(3) {
		l := madeLevel{users: 1 + m.IntN(64)}
		// how is the kind of most answers: 0 streamed, 1 whole, 2 any.
		how := m.IntN(3)
		for range m.IntN(40) {
			m.clock += m.Int64N(5e7)
			one := how == 1 || how == 2 && m.chance(50)
			q := &madeRequest{start: m.clock, outcome: "ok"}
			if m.chance(30) {
				q.asks = m.maybe(100)
			}
			if how == 1 && m.chance(2) { // pieces of an answer that was not to be streamed
				q.asks, one = new(bool), false
			}
			m.answer(q, r.triton, one)
			l.requests = append(l.requests, q)
		}
		r.levels = append(r.levels, l)
	}
	return r
}

// A madeResponse is a response of the export: its time and its output.
type madeResponse struct {
	at   int64
	text string
	side string // further tensors
}

// answer makes the responses of q, one or several, and its JSON.
func (m *maker) answer(q *madeRequest, triton, one bool) {
	var answer []madeResponse
	if triton {
		answer = m.tensors(q, one)
	} else {
		answer = m.http(q, one)
	}
	if len(answer) > 0 && m.chance(3) { // nothing came
		answer, q.events, q.outcome = nil, nil, "failed"
	}
	meta := ""
	if m.chance(8) {
		q.outcome = []string{"failed", "cancelled", "warmup", "late"}[m.IntN(4)]
		meta = `,"pa":{"id":1,` + map[string]string{
			"failed":    `"status":"http_error","code":500,"reason":"failed"`,
			"cancelled": `"status":"cancelled","reason":"cancelled"`,
			"warmup":    `"status":"ok","phase":"warmup","reason":"warmup"`,
			"late":      `"status":"ok","phase":"cooldown","reason":"late"`,
		}[q.outcome] + `}`
	}
	var stamps, outputs []string
	for i := range answer {
		a := &answer[i]
		q.responses = append(q.responses, a.at)
		stamps = append(stamps, strconv.FormatInt(a.at, 10))
		name := `"response":`
		if triton {
			name = `"text_output":`
		}
		outputs = append(outputs, "{"+name+quote(a.text)+a.side+"}")
	}
	inputs := ""
	switch {
	case triton && q.asks != nil:
		spelled := map[bool][]string{true: {"true", "[true]", "1"}, false: {"false", "[false]", "0"}}[*q.asks]
		name := []string{"stream", "STREAM"}[m.IntN(2)]
		inputs = fmt.Sprintf(`"request_inputs":{"text_input":"x","%s":%s},`, name, spelled[m.IntN(len(spelled))])
	case triton && m.chance(70):
		inputs = `"request_inputs":{"text_input":"x \"stream\":true"},`
	case !triton && q.asks != nil:
		inputs = fmt.Sprintf(`"request_inputs":{"payload":%s},`, quote(fmt.Sprintf(`{"messages":[],"stream":%t}`, *q.asks)))
	case !triton && m.chance(70):
		inputs = `"request_inputs":{"payload":` + quote(`{"messages":[{"content":"\"stream\": true"}]}`) + `},`
	}
	q.json = fmt.Sprintf(`{"timestamp":%d,%s"response_timestamps":[%s],"response_outputs":[%s]%s}`,
		q.start, inputs, strings.Join(stamps, ","), strings.Join(outputs, ","), meta)
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string always has JSON
	return string(b)
}

// step returns the time of the next response. Some share a time, a few go back.
func (m *maker) step(at int64) int64 {
	switch {
	case m.chance(10):
		return at
	case m.chance(4):
		return at - m.Int64N(1e6)
	}
	return at + 1 + m.Int64N(3e7)
}

// tensors makes the answer of a Triton model.
func (m *maker) tensors(q *madeRequest, one bool) []madeResponse {
	n := 1
	if !one {
		n = 1 + m.IntN(30)
	}
	withCount, cumulative := m.chance(m.usage), n > 4 && m.chance(20)
	if withCount {
		q.input = 1 + m.Int64N(1000)
	}
	at, text := q.start+m.Int64N(1e8), ""
	var all []madeResponse
	for i := range n {
		at = m.step(at)
		a := madeResponse{at: at}
		token := !m.chance(15)
		switch {
		case cumulative && token:
			text += fmt.Sprintf("word%d ", i)
			a.text = text
		case cumulative:
			a.text = text // repeats what came, or is still empty
		case token:
			a.text = fmt.Sprintf("%c%d ", 'a'+i, i)
		}
		if withCount {
			k := m.Int64N(3)
			q.output += k
			a.side = fmt.Sprintf(`,"num_output_tokens":%d,"num_input_tokens":%d,"finish_reason":""`, k, q.input)
		}
		q.events = append(q.events, madeEvent{at: at, token: token})
		all = append(all, a)
	}
	if cumulative { // fewer than three texts show no repetition
		texts := 0
		for i := range all {
			if all[i].text != "" {
				texts++
			}
		}
		if texts < 3 || text == "" {
			return m.tensors(q.again(), one)
		}
	}
	if withCount && q.output == 0 { // a count of 0 beside text
		return m.tensors(q.again(), one)
	}
	if !one && m.chance(50) { // the empty final response
		at = m.step(at)
		all = append(all, madeResponse{at: at})
		q.events = append(q.events, madeEvent{at: at})
	}
	return all
}

// again removes the answer of q, for another attempt.
func (q *madeRequest) again() *madeRequest {
	q.events, q.output, q.input = nil, 0, 0
	return q
}

// usage returns the member of an answer with its numbers of tokens.
func (q *madeRequest) usage() string {
	return fmt.Sprintf(`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, q.input, q.output, q.input+q.output)
}

// http makes the answer of an OpenAI-compatible server.
func (m *maker) http(q *madeRequest, one bool) []madeResponse {
	usage := ""
	if m.chance(m.usage) {
		q.input, q.output = 1+m.Int64N(5000), 1+m.Int64N(60)
		usage = q.usage()
	}
	at := q.start + m.Int64N(1e8)
	var shape bool
	q.body = &shape
	if one {
		text := `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"a b c"},"finish_reason":"stop"}]`
		if usage != "" {
			text += "," + usage
		}
		text += "}"
		at = m.step(at)
		if m.chance(20) { // the body in two reads
			cut := 1 + m.IntN(len(text)-2)
			then := m.step(at)
			q.events = []madeEvent{{at: then, token: true}}
			return []madeResponse{{at: at, text: text[:cut]}, {at: then, text: text[cut:]}}
		}
		q.events = []madeEvent{{at: at, token: true}}
		return []madeResponse{{at: at, text: text}}
	}
	shape = true
	chunks, events := m.chunks(usage)
	if usage != "" { // no more tokens than events: others may be hidden, and TPOT is then another one
		tokens := 0
		for _, of := range events {
			for _, e := range of {
				if e.token {
					tokens++
				}
			}
		}
		q.output = 1 + m.Int64N(int64(max(1, tokens)))
		for i := range chunks {
			chunks[i] = strings.ReplaceAll(chunks[i], usage, q.usage())
		}
	}
	if m.chance(4) { // an error after some of the stream
		chunks = append(chunks, "data: {\"error\":{\"message\":\"out of memory\",\"code\":500}}\n\n")
		events = append(events, nil)
		q.outcome = "failed"
	}
	var all []madeResponse
	for i := 0; i < len(chunks); i++ {
		at = m.step(at)
		text := chunks[i]
		joined := events[i]
		switch {
		case i > 0 && m.chance(5) && len(text) > 12: // one event in two reads
			all = append(all, madeResponse{at: at, text: text[:9]})
			at = m.step(at)
			text = text[9:]
		case i+1 < len(chunks) && m.chance(8): // two events in one read
			i++
			text += chunks[i]
			joined = append(slices.Clone(joined), events[i]...)
		}
		all = append(all, madeResponse{at: at, text: text})
		for _, e := range joined {
			e.at = at
			q.events = append(q.events, e)
		}
	}
	return all
}

// chunks makes the server-sent events of an answer, and what each adds.
func (m *maker) chunks(usage string) (chunks []string, events [][]madeEvent) {
	say := func(text string, e ...madeEvent) { chunks, events = append(chunks, text), append(events, e) }
	delta := func(choice int, members string) string {
		return fmt.Sprintf("data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":%d,\"delta\":{%s}}]}\n\n", choice, members)
	}
	if m.chance(70) {
		say(delta(0, `"role":"assistant","content":""`))
	}
	choices := 1
	if m.chance(15) {
		choices = 2
	}
	if m.chance(15) {
		for range 1 + m.IntN(4) {
			say(delta(0, `"reasoning_content":"hm"`), madeEvent{token: true, reasoning: true})
		}
	}
	for range m.IntN(30) {
		switch c := m.IntN(choices); {
		case m.chance(6):
			say(delta(c, `"content":""`))
		case m.chance(4):
			say(": keep-alive\n\n")
		case m.chance(5):
			say(delta(c, `"tool_calls":[{"index":0,"function":{"arguments":"{"}}]`), madeEvent{token: true, choice: c})
		default:
			say(delta(c, `"content":"w"`), madeEvent{token: true, choice: c})
		}
	}
	if m.chance(60) || len(chunks) == 0 {
		say("data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n")
	}
	if usage != "" {
		say("data: {\"object\":\"chat.completion.chunk\",\"choices\":[]," + usage + "}\n\n")
	}
	if m.chance(70) {
		say("data: [DONE]\n\n")
	}
	return chunks, events
}

// text returns the run as an export. Requests that do not count by their pa member are
// in excluded_requests.
func (r *madeRun) text() string {
	var levels []string
	for _, l := range r.levels {
		var counted, excluded []string
		for _, q := range l.requests {
			if strings.Contains(q.json, `"reason":`) {
				excluded = append(excluded, q.json)
			} else {
				counted = append(counted, q.json)
			}
		}
		meta := ""
		if len(excluded) > 0 {
			meta = `,"pa":{"excluded_requests":[` + strings.Join(excluded, ",") + `]}`
		}
		levels = append(levels, fmt.Sprintf(`{"experiment":{"mode":"concurrency","value":%d},"requests":[%s],"window_boundaries":[]%s}`, l.users, strings.Join(counted, ","), meta))
	}
	kind, meta := "openai", ""
	if r.triton {
		kind = "triton"
	}
	if r.record != nil {
		meta = fmt.Sprintf(`,"pa":{"schema":"pa-export/1","tool":"pa-record 1","streaming":%t}`, *r.record)
	}
	return fmt.Sprintf(`{"experiments":[%s],"version":"2.60.0","service_kind":"%s","endpoint":""%s}`, strings.Join(levels, ",\n"), kind, meta)
}

// Every figure of made-up exports equals the one that is computed from their events.
// STRICT_EXPORTS=N makes N exports instead of 300.
func TestStrictFigures(t *testing.T) {
	exports := 300 / testenv.Stride(4)
	if n := os.Getenv("STRICT_EXPORTS"); n != "" {
		var err error
		if exports, err = strconv.Atoi(n); err != nil {
			t.Fatalf("STRICT_EXPORTS=%s: give a number", n)
		}
	}
	file := filepath.Join(t.TempDir(), "run.json")
	compared, kinds := 0, map[string]int{}
	for seed := range exports {
		m := &maker{Rand: rand.New(rand.NewPCG(uint64(seed), 25))}
		r := m.run()
		if err := os.WriteFile(file, []byte(r.text()), 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"report", "--dialect", "strict", "--format", "json"}
		if r.flag != nil {
			args = append(args, fmt.Sprintf("--streaming=%t", *r.flag))
		}
		res := exec(t, "", append(args, file)...)
		if strings.Contains(res.stderr, "holds no request that can be read") {
			continue // all of its requests are damaged: there is nothing to compare
		}
		if res.code != 0 {
			t.Fatalf("export %d: exit code %d: %s", seed, res.code, res.stderr)
		}
		var got struct {
			Experiments []struct {
				Requests   struct{ OK, Failed, Excluded int }
				Metrics    map[string]map[string]float64
				Throughput map[string]float64
			}
		}
		if err := json.Unmarshal([]byte(res.stdout), &got); err != nil || len(got.Experiments) != len(r.levels) {
			t.Fatalf("export %d: %d levels, want %d: %v", seed, len(got.Experiments), len(r.levels), err)
		}
		for i := range r.levels {
			want := r.figuresOf(&r.levels[i])
			x := got.Experiments[i]
			differs := func(name string, got, want any) {
				t.Errorf("export %d (triton %t), level %d: %s = %v, want %v", seed, r.triton, i, name, got, want)
			}
			equal := func(name string, got, want float64) {
				compared++
				if math.Abs(got-want) > 1e-9*math.Abs(want) {
					differs(name, got, want)
				}
			}
			if x.Requests.OK != want.ok || x.Requests.Failed != want.failed {
				differs("requests ok and failed", []int{x.Requests.OK, x.Requests.Failed}, []int{want.ok, want.failed})
			}
			keys := maps.Clone(want.values)
			for key := range x.Metrics { // a metric that this file does not compute differs
				keys[key] = want.values[key]
			}
			for key := range keys {
				values, has := want.values[key]
				if has != (x.Metrics[key] != nil) {
					differs(key, x.Metrics[key], fmt.Sprint(len(values), " values"))
				} else if has {
					kinds[key]++
					for name, v := range describe(values) {
						equal(key+" "+name, x.Metrics[key][name], v)
					}
				}
			}
			for _, key := range []string{"requests_per_s", "output_tokens_per_s", "total_tokens_per_s", "output_tokens_per_s_per_user"} {
				v, has := want.rates[key]
				if rate, is := x.Throughput[key]; is != has {
					differs(key, x.Throughput, want.rates)
				} else if has {
					kinds[key]++
					equal(key, rate, v)
				}
			}
		}
		if t.Failed() {
			t.Logf("the export:\n%.3000s", r.text())
			t.FailNow()
		}
	}
	t.Logf("%d figures of %d exports compared: levels by metric: %v", compared, exports, kinds)
	if compared < 50*exports || len(kinds) < 12 || slices.Min(slices.Collect(maps.Values(kinds))) < exports/10 {
		t.Errorf("only %d figures of %d exports were compared, of %d kinds: %v", compared, exports, len(kinds), kinds)
	}
}
