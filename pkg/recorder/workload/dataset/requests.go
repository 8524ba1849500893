package dataset

import (
	"errors"
	"slices"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// requests is the layout of complete requests to an OpenAI-compatible server, which are sent
// unchanged: AIPerf's raw_payload, or the log of a proxy. Such a row names its model and has
// only members of requests.
type requests struct{}

func fitsRequests(r *row, _ *file) bool {
	if r.get("model") == nil || r.text == nil {
		return false
	}
	asks := false
	for _, f := range r.fields {
		switch {
		case slices.Contains([]string{"messages", "prompt", "input"}, f.Name):
			asks = true
		case !requestMembers[f.Name] && !slices.Contains(lengthColumns, f.Name):
			return false
		}
	}
	return asks
}

func newRequests(*file, *Options) layout { return requests{} }

func (requests) entries(r *row, _ int) ([]workload.Entry, error) {
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
