package dataset

import (
	"errors"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// lengths returns the entry of row i of a trace that holds only lengths.
func (o *Options) lengths(i, input, output int, at time.Duration) (workload.Entry, error) {
	e := workload.Entry{Timed: true, Offset: at}
	if o.Texts == nil {
		return e, errNoTexts
	}
	text, ids, err := o.Texts.Text(uint64(i), input)
	e.Prompt = &workload.Prompt{Text: text, IDs: ids, MaxTokens: output}
	return e, err
}

// required returns an error for a missing field.
func required[T any](v T, ok bool, err error) (T, error) {
	if err == nil && !ok {
		err = errors.New("a required field is empty")
	}
	return v, err
}
