package dataset

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// inputsJSON is the layout of AIPerf's record of sent requests. A row is a session of complete
// requests:
//
//	{"data": [{"session_id": "a", "payloads": [{…}, {…}]}, …]}
type inputsJSON struct{}

func fitsInputsJSON(r *row, _ *file) bool { return r.has("payloads") }

func newInputsJSON(*file, *Options) layout { return inputsJSON{} }

func (inputsJSON) entries(r *row, i int) ([]workload.Entry, error) {
	session, err := sessionID(r, i)
	if err != nil {
		return nil, err
	}
	var bodies []json.RawMessage
	if js := r.get("payloads"); js == nil || json.Unmarshal(js, &bodies) != nil {
		return nil, errors.New(`"payloads": expected an array of requests`)
	}
	if len(bodies) == 0 {
		return nil, errors.New(`"payloads" holds no request`)
	}
	var all []workload.Entry
	for turn, body := range bodies {
		p, err := parseBody(body)
		if err != nil {
			return nil, fmt.Errorf("\"payloads\": request %d: %w", turn, err)
		}
		all = append(all, workload.Entry{Prompt: &p, Session: session, Turn: turn, Whole: true})
	}
	return all, nil
}

// sessionID returns the session_id of row i, by default its number.
func sessionID(r *row, i int) (string, error) {
	session, ok, err := r.string("session_id")
	if !ok {
		session = fmt.Sprint(i)
	}
	return session, err
}
