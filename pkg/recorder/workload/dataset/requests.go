package dataset

import (
	"errors"
	"slices"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

func fitsRequests(r *row, f *file) bool {
	return r.get("model") != nil && isRequest(r, f)
}

// isRequest reports whether a row has only members of requests, and a prompt where the requests of
// the endpoint have it.
func isRequest(r *row, f *file) bool {
	if r.text == nil {
		return false
	}
	asks := false
	for _, m := range r.fields {
		switch {
		case slices.Contains([]string{"messages", "prompt", "input"}, m.Name):
			asks = asks || f.promptMember == "" || m.Name == f.promptMember
		case !requestMembers[m.Name] && !slices.Contains(lengthColumns, m.Name):
			return false
		}
	}
	return asks
}

// requestOrPrompt returns the entry of a row of complete requests to an OpenAI-compatible server, which are sent
// unchanged: AIPerf's raw_payload, or the log of a proxy. Such a row names its model, has only
// members of requests, and holds its prompt where the requests of the endpoint do: a chat has
// "messages", so that {"model": …, "prompt": …} is a prompt for a chat.
// Later rows may lack the model, and rows with other members are prompts.
func requestOrPrompt(f *file, o *Options, r *row, _ int) ([]workload.Entry, error) {
	if o.Layout == "" && !isRequest(r, f) {
		e, err := readPrompt(r, f, o)
		return []workload.Entry{e}, err
	}
	return wholeRequest(r)
}

// wholeRequest returns the request that a row is.
func wholeRequest(r *row) ([]workload.Entry, error) {
	p, err := parseBody(r.text)
	if err != nil {
		return nil, err
	}
	return []workload.Entry{{Prompt: &p, Whole: true}}, nil
}

// parseBody parses a complete request. It also fills the other fields of the Prompt, for
// services that need another form.
func parseBody(js []byte) (workload.Prompt, error) {
	p := workload.Prompt{Body: js}
	r, err := parseObject(js)
	if err != nil {
		return p, err
	}
	switch {
	case len(r.fields) == 0:
		return p, errors.New("an empty request")
	case r.get("messages") != nil:
		p.Messages = r.get("messages")
	case r.get("prompt") != nil:
		all, err := parseStrings(r.get("prompt"))
		if err == nil && len(all) > 0 { // otherwise token ids, which only the server understands
			p.Text, p.More = all[0], all[1:]
		}
	}
	for _, name := range lengthColumns {
		if n, ok, err := r.count(name); ok && err == nil {
			p.MaxTokens = n
		}
	}
	return p, nil
}
