package workload

import (
	"errors"
	"fmt"
	"time"
)

// Each returns the entries of src after change, which is called for the same entry
// again and again and must do the same. k is the entry's number. An error of change
// names the entry.
func Each(src Source, change func(k int, e *Entry) error) Source { return each{src, change} }

type each struct {
	Source
	change func(k int, e *Entry) error
}

// At implements Source.
func (s each) At(k int) (Entry, error) {
	e, err := s.Source.At(k)
	if err != nil {
		return e, err
	}
	if err := s.change(k, &e); err != nil {
		return e, fmt.Errorf("%s: %w", e.Place(), err)
	}
	return e, nil
}

// errWhole is of entries that are not made of a prompt.
var errWhole = errors.New("is a whole request, which is sent as it is")

// Answers is a change for Each: it asks for answers of a length, by draw, unless
// the entry says one itself; exact asks that they not be shorter.
func Answers(draw func(k int) int, exact bool) func(k int, e *Entry) error {
	return func(k int, e *Entry) error {
		if e.Prompt == nil || e.Prompt.Body != nil {
			return fmt.Errorf("the length of its answer cannot be set: it %w", errWhole)
		}
		p := *e.Prompt
		if e.Prompt = &p; p.MaxTokens == 0 {
			p.MaxTokens = draw(k)
		}
		p.Exact = exact
		return nil
	}
}

// Opened is a change for Each: it puts words in front of a prompt, and so in front
// of what a server may have in its cache of prompts.
func Opened(words func(k int) string) func(k int, e *Entry) error {
	return func(k int, e *Entry) error {
		if e.Prompt == nil || e.Prompt.Body != nil || e.Prompt.Messages != nil {
			return fmt.Errorf("nothing can be put in front of it: it %w", errWhole)
		}
		p := *e.Prompt
		e.Prompt = &p
		if p.System != "" {
			p.System = words(k) + " " + p.System
		} else {
			p.Text = words(k) + " " + p.Text
		}
		p.IDs = nil
		return nil
	}
}

// Slower is a change for Each: it multiplies think times.
func Slower(ratio float64) func(k int, e *Entry) error {
	return func(_ int, e *Entry) error {
		e.Delay = time.Duration(float64(e.Delay) * ratio)
		return nil
	}
}
