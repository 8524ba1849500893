package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// multiTurn is AIPerf's layout multi_turn. A row is a conversation, and a turn has the form of
// a row of the layout prompts. The delay of a turn is the time before it:
//
//	{"session_id": "a", "turns": [{"text": "…"}, {"text": "…", "delay": 500}]}
type multiTurn struct {
	f *file
	o *Options
}

func fitsMultiTurn(r *row, _ *file) bool { return r.has("turns") }

func newMultiTurn(f *file, o *Options) layout { return &multiTurn{f, o} }

func (l *multiTurn) entries(r *row, i int) ([]workload.Entry, error) {
	session, err := sessionID(r, i)
	if err != nil {
		return nil, err
	}
	var turns []json.RawMessage
	if js := r.get("turns"); js == nil || json.Unmarshal(js, &turns) != nil {
		return nil, errors.New(`"turns": expected an array of objects`)
	}
	if len(turns) == 0 {
		return nil, errors.New(`"turns" holds no turn`)
	}
	var all []workload.Entry
	shared := l.shared(r)
	for turn, js := range turns {
		e, err := l.turn(js, shared)
		if err != nil {
			return nil, fmt.Errorf("\"turns\": turn %d: %w", turn, err)
		}
		if e.Session, e.Turn = session, turn; turn > 0 {
			all[turn-1].Delay = e.Delay
		}
		e.Delay = 0
		all = append(all, e)
	}
	return all, nil
}

// shared returns the members of a conversation that belong to each of its requests.
func (l *multiTurn) shared(r *row) export.Fields {
	p := promptReader{row: r, file: l.f, onlyKnown: l.o.OnlyKnown, used: map[string]bool{"session_id": true, "turns": true}}
	p.passOn()
	return p.prompt.Extra
}

// turn returns the entry of a turn. Its own members win over the shared ones.
func (l *multiTurn) turn(js []byte, shared export.Fields) (workload.Entry, error) {
	r, err := parseObject(js)
	if err != nil {
		return workload.Entry{}, err
	}
	e, err := readPrompt(r, l.f, l.o)
	if err == nil && e.Prompt.Body == nil && len(shared) > 0 {
		own := e.Prompt.Extra
		e.Prompt.Extra = append(slices.DeleteFunc(slices.Clone(shared), func(f export.Field) bool {
			_, there := own.Get(f.Name)
			return there
		}), own...)
	}
	return e, err
}
