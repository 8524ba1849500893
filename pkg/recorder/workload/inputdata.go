package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pa-tools/pa/pkg/export"
)

// An InputData is perf_analyzer's input data, read from one or more JSON files:
//
//	{"data": [ {"NAME": VALUE, …}, … ]}          steps of stream 0
//	{"data": [ [ {…}, … ], [ {…}, … ] ]}         one stream per inner array
//
// Values keep their order and number text.
type InputData struct {
	// Streams[i][j] is step j of stream i. Several files append to stream 0
	// when they hold steps, and add streams when they hold streams.
	Streams [][]Entry
	// Warnings are members that were read past, one line each.
	Warnings []string

	turns map[string]int // read of each session
}

// An InputError is a mistake in an input data file.
type InputError struct {
	Name   string
	Offset int64 // of the value at fault
	Msg    string
}

func (e *InputError) Error() string { return fmt.Sprintf("%s: byte %d: %s", e.Name, e.Offset, e.Msg) }

// ReadInputData reads the files of paths, in order. Errors are of type
// *InputError or of the file system.
func ReadInputData(paths []string) (*InputData, error) {
	d := &InputData{}
	for _, p := range paths {
		if err := d.readFile(p); err != nil {
			return nil, err
		}
	}
	if len(d.Streams) == 0 || len(d.Streams[0]) == 0 {
		return nil, fmt.Errorf("%s: \"data\" holds no request; add at least one object to it", paths[len(paths)-1])
	}
	return d, nil
}

func (d *InputData) readFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("input data %s: no such file; --input-data takes zero, random or the path of a JSON file", path)
		}
		return fmt.Errorf("input data: %w", err)
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return fmt.Errorf("input data %s: is a directory; give a JSON file", path)
	}
	return d.read(path, f)
}

// read parses one document. name is for messages.
func (d *InputData) read(name string, r io.Reader) error {
	if d.turns == nil {
		d.turns = map[string]int{}
	}
	p := &inputParser{name: name, turns: d.turns, dec: jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	if k := p.dec.PeekKind(); k != '{' {
		if _, err := p.dec.ReadToken(); err != nil {
			return p.syntax(err)
		}
		return p.errorf("expected an object with \"data\", found %s", kindName(k))
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return p.syntax(err)
	}
	found := false
	for p.dec.PeekKind() != '}' {
		key, err := p.name1()
		if err != nil {
			return err
		}
		if key != "data" {
			if err := p.dec.SkipValue(); err != nil {
				return p.syntax(err)
			}
			d.Warnings = append(d.Warnings, fmt.Sprintf("%s: member %q is not used", name, key))
			continue
		}
		found = true
		if err := d.readData(p); err != nil {
			return err
		}
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return p.syntax(err)
	}
	if _, err := p.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return p.errorf("more text after the end of the document; a file holds one JSON object")
	}
	if !found {
		return p.errorf("no member \"data\"; perf_analyzer's input data is {\"data\": [ {…}, … ]}")
	}
	return nil
}

// readData reads the array of steps or of streams.
func (d *InputData) readData(p *inputParser) error {
	if k := p.dec.PeekKind(); k != '[' {
		if err := p.dec.SkipValue(); err != nil {
			return p.syntax(err)
		}
		return p.errorf("\"data\" must be an array, found %s", kindName(k))
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return p.syntax(err)
	}
	var kind jsontext.Kind
	for p.dec.PeekKind() != ']' {
		k := p.dec.PeekKind()
		if kind == 0 {
			kind = k
		}
		if k != kind && (k == '{' || k == '[') {
			return p.errorf("\"data\" mixes objects (requests) and arrays (streams of requests); use one of the two")
		}
		switch k {
		case '{':
			if len(d.Streams) == 0 {
				d.Streams = append(d.Streams, nil)
			}
			step, err := p.step(0, len(d.Streams[0]))
			if err != nil {
				return err
			}
			d.Streams[0] = append(d.Streams[0], step)
		case '[':
			steps, err := p.stream(len(d.Streams))
			if err != nil {
				return err
			}
			d.Streams = append(d.Streams, steps)
		default:
			if err := p.dec.SkipValue(); err != nil {
				return p.syntax(err)
			}
			return p.errorf("an element of \"data\" must be an object (a request) or an array of objects, found %s", kindName(k))
		}
	}
	_, err := p.dec.ReadToken()
	if err != nil {
		return p.syntax(err)
	}
	return nil
}

type inputParser struct {
	name  string
	dec   *jsontext.Decoder
	turns map[string]int
}

