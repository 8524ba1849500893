package llmperf

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// stopWords lists the texts that end an answer if one is the whole text of a response.
var stopWords = []string{"</s>", "<|endoftext|>", "<|im_end|>", "<|im_start|>"}

// measure sets the times and the text of a request, or the exception that ends the tool.
func (a *analysis) measure(o *result, q *export.Request) {
	end, ok := q.FinalResponseNS()
	o.endNS = end
	switch {
	case q.Status != export.StatusUnknown && q.Status != export.StatusOK:
		o.crash = failure(q)
	case q.NoOutputs && q.Stated != nil:
		measureStated(o, q)
	case a.http(q) && !ok:
		o.crash = errors.New("there is no answer")
	case a.http(q):
		o.whole, o.ttft, o.latency = true, -1, dialect.Seconds(q.StartNS, end)
		o.text = trim(output(&q.Responses[0]))
	default:
		measureStream(o, q)
	}
}

// failure returns the exception that ends the tool at a failed request.
func failure(q *export.Request) error {
	if q.Status == export.StatusRPCError {
		return errors.New(`TypeError: can only concatenate str (not "InferenceServerException") to str`)
	}
	return fmt.Errorf("InferenceServerException: %s", strings.TrimSpace(q.Status.String()+" "+q.Message))
}

// http reports whether a request was sent over HTTP, which is never streamed.
func (a *analysis) http(q *export.Request) bool {
	if a.args.protocol != "" {
		return a.args.protocol == "http"
	}
	if v, ok := q.Inputs.Get("stream"); ok {
		return !strings.Contains(string(v.Data), "true")
	}
	return false
}

// measureStream measures a streamed answer. Its first response counts as the first token
// even without text, unless it is a stop word.
func measureStream(o *result, q *export.Request) {
	first := true
	end := q.StartNS
	var b strings.Builder
	for i := range q.Responses {
		p := &q.Responses[i]
		end = p.RecvNS
		word := output(p)
		if slices.Contains(stopWords, word) {
			break
		}
		if first {
			o.ttft, first = dialect.Seconds(q.StartNS, p.RecvNS), false
		}
		b.WriteString(word)
	}
	if first {
		o.crash = errors.New("UnboundLocalError: cannot access local variable 'ttft' where it is not associated with a value")
		return
	}
	o.endNS, o.latency, o.text = end, dialect.Seconds(q.StartNS, end), b.String()
}

// measureStated measures a request that was read from the tool's own result file.
func measureStated(o *result, q *export.Request) {
	end, ok := q.FinalResponseNS()
	if !ok {
		o.crash = errors.New("there is no answer")
		return
	}
	o.latency = dialect.Seconds(q.StartNS, end)
	if len(q.Responses) > 1 {
		o.ttft = dialect.Seconds(q.StartNS, q.Responses[0].RecvNS)
	} else {
		o.whole, o.ttft = true, -1
	}
	if q.Stated.Text != nil {
		o.text = *q.Stated.Text
	}
}

// output returns the text of a response.
func output(p *export.Response) string {
	v, _ := p.Outputs.Get("text_output")
	v.Data = v.Bytes()
	if v.Text {
		if data, ok := export.StripLengthPrefix(v.Data); ok {
			v.Data = data
		}
	}
	return text(v)
}

// text returns the joined texts of a tensor.
func text(v export.Value) string {
	if v.Text {
		return dialect.Valid(v.Data)
	}
	p, err := py.ParseJSON(string(v.Data), py.JSON)
	if err != nil {
		return ""
	}
	return strings.Join(p.Texts(), "")
}

// trim cuts an answer over HTTP as the tool does. It keeps the text after the first
// "[/INST]" and before the first "</s>" that follows.
func trim(answer string) string {
	if _, after, ok := strings.Cut(answer, "[/INST]"); ok {
		answer = after
	}
	if before, _, ok := strings.Cut(answer, "</s>"); ok {
		answer = strings.TrimSpace(before)
	}
	return answer
}
