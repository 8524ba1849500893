package serving

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// An outcome is the result of a request in a tool's request function. Times are in
// seconds.
type outcome struct {
	id          uint64
	startNS     uint64
	endNS       uint64 // of the last response
	scheduledNS uint64
	issuedNS    uint64

	success bool
	// raised is the exception that ended the request; nil for other failures.
	raised error
	err    string // the tool's error text

	ttft, latency float64 // latency is NaN if the file does not hold when the last token came
	whole         bool    // not streamed: ttft is −1
	itl           []int64 // nanoseconds
	gapTokens     []int64 // of sglang with speculation: tokens of the text behind each gap
	// input is the length of the prompt in the totals, inputShown in the result file.
	input, inputShown int64
	output            int64
	retokenized       int64
	iterations        int64   // TensorRT-LLM 1.0: token events
	decoded           float64 // TensorRT-LLM: the server's tokens per iteration
	noDecoded         bool    // the server sent null
	text              string  // kept only if the result file shows it
}

// noTraceback replaces the Python traceback in a tool's error of a request, which an
// export does not have.
const noTraceback = "<traceback>"

const noChunk = "Never received a valid chunk to calculate TTFT.This response will be marked as failed!"

// outcome measures a request as the tool's request function does, and counts tokens as
// the tool does. The result is valid until the next call.
func (l *level) outcome(q *export.Request) (*outcome, error) {
	l.payload(q)
	o := &l.one
	*o = outcome{id: q.ID, startNS: q.StartNS, scheduledNS: q.ScheduledNS, issuedNS: q.IssuedNS, itl: o.itl[:0], gapTokens: o.gapTokens[:0]}
	o.endNS, _ = q.FinalResponseNS()
	w := &answerReader{level: l, o: o, q: q, usagePrompt: -1, usageOutput: -1}
	switch {
	case q.Refused():
		o.err = reason(q)
		if l.tool.rules.bodyInError {
			o.err += ": " + answer(q)
		}
	case withoutTexts(q):
		w.stated()
	case l.streamed(q):
		w.stream()
	default:
		w.wholeAnswer()
	}
	if o.raised != nil {
		o.success, o.latency, o.iterations = false, 0, 0
		w.text.Reset()
		if o.err = q.Message; o.err == "" {
			o.err = noTraceback
		}
	}
	return o, w.count()
}

// reason returns the reason phrase of an HTTP status.
func reason(q *export.Request) string {
	if text := openai.StatusText(q.Code); text != "" {
		return text
	}
	return q.Message
}

// answer returns the body of an answer that was not streamed.
func answer(q *export.Request) string {
	var b strings.Builder
	for i := range q.Responses {
		b.Write(body(&q.Responses[i]))
	}
	return b.String()
}

// withoutTexts reports whether a request comes from a result file of another tool, which
// has times and counts in place of answers.
func withoutTexts(q *export.Request) bool { return q.Stated != nil && q.NoOutputs }

// answerReader measures the answer to one request.
type answerReader struct {
	*level
	o    *outcome
	q    *export.Request
	text strings.Builder // of the answer
	// usagePrompt and usageOutput are the server's counts, −1 for none.
	usagePrompt, usageOutput int64
}

// raise notes the first exception.
func (w *answerReader) raise(e error) {
	if w.o.raised == nil {
		w.o.raised = e
	}
}

// failure returns the error that broke off the exchange; nil if none did.
func failure(q *export.Request) error {
	if q.Status == export.StatusUnknown || q.Status == export.StatusOK {
		return nil
	}
	return fmt.Errorf("the answer ended early (%s)", q.Status)
}

var errUnbound = errors.New("UnboundLocalError: cannot access local variable 'latency' where it is not associated with a value")

// stream reads the events of a streamed answer.
func (w *answerReader) stream() {
	c, o, start := w.client, w.o, w.q.StartNS
	text := answerText{outputs: w.parts.Outputs(w.q, responseOutput), holds: w.holds}
	events := text.lines
	if c.frames {
		events = text.frames
	}
	mark, last := start, start
	seen, first := false, true
	token := func(ns uint64, text []byte) {
		if first {
			o.ttft = dialect.Seconds(start, ns)
			first = c.firstByZero && o.ttft == 0
		} else {
			o.itl = append(o.itl, int64(ns-mark))
			w.gapText(text)
		}
		o.iterations++
		if w.args.detailed || !w.uncounted() {
			w.text.Write(text)
		}
		mark, last = ns, ns
	}
	for ev := range events {
		seen = true
		for i := range ev.run {
			token(ev.run[i].RecvNS, dialect.ValueOf(&ev.run[i], responseOutput).Data)
		}
		if ev.run != nil {
			continue
		}
		last = ev.ns
		if ev.text == done {
			continue
		}
		isToken, text, e := w.event(ev.text)
		switch {
		case e != nil:
			w.raise(e)
			return
		case isToken:
			token(ev.ns, []byte(text))
		case c.marksAll:
			mark = ev.ns
		}
	}
	if e := failure(w.q); e != nil {
		w.raise(e)
		return
	}
	o.success, o.latency = true, dialect.Seconds(start, mark)
	switch {
	case c.endsAll && !seen:
		w.raise(errUnbound)
	case c.endsAll:
		o.latency = dialect.Seconds(start, last)
	case c.needsToken && o.iterations == 0:
		o.success, o.err = false, noChunk
	}
}

