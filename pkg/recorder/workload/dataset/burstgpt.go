package dataset

import (
	"fmt"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// burstGPT is the layout of BurstGPT's traces, in CSV:
//
//	Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
//	Timestamp,Session ID,Elapsed time,Model,Request tokens,…
//
// Times are in seconds. Failed requests have no response tokens and are skipped.
type burstGPT struct {
	f *file
	o *Options
}

func fitsBurstGPT(r *row, _ *file) bool {
	return r.has("Timestamp", "Request tokens", "Response tokens")
}

func newBurstGPT(f *file, o *Options) layout {
	f.facts.Trace = true
	return &burstGPT{f, o}
}

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
