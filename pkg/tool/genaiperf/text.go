package genaiperf

import (
	"math"
	"unicode"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// textRequest measures a request whose answer is text or token ids.
func (a *analysis) textRequest(c *collector, q *export.Request) error {
	if q.Inputs == nil && a.rules.needsInputs {
		a.raise(keyError("request_inputs"))
	}
	rs, ids := a.responses(q)
	if len(rs) == 0 {
		if len(q.Responses) == 0 && a.rules.drop <= trimEmpty && a.kind == "openai" || a.rules.drop == dropDone {
			a.raise(errIndex)
		}
		a.explainer.Empty()
		return nil
	}
	in, err := a.countInput(q)
	if err != nil {
		return err
	}
	if a.rules.count != countJoined && !a.rep.uncounted {
		rs = a.split(rs)
	}
	n, secondNS, end := times(rs)
	latency, ttft := int64(end-q.StartNS), int64(rs[0].recvNS-q.StartNS)
	each, total, err := a.countOutput(rs, ids)
	if err != nil {
		return err
	}
	if in >= 0 {
		a.explainInput(in)
	}
	hasInter, inter := false, int64(0) // the time may be negative: a clock can step back
	switch {
	case a.rules.itl == itlGaps && a.rep.uncounted: // the gaps are divided by tokens
	case a.rules.itl == itlGaps:
		for i := 1; i < len(rs); i++ {
			gap := float64(int64(rs[i].recvNS - rs[i-1].recvNS))
			c.inter.Add(int64(math.RoundToEven(gap / float64(max(1, each[i])))))
		}
	case total > 1 && (n > 1 || a.rules.itl == itlMean):
		hasInter, inter = true, int64(math.RoundToEven(float64(latency-ttft)/float64(total-1)))
	}
	a.explain(n, rs[0].recvNS, secondNS, end, each, total, latency-ttft)
	rate, hasRate := float64(0), false
	if hasInter || !a.rules.perUser {
		rate, hasRate = a.rate(latency, total, inter)
	}
	if a.badID != nil {
		a.raise(a.badID)
	}
	add := func(c *collector) {
		c.span(q, end)
		c.first.Add(ttft)
		c.output.Add(total)
		c.tokens += total
		if a.rules.secondToken && n > 1 {
			c.second.Add(int64(secondNS - rs[0].recvNS))
		}
		if in >= 0 {
			c.input.Add(in)
		}
		if hasInter {
			c.inter.Add(inter)
		}
		if hasRate {
			c.rate.AddFloat(rate)
		}
	}
	add(c)
	if id, ok := q.Inputs.Get("session_id"); ok && a.rules.sessions {
		s := a.session(text(id))
		s.requests++
		add(&s.collector)
	}
	return nil
}

// rate returns the tokens per second of a request, or of its user; ok is false for a
// division by zero.
func (a *analysis) rate(latency, total, inter int64) (rate float64, ok bool) {
	switch {
	case a.rules.perUser && inter == 0, !a.rules.perUser && latency == 0:
		if a.rules.jsonReport != jsonNone { // older releases computed an infinity that no report shows
			a.raise(errZero)
		}
		return 0, false
	case a.rules.perUser:
		return 1 / (float64(inter) / 1e9), true
	}
	return float64(total) / (float64(latency) / 1e9), true
}

func (a *analysis) session(id string) *session {
	s := a.sessions[id]
	if s == nil {
		s = &session{id: id, collector: newCollector(a.store)}
		a.sessions[id] = s
		a.order = append(a.order, s)
	}
	return s
}

// responseOutput is the output with the answer of an OpenAI server.
const responseOutput = "response"

// responses returns the responses that count, with their texts. For the TensorRT-LLM
// engine it returns all responses, and the number of output ids of each.
func (a *analysis) responses(q *export.Request) (rs []response, ids []int64) {
	a.rs, a.badID = a.rs[:0], nil
	name := "text_output"
	switch a.kind {
	case "openai":
		name = responseOutput
	case "triton_c_api":
		name = "output_ids"
	}
	before := int64(0)
	outputs := a.parts.Outputs(q, name)
	for i := range outputs {
		o := &outputs[i]
		v := o.Value
		if v == nil {
			a.raise(keyError(name))
			v = &export.Value{}
		}
		if a.kind == "openai" && o.InEnvelope() && a.clean.holds(v) {
			a.rs = append(a.rs, response{recvNS: o.Responses[0].RecvNS, run: o.Responses})
			continue
		}
		for k := range o.Responses {
			r := response{recvNS: o.Responses[k].RecvNS}
			switch {
			case a.kind == "triton_c_api":
				n := a.idCount(*v, before, len(q.Responses))
				ids = append(ids, n)
				before += n
			case v.Envelope != nil:
				r.raw = dialect.Joined(dialect.ValueOf(&o.Responses[k], name))
			case v.Text || o.Value == nil:
				r.raw = o.Text
			case a.kind == "openai":
				r.raw = o.Text
				a.raise(&exception{"AttributeError", "a response that is no text has no attribute 'startswith'"})
			default:
				r.raw = a.outputText(*v)
			}
			a.rs = append(a.rs, r)
		}
	}
	switch a.kind {
	case "openai":
		rs = a.rs
		if a.clean.rejoins(rs) {
			rs = a.split(rs)
		}
		return a.clean.clean(rs), nil
	case "triton_c_api":
		return a.rs, ids
	}
	for i := range a.rs {
		t := a.rs[i].raw
		if a.rules.stripJunk {
			t = withoutJunk(t)
		}
		a.rs[i].text = str(t)
	}
	return a.rs, nil
}

// outputText raises the exception for a text output that is no text. It returns the
// joined texts in the output.
func (a *analysis) outputText(v export.Value) string {
	list, e := a.value(v)
	if e == nil {
		e = typeError("sequence item 0: expected str instance, %s found", list.PythonType())
	}
	a.raise(e)
	return joinTexts(list, "")
}

// idCount returns the number of output ids of a response: the length of a list, 1 for
// anything else. before is the number of ids in the previous responses.
//
// Releases before 25.02 divide by the ids of each of the n responses for a metric that
// only plots show; "" is then an exception.
func (a *analysis) idCount(v export.Value, before int64, n int) int64 {
	ids, e := a.value(v)
	switch {
	case e != nil:
		a.raise(e)
	case ids.Kind() == py.List:
		return int64(ids.Len())
	case ids.Kind() != py.Number && !a.rules.emptyIDs && before > 0 && before < int64(n) && a.badID == nil:
		a.badID = typeError("unsupported operand type(s) for /: 'int' and '%s'", ids.PythonType())
	}
	return 1
}

// withoutJunk returns s from its first printable character after the third; if there is
// none, the last character.
func withoutJunk(s string) string {
	last, n := 0, 0
	cut := -1
	for i, c := range s {
		if n > 2 && cut < 0 && unicode.IsPrint(c) {
			cut = i
		}
		last = i
		n++
	}
	switch {
	case n < 4:
		return s
	case cut >= 0:
		return s[cut:]
	}
	return s[last:]
}

// counts reports whether the current level's tokens matter. Other levels than the
// reported one matter to sessions, which continue from level to level, and to the goodput
// of each level, which may raise an exception.
func (a *analysis) counts() bool {
	return a.at == a.level || a.rules.sessions || a.rep.goodput
}

// countInput returns the number of input tokens; -1 if there is no input.
func (a *analysis) countInput(q *export.Request) (int64, error) {
	if a.rules.input == inputNone {
		return -1, nil
	}
	in, e := a.input(q)
	if e != nil {
		a.raise(e)
	}
	switch {
	case in.none:
		return -1, nil
	case in.number >= 0:
		return int64(in.number), nil
	case !a.counts():
		return 0, nil
	case a.cfg.Tokenizer == nil:
		return 0, a.withoutTokenizer()
	}
	n := a.cfg.Tokenizer.Count(in.text)
	if in.second != "" {
		n += a.cfg.Tokenizer.Count(in.second)
	}
	return int64(n), nil
}

// countOutput returns the number of output tokens, and of each response if the release
// counts by response.
func (a *analysis) countOutput(rs []response, ids []int64) (each []int64, total int64, err error) {
	if ids != nil {
		for _, n := range ids {
			total += n
		}
		return ids, total, nil
	}
	if a.kind == "openai" {
		for i := range rs {
			if rs[i].run == nil {
				a.clean.textOf(&rs[i])
			}
		}
	}
	if e := a.rules.countable(rs); e != nil {
		a.raise(e)
	}
	if !a.counts() {
		return make([]int64, len(rs)), 0, nil
	}
	tok := a.cfg.Tokenizer
	if tok == nil {
		return make([]int64, len(rs)), 0, a.withoutTokenizer()
	}
	if a.rep.uncounted {
		return nil, 0, nil
	}
	if a.rules.count == countJoined {
		a.text = a.text[:0]
		for i := range rs {
			a.text = rs[i].appendText(a.text)
		}
		return nil, int64(tok.Count(string(a.text))), nil
	}
	each = make([]int64, 0, len(rs))
	for i := range rs {
		n := 0
		if a.rules.count == countPlain {
			a.text = rs[i].appendText(a.text[:0])
			n = tok.Count(string(a.text)) + a.special
		} else {
			a.text = rs[i].appendText(append(a.text[:0], '!'))
			n = max(0, tok.Count(string(a.text))-1)
		}
		each = append(each, int64(n))
		total += int64(n)
	}
	return each, total, nil
}

// withoutTokenizer returns the error for tokens that cannot be counted, nil if the
// report is made without them.
func (a *analysis) withoutTokenizer() error {
	if !a.cfg.WithoutTokenizer {
		return dialect.ErrNoTokenizer
	}
	a.rep.uncounted = true
	return nil
}

// countable returns the release's exception for a response whose text is no string.
func (r *rules) countable(rs []response) *exception {
	for i := range rs {
		switch typ := rs[i].text.typ; {
		case rs[i].run != nil || typ == "str":
		case r.count == countJoined:
			return typeError("sequence item %d: expected str instance, %s found", i, typ)
		case r.count == countMarked:
			return typeError("can only concatenate str (not \"%s\") to str", typ)
		case i == 0 && typ != "list":
			return errTextType
		default:
			return errTextInput
		}
	}
	return nil
}
