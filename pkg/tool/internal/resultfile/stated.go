package resultfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pa-tools/pa/pkg/analyze/stated"
)

// A Statement is a kind of file that states figures of a tool.
type Statement struct {
	// Definitions, Dialect and Rates are as in [stated.Result].
	Definitions, Dialect string
	Rates                stated.Rates
	// Is reports whether an object is a result of the kind.
	Is func(*Object) bool
	// Read adds a level, or several, to the result, and sets what the object says of the run.
	Read func(*Object, *stated.Result)
	// Decode returns the objects of a file that is not JSON, or adds the levels of one without objects to the result; ok is false for
	// files of other kinds. It is nil for kinds that are JSON only.
	Decode func(content []byte, r *stated.Result) (all []*Object, ok bool, err error)
	// Sniff recognizes files that no reader of requests knows, by their start; nil for the other files.
	Sniff func(*Outline) bool
}

// result returns an empty result of the statement.
func (s *Statement) result(file string) *stated.Result {
	return &stated.Result{File: file, Definitions: s.Definitions, Dialect: s.Dialect, Rates: s.Rates}
}

const (
	// MaxStatedBytes bounds a file of figures, far above what tools write without requests.
	MaxStatedBytes = 16 << 20
	// maxStatedDepth bounds how deep its objects are nested.
	maxStatedDepth = 64
	// mostLevels bounds the levels of a file.
	mostLevels = 10_000
	// maxStatedMemory bounds the memory for the values of a file with their paths.
	maxStatedMemory = 256 << 20
)

// noRequests marks the error of a file that has the layout of a tool's results and keeps no requests.
type noRequests struct{ error }

// NoRequests marks the error of a file that keeps no requests: if the file states figures, [Formats] returns them in a
// [*stated.Error].
func NoRequests(err error) error { return noRequests{err} }

// Unwrap returns the error.
func (e noRequests) Unwrap() error { return e.error }

// stateFigures returns the error of a file without requests, with the figures that it states if one of the statements knows them.
func stateFigures(f *File, statements []Statement, why error) error {
	r, err := readStated(f, statements)
	switch {
	case err != nil:
		return fmt.Errorf("%w (its figures cannot be read either: %w)", why, err)
	case r == nil:
		return why
	}
	return &stated.Error{Result: r, Err: why}
}

// readStated reads the figures of a file; nil if no statement knows it.
func readStated(f *File, statements []Statement) (*stated.Result, error) {
	if f.size > MaxStatedBytes {
		return nil, fmt.Errorf("the file has %d bytes, and figures are read from files of at most %d", f.size, MaxStatedBytes)
	}
	content := make([]byte, f.size)
	if _, err := f.Src.ReadAt(content, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", f.Name, err)
	}
	return stateContent(f.Name, content, statements)
}

// Stated returns the figures of the content of a file; nil if no statement of the kinds knows it.
func Stated(name string, content []byte, kinds ...Kind) (*stated.Result, error) {
	var statements []Statement
	for _, k := range kinds {
		statements = append(statements, k.Stated...)
	}
	return stateContent(name, content, statements)
}

// stateContent reads the figures of a content. All its results are of the tool of the first one.
func stateContent(name string, content []byte, statements []Statement) (*stated.Result, error) {
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	if first := bytes.TrimLeft(content, " \t\r\n"); len(first) > 0 && first[0] != '{' && first[0] != '[' {
		return stateText(name, content, statements)
	}
	objects, err := readObjects(content)
	if err != nil {
		return nil, err
	}
	return stateObjects(name, objects, statements)
}

// stateText reads the figures of a content that is not JSON.
func stateText(name string, content []byte, statements []Statement) (*stated.Result, error) {
	for i := range statements {
		s := &statements[i]
		if s.Decode == nil {
			continue
		}
		r := s.result(name)
		objects, ok, err := s.Decode(content, r)
		switch {
		case !ok:
			continue
		case err != nil:
			return nil, err
		case objects != nil:
			return stateObjects(name, objects, statements[i:i+1])
		}
		return finish(r)
	}
	return nil, nil
}

// stateObjects reads the figures of objects.
func stateObjects(name string, objects []*Object, statements []Statement) (*stated.Result, error) {
	var r *stated.Result
	for _, o := range objects {
		for i := range statements {
			s := &statements[i]
			if r != nil && r.Definitions != s.Definitions || !s.Is(o) {
				continue
			}
			if r == nil {
				r = s.result(name)
			}
			s.Read(o, r)
			break
		}
	}
	return finish(r)
}

// finish tells the levels of a result apart, and leaves out figures that are points in time. r may be nil.
func finish(r *stated.Result) (*stated.Result, error) {
	if r == nil {
		return nil, nil
	}
	switch n := len(r.Levels); {
	case n == 0:
		return nil, fmt.Errorf("%s: a file of %s without results: nothing was measured", r.File, r.Definitions)
	case n > mostLevels:
		return nil, fmt.Errorf("%s: %d results, and at most %d are compared and drawn; split the file", r.File, n, mostLevels)
	}
	for i := range r.Levels {
		l := &r.Levels[i]
		l.Figures = slices.DeleteFunc(l.Figures, isInstant)
	}
	r.TellApart()
	return r, nil
}

