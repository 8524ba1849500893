package dataset

import (
	"errors"
	"fmt"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

func fitsAppliedCompute(r *row, _ *file) bool {
	return r.has("num_turns", "input_prompt_length", "assistant_response_length")
}

// appliedComputeGroup makes each row a session.
func appliedComputeGroup(_ *file, _ *Options, _ *row, i int) ([]string, error) {
	return []string{fmt.Sprint(i)}, nil
}

// appliedComputeSessions returns the session of a row of Applied Compute's agentic workload: num_turns requests that call tools, and a last
// one.
//
//	{"num_turns": 2, "input_prompt_length": 4096, "assistant_response_length": [128, 96], "tool_call_output_length": [512, 256],
//	 "tool_call_latency": [1.4, 0.8], "final_assistant_response_length": 64}
//
// The latencies are seconds.
func appliedComputeSessions(f *file, o *Options, rows []groupRow) ([]*workload.Session, error) {
	r := rows[0]
	id, ok, err := r.string("session_id")
	if err != nil {
		return nil, err
	}
	if !ok {
		id = fmt.Sprint(r.i)
	}
	turns, err := requiredCount(r.row, "num_turns")
	if err != nil {
		return nil, err
	}
	prompt, err := requiredCount(r.row, "input_prompt_length")
	if err == nil && prompt == 0 {
		err = errors.New(`"input_prompt_length": 0: must be at least 1`)
	}
	if err != nil {
		return nil, err
	}
	answers, err := requiredCounts(r.row, "assistant_response_length", turns)
	if err != nil {
		return nil, err
	}
	results, err := requiredCounts(r.row, "tool_call_output_length", turns)
	if err != nil {
		return nil, err
	}
	if r.get("tool_call_latency") == nil {
		return nil, missing(r.row, "tool_call_latency")
	}
	waits, err := waitsOf(r.row, "tool_call_latency", turns)
	if err != nil {
		return nil, err
	}
	last, err := requiredCount(r.row, "final_assistant_response_length")
	if err != nil {
		return nil, err
	}
	steps := []lengthsStep{{added: prompt}}
	for i := range turns {
		steps[i].answer = answers[i]
		steps = append(steps, lengthsStep{added: results[i], wait: waits[i]})
	}
	steps[turns].answer = last
	s, err := lengthsSession(f, o, id, "session "+id, r.i, steps)
	return []*workload.Session{s}, err
}
