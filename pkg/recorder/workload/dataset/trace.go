package dataset

import (
	"errors"
	"fmt"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// lengths makes the entry of row i of a trace, of which only the lengths are
// known.
func (o *Options) lengths(i, input, output int, at time.Duration) (workload.Entry, error) {
	e := workload.Entry{Timed: true, Offset: at}
	if o.Texts == nil {
		return e, errNoTexts
	}
	text, ids, err := o.Texts.Text(uint64(i), input)
	e.Prompt = &workload.Prompt{Text: text, IDs: ids, MaxTokens: output}
	return e, err
}

// burstGPT are the traces of BurstGPT, CSV:
//
//	Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
//	Timestamp,Session ID,Elapsed time,Model,Request tokens,…
//
// with the time in seconds. Requests that failed have no response tokens; they
// are left out.
type burstGPT struct {
	f *file
	o *Options
}

func fitsBurstGPT(r *row, _ *file) bool {
	return r.has("Timestamp", "Request tokens", "Response tokens")
}

func newBurstGPT(f *file, o *Options) layout { return &burstGPT{f, o} }

func (l *burstGPT) entries(r *row, i int) ([]workload.Entry, error) {
	at, err := required(r.number("Timestamp"))
	if err != nil {
		return nil, err
	}
	offset, err := duration(at, time.Second)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", "Timestamp", err)
	}
	input, err := required(r.count("Request tokens"))
	if err != nil {
		return nil, err
	}
	output, err := required(r.count("Response tokens"))
	if err != nil {
		return nil, err
	}
	if input == 0 || output == 0 {
		l.f.leaveOut("a request that failed")
		return nil, nil
	}
	e, err := l.o.lengths(i, input, output, offset)
	if err != nil {
		return nil, err
	}
	if e.Session, _, err = r.string("Session ID"); err != nil {
		return nil, err
	}
	return []workload.Entry{e}, nil
}

// required makes an error of what is missing.
func required[T any](v T, ok bool, err error) (T, error) {
	if err == nil && !ok {
		err = errors.New("a field is empty; expected a number")
	}
	return v, err
}

// azure are the traces of Azure's LLM inference of 2023 and 2024, CSV:
//
//	TIMESTAMP,ContextTokens,GeneratedTokens
//	2023-11-16 18:17:03.9799600,4808,10
//
// The schedule begins with the first row. Rows without tokens are left out.
type azure struct {
	f     *file
	o     *Options
	start time.Time // of the first row
}

func fitsAzure(r *row, _ *file) bool { return r.has("TIMESTAMP", "ContextTokens", "GeneratedTokens") }

func newAzure(f *file, o *Options) layout { return &azure{f: f, o: o} }

// azureTimes are the forms of time stamps of 2024 and 2023. Fractions of a second
// of any length are read too.
var azureTimes = []string{"2006-01-02 15:04:05Z07:00", time.DateTime, time.RFC3339, "2006-01-02T15:04:05"}

func (l *azure) entries(r *row, i int) ([]workload.Entry, error) {
	text, err := required(r.string("TIMESTAMP"))
	if err != nil {
		return nil, err
	}
	at, err := parseTime(text)
	if err != nil {
		return nil, fmt.Errorf("\"TIMESTAMP\": %w", err)
	}
	if l.start.IsZero() {
		l.start = at
	}
	if at.Before(l.start) {
		return nil, fmt.Errorf("\"TIMESTAMP\": %s is before the first row, %s; sort the trace by time", text, l.start.Format(time.DateTime))
	}
	input, err := required(r.count("ContextTokens"))
	if err != nil {
		return nil, err
	}
	output, err := required(r.count("GeneratedTokens"))
	if err != nil {
		return nil, err
	}
	if input == 0 || output == 0 {
		l.f.leaveOut("a request without tokens")
		return nil, nil
	}
	e, err := l.o.lengths(i, input, output, at.Sub(l.start))
	if err != nil {
		return nil, err
	}
	return []workload.Entry{e}, nil
}

// parseTime reads a time stamp in one of the forms; without a zone it is UTC.
func parseTime(text string) (time.Time, error) {
	for _, form := range azureTimes {
		if t, err := time.Parse(form, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time such as 2023-11-16 18:17:03.979", clip([]byte(text)))
}