// isInstant reports whether a figure is a point in time, by its name: it says when the run was, and nothing of the server.
func isInstant(f stated.Figure) bool {
	name := f.Metric[strings.LastIndexByte(f.Metric, '.')+1:]
	return strings.HasSuffix(name, "_timestamp") || strings.HasSuffix(name, " Timestamp") || strings.HasSuffix(name, "_at") ||
		slices.Contains([]string{"timestamp", "start_time", "end_time", "started", "ended"}, name)
}

// A Value is a number or a text of an object.
type Value struct {
	// Path is the names of the members that lead to the value, with dots between, such as "request_latency.avg"; elements of arrays
	// have their index as a name.
	Path string
	// Text is the text, or the number with the digits of the file; "null" for null.
	Text string
	// Number is the number; NaN for a text and for null.
	Number float64
	// Quoted says that the value is a text.
	Quoted bool
}

// An Object is a flat view of a JSON object: its numbers and texts in the order of the file.
type Object struct {
	Values []Value
	index  map[string]int
}

// NewObject returns the object with these values. The first value of a path counts.
func NewObject(values []Value) *Object {
	o := &Object{Values: values, index: make(map[string]int, len(values))}
	for i, v := range values {
		if _, ok := o.index[v.Path]; !ok {
			o.index[v.Path] = i
		}
	}
	return o
}

// Value returns the value at a path; ok is false if there is none.
func (o *Object) Value(path string) (v Value, ok bool) {
	i, ok := o.index[path]
	if !ok {
		return Value{Number: math.NaN()}, false
	}
	return o.Values[i], true
}

// Has reports whether the object has values at all of these paths.
func (o *Object) Has(paths ...string) bool {
	for _, p := range paths {
		if _, ok := o.index[p]; !ok {
			return false
		}
	}
	return true
}

// Number returns the number at a path; NaN for none.
func (o *Object) Number(path string) float64 {
	v, _ := o.Value(path)
	return v.Number
}

// Text returns the text or the number at a path; "" for none and for null.
func (o *Object) Text(path string) string {
	if v, ok := o.Value(path); ok && (v.Quoted || v.Text != "null") {
		return v.Text
	}
	return ""
}

// Under returns the object whose values have paths that begin with prefix, without the prefix.
func (o *Object) Under(prefix string) *Object {
	var values []Value
	for _, v := range o.Values {
		if rest, ok := strings.CutPrefix(v.Path, prefix); ok {
			v.Path = rest
			values = append(values, v)
		}
	}
	return NewObject(values)
}

// Elements returns the objects of an array: of "benchmarks", the values whose paths begin with "benchmarks.0.", without that, are the first.
func (o *Object) Elements(array string) (all []*Object) {
	var values []Value
	last := ""
	for _, v := range o.Values {
		rest, ok := strings.CutPrefix(v.Path, array+".")
		index, path, inner := strings.Cut(rest, ".")
		if !ok || !inner {
			continue
		}
		if index != last && values != nil {
			all, values = append(all, NewObject(values)), nil
		}
		last, v.Path = index, path
		values = append(values, v)
	}
	if values != nil {
		all = append(all, NewObject(values))
	}
	return all
}

// Settings returns the values under a prefix as settings. Values that are null, in arrays, or left out by skip are none.
func (o *Object) Settings(prefix string, skip func(name string) bool) (all []stated.Setting) {
	for _, v := range o.Values {
		name, ok := strings.CutPrefix(v.Path, prefix)
		if ok && v.Text != "null" && !strings.Contains(name, ".") && !skip(name) {
			all = append(all, stated.Setting{Name: name, Value: v.Text})
		}
	}
	return all
}

// Summary returns the numbers and texts of the object as a Summary.
func (o *Object) Summary(file string) *Summary {
	s := &Summary{File: file, Figures: map[string]float64{}, Texts: map[string]string{}}
	for _, v := range o.Values {
		switch {
		case v.Quoted, v.Text == "true", v.Text == "false":
			s.Texts[v.Path] = v.Text
		case !math.IsNaN(v.Number):
			s.Figures[v.Path] = v.Number
		}
	}
	return s
}

// IsNumber reports whether the value is a number or null, and no text, true or false.
func (v *Value) IsNumber() bool { return !v.Quoted && v.Text != "true" && v.Text != "false" }

// Figure returns the figure of a value, whose metric, statistic and unit are given.
func (v *Value) Figure(metric, statistic, unit string) stated.Figure {
	return stated.NewFigure(metric, statistic, unit, v.Text, v.Number)
}