// holds reports whether each response of an output in an envelope is nothing but a token event of its text.
func (l *level) holds(out *dialect.Output) bool {
	return out.Valid && l.envelopes.Hold(out.Value, func(raw, text string) bool {
		one := answerText{outputs: []dialect.Output{{Responses: make([]export.Response, 1), Value: &export.Value{Text: true}, Raw: raw}}}
		events, ended := one.lines, strings.HasSuffix(raw, "\n")
		if l.client.frames {
			events, ended = one.frames, strings.Index(raw, "\n\n") == len(raw)-len("\n\n")
		}
		var all []string
		for ev := range events {
			all = append(all, ev.text)
		}
		if !ended || len(all) != 1 {
			return false
		}
		data, e := parseChunk(all[0])
		if e != nil {
			return false
		}
		_, _, hasUsage, e := data.usage()
		content, isToken := l.content(all[0])
		_, decodes := data.decoded()
		return e == nil && !hasUsage && isToken && content == text && !decodes
	})
}

// event reads one event and notes its usage.
func (w *answerReader) event(text string) (isToken bool, content string, e error) {
	if content, ok := w.form.Match(text); ok && utf8.ValidString(content) {
		return true, content, nil
	}
	if isToken, ok := w.silent[py.EventKeyOf(text)]; ok {
		return isToken, "", nil
	}
	if !utf8.ValidString(text) {
		return false, "", errors.New("UnicodeDecodeError: an event is no UTF-8")
	}
	data, e := parseChunk(text)
	if e != nil {
		return false, "", e
	}
	prompt, completion, hasUsage, e := data.usage()
	rule := w.client.usage
	if rule != usageElse {
		if e != nil {
			return false, "", e
		}
		if prompt > 0 {
			w.usagePrompt = prompt
		}
	}
	if rule == usageAny && completion >= 0 {
		w.usageOutput = completion
	}
	isToken, content, err := w.client.token(data)
	switch {
	case err != nil:
		return false, "", err
	case rule == usageElse && !isToken && e != nil:
		return false, "", e
	case rule == usageElse && !isToken && hasUsage:
		w.usageOutput = completion
		if prompt >= 0 {
			w.usagePrompt = prompt
		}
	case rule == usageWithText && isToken && completion >= 0:
		w.usageOutput = completion
	}
	switch {
	case isToken && w.decoded(data), e != nil, hasUsage:
	case content != "":
		w.form.Learn(text, content, w.content)
	case len(text) <= maxSilent:
		w.remember(text, isToken)
	}
	return isToken, content, nil
}

const (
	mostSilent = 32      // events that are remembered
	maxSilent  = 1 << 12 // bytes of such an event
)

// remember remembers whether an event without text is a token event. Every answer has the same event with a
// role, and with the reason of the end.
func (l *level) remember(text string, isToken bool) {
	if l.silent == nil || len(l.silent) >= mostSilent {
		l.silent = map[py.EventKey]bool{}
	}
	l.silent[py.EventKeyOf(strings.Clone(text))] = isToken
}

// content returns the text of an event that is a token event.
func (l *level) content(text string) (content string, ok bool) {
	data, e := parseChunk(text)
	if e != nil {
		return "", false
	}
	isToken, content, e := l.client.token(data)
	return content, isToken && e == nil
}

// decoded notes TensorRT-LLM's tokens per iteration, and reports whether the event says it.
func (w *answerReader) decoded(data chunk) bool {
	v, ok := data.decoded()
	if !ok {
		return false
	}
	f, err := parseFloat(v.Raw())
	w.o.decoded, w.o.noDecoded = f, err != nil
	return true
}

// gapText counts the tokens of the text after a gap, if the tool spreads gaps over
// tokens.
func (w *answerReader) gapText(text []byte) {
	if w.spreads() && w.tokenizer != nil {
		w.o.gapTokens = append(w.o.gapTokens, int64(w.tokenizer.Count(string(text))))
	}
}

// wholeAnswer reads an answer that was not streamed.
func (w *answerReader) wholeAnswer() {
	o := w.o
	end, ok := w.q.FinalResponseNS()
	if e := failure(w.q); e != nil || !ok {
		w.raise(errors.Join(e, errors.New("there is no answer")))
		return
	}
	text := answer(w.q)
	o.latency = dialect.Seconds(w.q.StartNS, end)
	data, e := parseChunk(text)
	if e == nil {
		e = w.message(data)
	}
	if e != nil {
		w.raise(e)
		return
	}
	o.success = true
	if w.tool.rules.latencyAsTTFT {
		o.ttft = o.latency
		return
	}
	o.whole, o.ttft = true, -1
	o.iterations = int64(len(strings.Fields(w.text.String())))
}

