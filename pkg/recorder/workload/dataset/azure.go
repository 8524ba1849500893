package dataset

import (
	"fmt"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// azure is the layout of Azure's LLM inference traces of 2023 and 2024, in CSV:
//
//	TIMESTAMP,ContextTokens,GeneratedTokens
//	2023-11-16 18:17:03.9799600,4808,10
//
// The schedule starts with the first row. Rows without tokens are skipped.
type azure struct {
	f     *file
	o     *Options
	start time.Time // time of the first row
}

func fitsAzure(r *row, _ *file) bool { return r.has("TIMESTAMP", "ContextTokens", "GeneratedTokens") }

func newAzure(f *file, o *Options) layout {
	f.facts.Trace = true
	return &azure{f: f, o: o}
}

// azureTimes lists the time formats of 2024 and 2023, with fractions of a second of any
// length.
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

// parseTime parses a time in one of azureTimes. A time without a zone is UTC.
func parseTime(text string) (time.Time, error) {
	for _, form := range azureTimes {
		if t, err := time.Parse(form, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time such as 2023-11-16 18:17:03.979", clip([]byte(text)))
}
