package dataset

import (
	"fmt"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// agenticTraceAnswer is the length of the answers that SGLang asks for in this layout.
const agenticTraceAnswer = 220

func fitsAgenticTrace(r *row, f *file) bool {
	doc, ok := f.rows.(*document)
	return ok && doc.member == "conversations" && r.has("messages")
}

// agenticTraceGroup returns the number of the conversation of a row.
func agenticTraceGroup(f *file, _ *Options, _ *row, i int) ([]string, error) {
	conversation, _ := f.rows.(*document).position(i)
	return []string{fmt.Sprint(conversation)}, nil
}

// agenticTraceSessions returns the session of a conversation of SGLang's agentic-trace, whose elements are turns with new messages:
//
//	{"metadata": {…}, "conversations": [[{"messages": [{"role": "user", "content": "…"}], "prompt_tokens": 900}, …], …]}
//
// The live answers are the history between them. As SGLang, it asks for answers of 220 tokens, unless Options.Count is nil.
func agenticTraceSessions(f *file, o *Options, rows []groupRow) ([]*workload.Session, error) {
	conversation, _ := f.rows.(*document).position(rows[0].i)
	nodes := make([]workload.Node, len(rows))
	read := func(f *file, r *row) (workload.Entry, error) {
		e, err := f.wholeMessages(r, "messages", "prompt_tokens")
		e.Whole = false // they are new
		if err == nil && o.Count != nil {
			f.assume(fmt.Sprintf("an answer is asked for with %d tokens, as SGLang does", agenticTraceAnswer))
			e.Prompt.MaxTokens = agenticTraceAnswer
		}
		return e, err
	}
	for i, r := range rows {
		if nodes[i].Continues = i - 1; i > 0 {
			nodes[i].After = []workload.Edge{{From: i - 1}}
		}
		if err := f.check(r.row, read); err != nil {
			return nil, r.fault("%w", err)
		}
	}
	return []*workload.Session{{ID: fmt.Sprint(conversation), Nodes: nodes, Entry: f.reread(rows, read)}}, nil
}