func (p *inputParser) stream(index int) ([]Entry, error) {
	if _, err := p.dec.ReadToken(); err != nil {
		return nil, p.syntax(err)
	}
	steps := []Entry{}
	for p.dec.PeekKind() != ']' {
		if k := p.dec.PeekKind(); k != '{' {
			if err := p.dec.SkipValue(); err != nil {
				return nil, p.syntax(err)
			}
			return nil, p.errorf("stream %d: a step must be an object, found %s", index, kindName(k))
		}
		s, err := p.step(index, len(steps))
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return nil, p.syntax(err)
	}
	return steps, nil
}

func (p *inputParser) step(stream, step int) (Entry, error) {
	e := Entry{Stream: stream, Step: step, Values: export.Fields{}}
	if _, err := p.dec.ReadToken(); err != nil {
		return e, p.syntax(err)
	}
	for p.dec.PeekKind() != '}' {
		key, err := p.name1()
		if err != nil {
			return e, err
		}
		v, err := p.dec.ReadValue()
		if err != nil {
			return e, p.syntax(err)
		}
		if _, dup := e.Values.Get(key); dup {
			return e, p.errorf("stream %d, step %d: %q is given twice", stream, step, key)
		}
		// ReadValue's buffer is reused, so the value is copied before it is
		// compacted in place.
		raw := jsontext.Value(bytes.Clone(v))
		if err := raw.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
			return e, p.syntax(err)
		}
		e.Values = append(e.Values, export.Field{Name: key, Value: export.Value{Data: raw}})
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return e, p.syntax(err)
	}
	if err := e.readTiming(); err != nil {
		return e, p.errorf("stream %d, step %d: %v", stream, step, err)
	}
	if e.Session != "" {
		e.Turn = p.turns[e.Session]
		p.turns[e.Session]++
	}
	return e, nil
}

// readTiming reads from e.Values what GenAI-Perf puts beside a request:
//
//	"session_id":["NAME"]  "delay":[MS]  "timestamp":[MS]
//
// The values stay where they are. Beside a payload they mean this and nothing
// else; a tensor of such a name may hold anything.
func (e *Entry) readTiming() error {
	_, strict := e.Values.Get("payload")
	for _, f := range e.Values {
		var err error
		switch f.Name {
		case "session_id":
			e.Session, err = onlyText(f.Value.Data)
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

// onlyText reads a string, alone or as the one element of an array.
func onlyText(js []byte) (s string, err error) {
	var list []string
	if json.Unmarshal(js, &s) == nil {
		return s, nil
	}
	if json.Unmarshal(js, &list) != nil || len(list) != 1 {
		return "", fmt.Errorf("expected an array with one string, found %.40q", js)
	}
	return list[0], nil
}

// onlyMilliseconds reads a time of at least 0, alone or as the one element of an
// array.
func onlyMilliseconds(js []byte) (time.Duration, error) {
	var ms float64
	var list []float64
	if json.Unmarshal(js, &ms) != nil {
		if json.Unmarshal(js, &list) != nil || len(list) != 1 {
			return 0, fmt.Errorf("expected an array with one number of milliseconds, found %.40q", js)
		}
		ms = list[0]
	}
	return milliseconds(ms)
}

// milliseconds checks a time of at least 0, which a Duration must hold.
func milliseconds(ms float64) (time.Duration, error) {
	ns := math.Round(ms * 1e6)
	if !(ns >= 0 && ns < math.MaxInt64) {
		return 0, fmt.Errorf("%v milliseconds: must be from 0 to %d", ms, math.MaxInt64/1_000_000)
	}
	return time.Duration(ns), nil
}

// name1 reads an object member's name.
func (p *inputParser) name1() (string, error) {
	t, err := p.dec.ReadToken()
	if err != nil {
		return "", p.syntax(err)
	}
	return t.String(), nil
}

func (p *inputParser) errorf(format string, args ...any) error {
	return &InputError{Name: p.name, Offset: p.dec.InputOffset(), Msg: fmt.Sprintf(format, args...)}
}

// syntax turns a decoder's error into one that names the file and the place.
func (p *inputParser) syntax(err error) error {
	var se *jsontext.SyntacticError
	switch {
	case errors.As(err, &se):
		return &InputError{Name: p.name, Offset: se.ByteOffset, Msg: "not valid JSON: " + se.Err.Error()}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &InputError{Name: p.name, Offset: p.dec.InputOffset(), Msg: "not valid JSON: the file ends inside a value"}
	}
	return fmt.Errorf("input data %s: %w", p.name, err)
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "no value"
}
