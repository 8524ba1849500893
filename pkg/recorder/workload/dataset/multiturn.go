package dataset

import (
	"encoding/json"
	"errors"
	"fmt"

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
	for turn, js := range turns {
		e, err := l.turn(js)
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

func (l *multiTurn) turn(js []byte) (workload.Entry, error) {
	r, err := parseObject(js)
	if err != nil {
		return workload.Entry{}, err
	}
	return readPrompt(r, l.f, l.o)
}
