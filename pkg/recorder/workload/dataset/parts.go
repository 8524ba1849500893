package dataset

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// partName returns the name of the part of a text that is called by these, and begins at a token of it.
func partName(of string, number, begin int) uint64 {
	h := fnv.New64a()
	h.Write([]byte(of))
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(number))) //nolint:gosec // the bits
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(begin)))  //nolint:gosec // the bits
	return h.Sum64()
}

// noIDs returns err, or an error if a made-up text of a message is token ids.
func noIDs(text string, ids []uint32, err error) error {
	if err == nil && text == "" && ids != nil {
		err = errors.New("its requests hold messages, whose texts cannot be token ids; drop --prompt-ids")
	}
	return err
}

// partsPrompt returns a prompt of a text of parts.
func (o *Options) partsPrompt(parts workload.TextParts) (p *workload.Prompt, err error) {
	if o.Texts == nil {
		return nil, errNoTexts
	}
	p = &workload.Prompt{}
	p.Text, p.IDs, err = o.Texts.Parts(parts.Names, parts.Tokens)
	return p, err
}

// A lengthsStep is a request of a session that is known by its lengths: it asks for an answer after a number of new tokens, which follow the
// history.
type lengthsStep struct {
	added  int // tokens after the history, at least one in the first step
	answer int // recorded tokens of the answer
	wait   time.Duration
}

// lengthsSession returns a session of requests that are known by their lengths. The history of a request is all before it, with a made-up
// answer of the recorded length. The new tokens of the first step are the same in all sessions with one head.
func lengthsSession(f *file, o *Options, id, head string, row int, steps []lengthsStep) (*workload.Session, error) {
	var all workload.TextParts
	total := 0
	waits, ends := make([]time.Duration, len(steps)), make([]int, len(steps))
	for i, one := range steps {
		waits[i] = one.wait
		if i == 0 {
			all.Add(partName(head, 0, 0), one.added)
		} else {
			all.Add(partName(id, 2*i-1, 0), steps[i-1].answer)
			all.Add(partName(id, 2*i, 0), one.added)
		}
		ends[i] = len(all.Names)
		if total += one.added; total > mostTokens {
			return nil, tooLong(total)
		}
		total += one.answer
	}
	return &workload.Session{ID: id, Nodes: chained(waits), Recorded: true, Entry: func(i int) (workload.Entry, error) {
		p, err := o.partsPrompt(workload.TextParts{Names: all.Names[:ends[i]], Tokens: all.Tokens[:ends[i]]})
		if err != nil {
			return workload.Entry{}, f.rows.fault(row, err)
		}
		p.MaxTokens = f.atLeastOne(steps[i].answer)
		return workload.Entry{Step: row, Prompt: p, Whole: true}, nil
	}}, nil
}

// parseList parses an array.
func parseList[T any](js []byte, parse func([]byte) (T, error)) ([]T, error) {
	var all []json.RawMessage
	if json.Unmarshal(js, &all) != nil {
		return nil, fmt.Errorf("expected an array, found %s", clip(js))
	}
	out := make([]T, len(all))
	for i, e := range all {
		v, err := parse(e)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		out[i] = v
	}
	return out, nil
}

func parseCounts(js []byte) ([]int, error) { return parseList(js, parseCount) }

// counts returns a member that is a list of whole numbers of at least 0; ok is false if it is absent or null.
func (r *row) counts(name string) (all []int, ok bool, err error) {
	return member(r, name, parseCounts)
}

// numbers returns a member that is a list of numbers; ok is false if it is absent or null.
func (r *row) numbers(name string) (all []float64, ok bool, err error) {
	return member(r, name, func(js []byte) ([]float64, error) { return parseList(js, parseNumber) })
}

// requiredCounts returns a list of n whole numbers of at least 0.
func requiredCounts(r *row, name string, n int) ([]int, error) {
	all, err := requiredMember(r, name, parseCounts)
	if err == nil && len(all) != n {
		err = fmt.Errorf("%q: expected %d numbers, found %d", name, n, len(all))
	}
	return all, err
}

// requiredCount returns a whole number of at least 0.
func requiredCount(r *row, name string) (int, error) {
	return requiredMember(r, name, parseCount)
}

// waitsOf returns a member that is a list of n times in seconds; zeros if it is absent.
func waitsOf(r *row, name string, n int) ([]time.Duration, error) {
	all, ok, err := r.numbers(name)
	waits := make([]time.Duration, n)
	switch {
	case err != nil || !ok:
		return waits, err
	case len(all) != n:
		return nil, fmt.Errorf("%q: expected %d numbers, found %d", name, n, len(all))
	}
	for i, s := range all {
		if waits[i], err = duration(s, time.Second); err != nil {
			return nil, fmt.Errorf("%q: number %d: %w", name, i, err)
		}
	}
	return waits, nil
}
