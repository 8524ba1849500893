package dataset

import (
	"errors"
	"fmt"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

func fitsRollouts(r *row, _ *file) bool { return r.has("group", "stream", "prompt_len", "out_lens") }

// rolloutSessions returns the sessions of the streams of a group of rollouts, in the layout of tpu-inference: each row is a session that
// begins with the prompt of the group and goes on with its own answers and what the tools returned.
//
//	{"group": 3, "stream": 0, "prompt_len": 900, "out_lens": [80, 40], "obs_lens": [300, 0], "tool_times": [1.5, 0]}
//
// The times are seconds. The prompt has the length in the group's first row.
func rolloutSessions(f *file, o *Options, rows []groupRow) ([]*workload.Session, error) {
	group, err := requiredName(rows[0].row, "group")
	if err != nil {
		return nil, err
	}
	prompt := 0
	var all []*workload.Session
	for k, r := range rows {
		stream, err := requiredName(r.row, "stream")
		var own int
		if err == nil {
			own, err = requiredCount(r.row, "prompt_len")
		}
		switch {
		case err != nil:
		case k == 0:
			if prompt = own; own == 0 {
				err = errors.New(`"prompt_len": 0: must be at least 1`)
			}
		case own != prompt:
			f.assume(`a group has the "prompt_len" of its first row`)
		}
		var steps []lengthsStep
		if err == nil {
			steps, err = rolloutSteps(r.row, prompt)
		}
		var s *workload.Session
		if err == nil {
			s, err = lengthsSession(f, o, group+"/"+stream, "group "+group, r.i, steps)
		}
		if err != nil {
			return nil, r.fault("%w", err)
		}
		all = append(all, s)
	}
	return all, nil
}

// rolloutSteps returns the requests of a row.
func rolloutSteps(r *row, prompt int) ([]lengthsStep, error) {
	outs, _, err := r.counts("out_lens")
	if err == nil && len(outs) == 0 {
		err = errors.New(`"out_lens": expected the lengths of at least one answer`)
	}
	if err != nil {
		return nil, err
	}
	seen, ok, err := r.counts("obs_lens")
	switch {
	case err != nil:
		return nil, err
	case !ok && len(outs) > 1:
		return nil, missing(r, "obs_lens")
	case ok && len(seen) != len(outs) && len(seen) != len(outs)-1:
		return nil, fmt.Errorf("\"obs_lens\": expected %d numbers, one for each of \"out_lens\", found %d", len(outs), len(seen))
	}
	waits, err := waitsOf(r, "tool_times", len(seen))
	if err != nil {
		return nil, err
	}
	steps := []lengthsStep{{added: prompt, answer: outs[0]}}
	for i, n := range outs[1:] {
		steps = append(steps, lengthsStep{added: seen[i], answer: n, wait: waits[i]})
	}
	return steps, nil
}
