package dataset

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// fitsMTBench recognizes turns that are texts.
func fitsMTBench(r *row, _ *file) bool {
	js := r.get("turns")
	return len(js) > 0 && js[0] == '[' && elementsStartWith(js, '"')
}

// mtBenchTurns returns the entries of a row of MT-bench, whose turns are the questions of a user:
//
//	{"question_id": 81, "category": "writing", "turns": ["…", "…"]}
//
// The first turn is an entry. With Options.Sessions, every turn is one of a session.
func mtBenchTurns(f *file, o *Options, r *row, i int) ([]workload.Entry, error) {
	var turns []json.RawMessage
	if js := r.get("turns"); js == nil || json.Unmarshal(js, &turns) != nil {
		return nil, errors.New(`"turns": expected an array of texts`)
	}
	session := fmt.Sprint(i)
	if r.get("question_id") != nil {
		var err error
		if session, err = requiredName(r, "question_id"); err != nil {
			return nil, err
		}
	}
	var all []workload.Entry
	for turn, js := range turns {
		text, err := parseString(js)
		if err != nil {
			return nil, fmt.Errorf("\"turns\": turn %d: %w", turn, err)
		}
		e := workload.Entry{Prompt: &workload.Prompt{Text: text}, Turn: turn}
		if o.Sessions {
			e.Session = session
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		return nil, errors.New(`"turns" holds no turn`)
	}
	if n := len(all) - 1; n > 0 && !o.Sessions {
		if all = all[:1]; f.opening {
			f.facts.UnsentOf++
			f.facts.UnsentTurns += n
		}
	}
	return all, nil
}
