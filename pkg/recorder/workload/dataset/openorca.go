package dataset

import (
	"errors"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// openOrca is the layout of questions with instructions and answers:
//
//	{"id": "…", "system_prompt": "…", "question": "…", "response": "…"}
type openOrca struct{ o *Options }

func fitsOpenOrca(r *row, _ *file) bool { return r.has("question") }

func newOpenOrca(_ *file, o *Options) layout { return openOrca{o} }

func (l openOrca) entries(r *row, _ int) ([]workload.Entry, error) {
	return readQuestion(r, "system_prompt", "question", "response", l.o)
}

// readQuestion reads a row. The arguments name its members.
func readQuestion(r *row, system, question, answer string, o *Options) ([]workload.Entry, error) {
	text, ok, err := r.string(question)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errors.New("no " + quoteAll([]string{question})[0] + ": it has " + columnNames(r))
	}
	p := &workload.Prompt{Text: text}
	if p.System, _, err = r.string(system); err != nil {
		return nil, err
	}
	reply, ok, err := r.string(answer)
	if err != nil {
		return nil, err
	}
	if ok {
		p.MaxTokens = o.replyTokens(reply)
	}
	return []workload.Entry{{Prompt: p}}, nil
}
