package dataset

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

func fitsPerfAnalyzer(r *row, f *file) bool {
	doc, ok := f.rows.(*document)
	return ok && doc.member == "data" && !r.has("payloads")
}

// perfAnalyzerStep returns the entry of a step of perf_analyzer's input data and of GenAI-Perf's inputs.json:
//
//	{"data": [ {"NAME": VALUE, …}, … ]}          steps of stream 0
//	{"data": [ [ {…}, … ], [ {…}, … ] ]}         one stream per inner array
//	{…, "validation_data": […]}                  expected outputs, in the same form
//
// Values keep their order and the text of numbers.
func perfAnalyzerStep(f *file, _ *Options, r *row, i int) ([]workload.Entry, error) {
	doc := f.rows.(*document)
	stream, step := doc.position(i)
	e := workload.Entry{Stream: stream, Step: step, Values: r.fields}
	seen := map[string]bool{}
	for _, m := range r.fields {
		if seen[m.Name] {
			return nil, fmt.Errorf("%q is given twice", clip([]byte(m.Name)))
		}
		seen[m.Name] = true
	}
	if err := readTiming(&e); err != nil {
		return nil, err
	}
	if at := doc.expectedAt(stream, step); at >= 0 {
		want, err := doc.element(doc.expected[at])
		if err != nil {
			return nil, fmt.Errorf("validation_data: %w", err)
		}
		e.Expected = want.fields
	}
	return []workload.Entry{e}, nil
}

// expectedAt returns the index in d.expected for a step, or −1.
func (d *document) expectedAt(stream, step int) int {
	begin, end := 0, len(d.expected)
	if d.expectedEnds != nil {
		if stream >= len(d.expectedEnds) {
			return -1
		}
		if end = d.expectedEnds[stream]; stream > 0 {
			begin = d.expectedEnds[stream-1]
		}
	} else if stream > 0 {
		return -1
	}
	if begin+step >= end {
		return -1
	}
	return begin + step
}

// readTiming reads the members that GenAI-Perf puts beside a request from e.Values:
//
//	"session_id":["NAME"]  "delay":[MS]  "timestamp":[MS]
//
// The values remain in e.Values. Beside a payload, a bad value is an error. Otherwise a bad
// value is a tensor with that name.
func readTiming(e *workload.Entry) error {
	_, strict := e.Values.Get("payload")
	for _, f := range e.Values {
		var err error
		switch f.Name {
		case "session_id":
			e.Session, err = onlyString(f.Value.Data)
		case "delay":
			e.Delay, err = onlyMilliseconds(f.Value.Data)
		case "timestamp":
			e.Offset, err = onlyMilliseconds(f.Value.Data)
			e.Timed = err == nil
		}
		if err != nil && strict {
			return fmt.Errorf("%q: %w", f.Name, err)
		}
	}
	return nil
}

// only returns the single element of an array, or js itself.
func only(js []byte) []byte {
	var list []json.RawMessage
	if json.Unmarshal(js, &list) == nil && len(list) == 1 {
		return list[0]
	}
	return js
}

// onlyString parses a string, or an array of one string.
func onlyString(js []byte) (string, error) {
	s, err := parseString(only(js))
	if err != nil {
		return "", fmt.Errorf("expected an array with one string, found %s", clip(js))
	}
	return s, nil
}

// onlyMilliseconds parses a time of at least 0, or an array of one time.
func onlyMilliseconds(js []byte) (time.Duration, error) {
	ms, err := parseNumber(only(js))
	if err != nil {
		return 0, fmt.Errorf("expected an array with one number of milliseconds, found %s", clip(js))
	}
	return duration(ms, time.Millisecond)
}
