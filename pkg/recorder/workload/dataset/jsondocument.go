package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/kserve"
)

// A document is a file that is one JSON value: an array of rows, or an object
// that has the rows in an array named "data" (perf_analyzer, GenAI-Perf, AIPerf)
// or "rows" (the datasets server of Hugging Face).
type document struct {
	src    *source
	member string // that holds the rows; "" is the document itself
	spans  []span
	unused []string // members that were read past
	// streams says that the rows are those of arrays within the array, one
	// stream of steps each; ends are the numbers of the rows behind them.
	streams bool
	ends    []int
	// expected are the elements of "validation_data", in streams if the rows are.
	expected     []span
	expectedEnds []int
	lenient      bool // NaN and Infinity are numbers
}

// A span is where a value is.
type span struct{ start, end int64 }

// rowMembers are the names of arrays of rows.
var rowMembers = map[string]bool{"data": true, "rows": true}

// openDocument finds the rows of src. An object without them is one row.
func openDocument(ctx context.Context, src *source) (*document, error) {
	d := &document{src: src}
	r, h := src.scan()
	s := &splitter{r: stopping{ctx, r}, base: skipMark(r)}
	if err := d.read(s); err != nil {
		var e *Error
		if errors.As(err, &e) {
			e.Name = src.name
			return nil, e
		}
		return nil, fmt.Errorf("read %s: %w", src.name, err)
	}
	return d, src.hashed(r, h)
}

// errMore is of a file that goes on behind a document.
var errMore = errors.New("more text after the end of the JSON value; a file holds one, or one on each line")

// stopping is a reader that ends with a context.
type stopping struct {
	ctx context.Context
	r   io.Reader
}

func (s stopping) Read(b []byte) (int, error) {
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
		return s.errorAt(s.offset(), "%w", errMore)
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

// clipBytes is enough for clip.
const clipBytes = 256

// readElements finds the elements of an array, or those of the arrays that are
// its elements.
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

// unwrapped returns the rows of d; those of the datasets server out of what it
// puts around them.
func (d *document) unwrapped() rows {
	if d.member == "rows" {
		return served{d}
	}
	return d
}

func (d *document) len() int { return len(d.spans) }

func (d *document) row(i int) (*row, error) {
	r, err := d.element(d.spans[i])
	if err != nil {
		return nil, d.fault(i, err)
	}
	return r, nil
}

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

// place returns in which stream row i is, and at which place there.
func (d *document) place(i int) (stream, step int) { return placeIn(d.ends, i) }

// placeIn returns between which ends i lies, and how far behind the first.
func placeIn(ends []int, i int) (stream, step int) {
	if ends == nil {
		return 0, i
	}
	lo, hi := 0, len(ends)
	for lo < hi {
		if mid := (lo + hi) / 2; ends[mid] <= i {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return 0, i
	}
	return lo, i - ends[lo-1]
}