// message reads the JSON of an answer that was not streamed.
func (w *answerReader) message(data chunk) error {
	c, ok, e := data.choice()
	if e != nil || !ok {
		return errors.Join(e, errKey("choices"))
	}
	var text string
	if w.isChat {
		v, _ := c.v.Member("message")
		if v.Kind() != py.Dict {
			return errKey("message")
		}
		if w.tool.rules.joinsReasoning {
			text, e = combined(chunk{v})
		} else {
			text, e = chunk{v}.text("content")
		}
	} else {
		text, e = c.text("text")
	}
	if e != nil {
		return e
	}
	w.text.WriteString(text)
	prompt, completion, ok, e := data.usage()
	switch {
	case e != nil:
		return e
	case !ok && w.tool.rules.needsUsage:
		return errKey("usage")
	}
	w.usagePrompt, w.usageOutput = prompt, completion
	w.decoded(data)
	return nil
}

// count sets the numbers of tokens.
func (w *answerReader) count() error {
	o, detailed := w.o, w.args.detailed
	if o.success || detailed {
		if err := w.countInput(); err != nil {
			return err
		}
	}
	if detailed {
		o.text = w.text.String()
	}
	if !o.success {
		return nil
	}
	if w.tool.rules.asksOutput {
		return w.countSGLang()
	}
	o.output = w.usageOutput
	if o.output <= 0 {
		n, err := w.tokens(w.text.String(), false)
		o.output = n
		return err
	}
	return nil
}

// countInput sets the length of the prompt.
func (w *answerReader) countInput() error {
	o := w.o
	if w.tool.rules.usageInput && w.usagePrompt >= 0 {
		o.input, o.inputShown = w.usagePrompt, w.usagePrompt
		return nil
	}
	n, err := w.promptTokens(w.q)
	o.input, o.inputShown = n, n
	if w.tool.rules.showsUsage && w.usagePrompt > 0 {
		o.inputShown = w.usagePrompt
	}
	return err
}

// countSGLang sets the output tokens to the server's count, else to the requested length,
// and also counts the text.
func (w *answerReader) countSGLang() error {
	var err error
	o := w.o
	o.retokenized, err = w.tokens(w.text.String(), false)
	switch {
	case w.usageOutput >= 0:
		o.output = w.usageOutput
	case w.requested >= 0:
		o.output = w.requested
	default:
		o.output = o.retokenized
	}
	return err
}

// tokens counts a text, with or without the special tokens around it.
func (l *level) tokens(text string, special bool) (int64, error) {
	if l.tokenizer == nil {
		return 0, dialect.ErrNoTokenizer
	}
	n := int64(l.tokenizer.Count(text))
	if special {
		n += l.special
	}
	return n, nil
}

// stated measures a request from the result file of another tool. Its responses are the
// chunks that the tool counted, and one more if the answer ended later.
func (w *answerReader) stated() {
	o, q := w.o, w.q
	if q.Stated.Text != nil {
		w.text.WriteString(*q.Stated.Text)
	}
	if n := q.Stated.OutputTokens; n != nil {
		w.usageOutput = *n
	}
	if n := q.Stated.InputTokens; n != nil {
		w.usagePrompt = *n
	}
	if e := failure(q); e != nil {
		w.raise(e)
	}
	if s := w.args.streaming; s != nil && !*s && w.tool.rules.needsUsage {
		end, _ := q.FinalResponseNS()
		o.whole, o.ttft, o.latency = true, -1, dialect.Seconds(q.StartNS, end)
		o.success = o.raised == nil
		return
	}
	isSilent := q.Stated.IsSilent()
	mark := q.StartNS
	for i := range q.Responses {
		at := q.Responses[i].RecvNS
		if !w.countsStated(i, isSilent) {
			continue
		}
		if o.iterations == 0 {
			o.ttft = dialect.Seconds(q.StartNS, at)
		} else {
			o.itl = append(o.itl, int64(at-mark))
		}
		o.iterations++
		mark = at
	}
	end, ok := q.FinalResponseNS()
	if ok && (w.client.marksAll || w.client.endsAll) {
		mark = end
	}
	o.latency = dialect.Seconds(q.StartNS, mark)
	if ok && mark != end && o.iterations > 0 && w.noLast != "" {
		o.latency = math.NaN() // the last token came between the first and the end
	}
	o.success = o.raised == nil && (o.iterations > 0 || !w.client.needsToken)
	if !o.success && o.raised == nil {
		o.err = noChunk
	}
}

// countsStated reports whether response i is a token event of this tool, by the facts of
// the file. isSilent is as [export.Stated.IsSilent] returns it.
func (w *answerReader) countsStated(i int, isSilent func(int) bool) bool {
	q := w.q
	if n := q.Stated.TokenEvents; n != nil && int64(i) >= *n {
		return false
	}
	silent := isSilent(i)
	if w.client == w.tool.rules.chat && w.client.marksAll { // role and end too
		return silent || !isTail(q, i)
	}
	return !silent && !isTail(q, i)
}

// isTail reports whether response i only marks the end of the answer.
func isTail(q *export.Request, i int) bool {
	return i > 0 && i == len(q.Responses)-1 && q.Responses[i].Final
}
