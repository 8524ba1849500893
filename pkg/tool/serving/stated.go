package serving

import (
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

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
	if end, ok := q.FinalResponseNS(); ok && (w.client.marksAll || w.client.endsAll) {
		mark = end
	}
	o.latency = dialect.Seconds(q.StartNS, mark)
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
