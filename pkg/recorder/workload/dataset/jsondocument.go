package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/kserve"
)

// A document is a file with one JSON value: an array of rows, or an object with an array of
// rows named "data" (perf_analyzer, GenAI-Perf, AIPerf) or "rows" (the datasets server of
// Hugging Face).
type document struct {
	src    *source
	member string // name of the array of rows; "" for the document itself
	spans  []span
	unused []string // names of ignored members
	// streams means that the array holds arrays of rows, one per stream of steps. ends
	// then holds the number of rows up to the end of each stream.
	streams bool
	ends    []int
	// expected holds the elements of "validation_data", with streams like the rows.
	expected     []span
	expectedEnds []int
	lenient      bool // NaN and Infinity are numbers
}

// A span is the position of a value.
type span struct{ start, end int64 }

// rowMembers holds the names of arrays of rows.
var rowMembers = map[string]bool{"data": true, "rows": true}

// openDocument indexes the rows of src. An object without an array of rows is one row.
func openDocument(ctx context.Context, src *source) (*document, error) {
	d := &document{src: src}
	r, h := src.scan()
	s := &splitter{r: contextReader{ctx, r}, base: skipMark(r)}
	if err := d.read(s); err != nil {
		var e *Error
		if errors.As(err, &e) {
			e.Name = src.name
			return nil, e
		}
		return nil, fmt.Errorf("read %s: %w", src.name, err)
	}
	return d, src.finishHash(r, h)
}

// errTrailingText is the error for text after a document.
var errTrailingText = errors.New("more text after the end of the JSON value; a file holds one, or one on each line")

// contextReader is a reader that fails when its context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (s contextReader) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(b)
}

func (d *document) read(s *splitter) error {
	var err error
	switch s.peek() {
	case '[':
		d.spans, d.ends, d.streams, err = readElements(s)
	case '{':
		start := s.offset()
		err = s.list('{', '}', func() error { return d.readMember(s) })
		if d.member == "" {
			d.spans = []span{{start, s.offset()}}
		}
	default:
		return s.expected("an object or an array")
	}
	if err != nil {
		return err
	}
	if s.peek() != 0 || s.i < s.n {
		return s.errorAt(s.offset(), "%w", errTrailingText)
	}
	if s.err != nil && !errors.Is(s.err, io.EOF) {
		return s.err
	}
	return nil
}

// readMember reads one member of the document.
func (d *document) readMember(s *splitter) error {
	if s.peek() != '"' {
		return s.expected("a member's name")
	}
	start, end, err := s.skip()
	if err != nil {
		return err
	}
	quoted, err := d.src.read(start, end)
	if err != nil {
		return s.errorAt(start, "%w", err)
	}
	name, err := parseString(quoted)
	if err != nil {
		return s.errorAt(start, "%w", err)
	}
	if err := s.expect(':'); err != nil {
		return err
	}
	isArray := s.peek() == '['
	switch {
	case rowMembers[name] && isArray && d.member == "":
		d.member, d.lenient = name, name == "data"
		d.spans, d.ends, d.streams, err = readElements(s)
		return err
	case name == "conversations" && isArray && d.member == "":
		spans, ends, streams, err := readElements(s)
		if err == nil && streams {
			d.member, d.spans, d.ends, d.streams = name, spans, ends, true
		} else {
			d.unused = append(d.unused, name)
		}
		return err
	case name == "validation_data" && isArray:
		d.expected, d.expectedEnds, _, err = readElements(s)
		return err
	}
	d.unused = append(d.unused, name)
	start, end, err = s.skip()
	if err == nil && name == "data" && d.member == "" {
		value, _ := d.src.read(start, min(end, start+clipBytes))
		return s.errorAt(start, `"data" must be an array, found %s`, clip(value))
	}
	return err
}

// clipBytes bounds the text to read for clip, which shows less.
const clipBytes = 256

// readElements indexes the elements of an array, or the elements of its inner arrays.
func readElements(s *splitter) (all []span, ends []int, streams bool, err error) {
	flat := false
	err = s.elements(func() error {
		nested := s.peek() == '['
		if nested && flat || !nested && streams {
			return s.errorAt(s.offset(), "the array mixes objects (requests) and arrays (streams of requests); use one of the two")
		}
		streams, flat = nested, !nested
		one := func() error {
			start, end, err := s.skip()
			all = append(all, span{start, end})
			return err
		}
		if !nested {
			return one()
		}
		if err := s.elements(one); err != nil {
			return err
		}
		ends = append(ends, len(all))
		return nil
	})
	return all, ends, streams, err
}

// unwrapped returns the rows of d, without the envelope of the datasets server.
func (d *document) unwrapped() rows {
	if d.member == "rows" {
		return serverRows{d}
	}
	return d
}

func (d *document) len() int { return len(d.spans) }

func (d *document) row(i int) (*row, error) { return d.element(d.spans[i]) }

// element reads the object at a span.
func (d *document) element(at span) (*row, error) {
	text, err := d.src.read(at.start, at.end)
	if err != nil {
		return nil, err
	}
	if !d.lenient {
		return parseObject(text)
	}
	r := &row{text: text, fields: export.Fields{}}
	err = kserve.Members(text, func(name string, value []byte) error {
		r.fields = append(r.fields, export.Field{Name: name, Value: export.Value{Data: value}})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("not a valid request: %w", err)
	}
	return r, nil
}

func (d *document) fault(i int, err error) error {
	return &Error{Name: d.src.name, Kind: byOffset, Offset: d.spans[i].start, Err: err}
}

// position returns the stream of row i, and its index there.
func (d *document) position(i int) (stream, step int) {
	stream = sort.SearchInts(d.ends, i+1)
	if stream == 0 {
		return 0, i
	}
	return stream, i - d.ends[stream-1]
}