// readObjects returns the objects of a text: one, several after another, or the elements of an array. Values that are no objects are
// left out. NaN and infinities of Python are null.
func readObjects(text []byte) (all []*Object, err error) {
	d := jsontext.NewDecoder(bytes.NewReader(finite(text)), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	f := flattener{Decoder: d, memory: maxStatedMemory}
	for {
		switch d.PeekKind() {
		case '{':
			f.values = nil
			if err := f.flatten(""); err != nil {
				return nil, err
			}
			all = append(all, NewObject(f.values))
			continue
		case ']':
			_, err = d.ReadToken()
		default:
			if d.StackDepth() > 0 { // no object
				err = d.SkipValue()
			} else if _, err = d.ReadToken(); errors.Is(err, io.EOF) {
				return all, nil
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// A flattener collects the values of objects.
type flattener struct {
	*jsontext.Decoder
	values []Value
	memory int // bytes that the values may still take
}

// join returns the path of a member, or of an element.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// add appends a value.
func (f *flattener) add(v Value) error {
	const perValue = 160 // with its entry in the index
	if f.memory -= perValue + len(v.Path) + len(v.Text); f.memory < 0 {
		return fmt.Errorf("%s: too many values, or too long names, for a file of figures", strings.ToValidUTF8(v.Path[:min(len(v.Path), 40)], "?"))
	}
	f.values = append(f.values, v)
	return nil
}

// flatten appends the values of the next JSON value.
func (f *flattener) flatten(path string) error {
	if f.StackDepth() > maxStatedDepth {
		return fmt.Errorf("byte %d: objects are nested deeper than %d", f.InputOffset(), maxStatedDepth)
	}
	token, err := f.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case '{':
		for f.PeekKind() != '}' {
			name, err := f.ReadToken()
			if err != nil {
				return err
			}
			if err := f.flatten(join(path, name.String())); err != nil {
				return err
			}
		}
		_, err = f.ReadToken()
	case '[':
		for i := 0; f.PeekKind() != ']'; i++ {
			if err := f.flatten(join(path, strconv.Itoa(i))); err != nil {
				return err
			}
		}
		_, err = f.ReadToken()
	case '"':
		err = f.add(Value{Path: path, Text: token.String(), Number: math.NaN(), Quoted: true})
	case '0':
		err = f.add(Value{Path: path, Text: token.String(), Number: number(token.String())})
	default: // null, true, false
		err = f.add(Value{Path: path, Text: token.String(), Number: math.NaN()})
	}
	return err
}

// number returns the float of a number; NaN if it is beyond the range of a float.
func number(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// TaggedFigures returns the figures of an object whose members are metrics with a unit: {"request_latency":{"unit":"ms","avg":1,…},…}.
// Metrics of the run as a whole have no more than an average, which is then their number.
func TaggedFigures(o *Object) (all []stated.Figure) {
	members := map[string]int{} // of each metric
	for _, v := range o.Values {
		tag, _, _ := strings.Cut(v.Path, ".")
		members[tag]++
	}
	for _, v := range o.Values {
		tag, statistic, ok := strings.Cut(v.Path, ".")
		unit, has := o.Value(tag + ".unit")
		if !ok || !has || !unit.Quoted || v.Quoted || strings.Contains(statistic, ".") {
			continue
		}
		if statistic == "avg" && members[tag] == 2 {
			statistic = ""
		}
		all = append(all, v.Figure(tag, statistic, unit.Text))
	}
	return all
}

// NestedFigures returns the numbers of an object whose members are statistics of metrics: {"ttft":{"mean":1,"percentiles":{"p99":2}},"count":3}.
// unit returns the unit of a metric; keep is false for a number that is no figure. Values that are null are left out.
func NestedFigures(o *Object, unit func(metric string) (unit string, keep bool)) (all []stated.Figure) {
	split := func(v *Value) (metric, statistic string) {
		path := strings.Replace(v.Path, ".percentiles.", ".", 1)
		if at := statisticAt(path); at > 0 {
			return path[:at], path[at+1:]
		}
		return path, ""
	}
	members := map[string]int{} // of each metric
	for i := range o.Values {
		metric, _ := split(&o.Values[i])
		members[metric]++
	}
	for i := range o.Values {
		v := &o.Values[i]
		metric, statistic := split(v)
		u, keep := unit(metric)
		if !keep || math.IsNaN(v.Number) {
			continue
		}
		if statistic == "count" && members[metric] == 1 { // of requests, say
			metric, statistic = metric+".count", ""
		}
		all = append(all, v.Figure(metric, statistic, u))
	}
	return all
}

// statistics are the names of statistics other than percentiles.
var statistics = []string{"mean", "avg", "average", "median", "mode", "min", "max", "minimum", "maximum", "std", "stddev", "std_dev", "variance", "sum", "total", "total_sum", "count"}

// statisticAt returns where the name of a statistic begins in a path, at its dot; −1 if the path names none.
func statisticAt(path string) int {
	at := strings.LastIndexByte(path, '.')
	if number := strings.LastIndexByte(path[:max(at, 0)], '.'); at >= 0 && strings.Trim(path[at+1:], "0123456789") == "" {
		at = number // the dot of p99.9 or 99.0
	}
	if at < 0 {
		return -1
	}
	name := strings.TrimPrefix(path[at+1:], "p")
	if _, err := strconv.ParseFloat(name, 64); err == nil || slices.Contains(statistics, path[at+1:]) {
		return at
	}
	return -1
}
