package trace

import (
	"bufio"
	"encoding/json"
	"io"
	"math"
	"strconv"

	"github.com/pa-tools/pa/internal/sanitize"
)

// An event is a trace event. The Trace Event Format names its fields.
type event struct {
	Name  string  `json:"name"`
	Cat   string  `json:"cat,omitempty"`
	Phase string  `json:"ph"`
	Time  micros  `json:"ts"`
	Dur   *micros `json:"dur,omitempty"` // of phase X
	PID   int     `json:"pid"`
	TID   int     `json:"tid"`
	Scope string  `json:"s,omitempty"` // of phase i
	Args  any     `json:"args,omitempty"`
}

// Phases of events.
const (
	phaseSlice    = "X"
	phaseInstant  = "i"
	phaseCounter  = "C"
	phaseMetadata = "M"
)

// micros are nanoseconds that JSON shows as microseconds with three decimals.
type micros int64

// MarshalJSON writes the number without rounding.
func (m micros) MarshalJSON() ([]byte, error) {
	var b []byte
	if m < 0 {
		b, m = append(b, '-'), -m
	}
	b = strconv.AppendUint(b, uint64(m)/1000, 10)
	rest := uint64(m) % 1000
	return append(b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10)), nil
}

// A writer writes the events of one file. After the first error it writes nothing.
type writer struct {
	out    *bufio.Writer
	enc    *json.Encoder
	events int
	err    error
}

// newWriter begins a file.
func newWriter(w io.Writer) *writer {
	out := bufio.NewWriterSize(w, 1<<16)
	return &writer{out: out, enc: json.NewEncoder(sanitize.NewJSONWriter(out))}
}

// add writes an event; the first one begins the list.
func (w *writer) add(e *event) {
	if w.err != nil {
		return
	}
	separator := ","
	if w.events == 0 {
		separator = `{"traceEvents":[` + "\n"
	}
	w.events++
	if _, w.err = w.out.WriteString(separator); w.err == nil {
		w.err = w.enc.Encode(e)
	}
}

// slice writes a slice with the nanoseconds of its times among the arguments.
func (w *writer) slice(name string, pid, tid int, from, ns int64) {
	dur := micros(ns)
	w.add(&event{Name: name, Cat: "phase", Phase: phaseSlice, Time: micros(from), Dur: &dur, PID: pid, TID: tid, Args: times{from, ns}})
}

// times are the arguments of a slice.
type times struct {
	StartNS    int64 `json:"start_ns"`
	DurationNS int64 `json:"duration_ns"`
}

// counter writes the value of a counter from a time on. Values that JSON cannot hold are left out.
func (w *writer) counter(name string, pid int, at int64, value float64) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return
	}
	w.add(&event{Name: name, Phase: phaseCounter, Time: micros(at), PID: pid, Args: counted{value}})
}

type counted struct {
	Value float64 `json:"value"`
}

// name names a process or a thread and gives its place in the order of the viewer; what is
// "process" or "thread".
func (w *writer) name(what string, pid, tid int, name string, order int) {
	w.add(&event{Name: what + "_name", Phase: phaseMetadata, PID: pid, TID: tid, Args: map[string]string{"name": name}})
	w.add(&event{Name: what + "_sort_index", Phase: phaseMetadata, PID: pid, TID: tid, Args: map[string]int{"sort_index": order}})
}

// close writes the facts about the run, and ends the file.
func (w *writer) close(about map[string]string) error {
	if w.err != nil {
		return w.err
	}
	if w.events == 0 {
		if _, err := w.out.WriteString(`{"traceEvents":[`); err != nil {
			return err
		}
	}
	if _, err := w.out.WriteString(`],"displayTimeUnit":"ms","otherData":`); err != nil {
		return err
	}
	if err := w.enc.Encode(about); err != nil {
		return err
	}
	if _, err := w.out.WriteString("}\n"); err != nil {
		return err
	}
	return w.out.Flush()
}
