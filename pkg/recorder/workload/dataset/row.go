package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/export"
)

// rows holds the rows of one file.
type rows interface {
	len() int
	// row returns row i in fresh memory. Its errors do not name the position.
	row(i int) (*row, error)
	// fault returns err with the position of row i.
	fault(i int, err error) error
}

// A row holds the members of a row in order, with values as compact JSON.
type row struct {
	fields export.Fields
	// text is the text of the row in the file if that is a JSON object, else nil.
	text []byte
}

// get returns a value, nil if it is absent or null.
func (r *row) get(name string) []byte {
	v, ok := r.fields.Get(name)
	if !ok || string(v.Data) == "null" {
		return nil
	}
	return v.Data
}

// has reports whether the row has all of these members, even if they are null.
func (r *row) has(names ...string) bool {
	for _, n := range names {
		if _, ok := r.fields.Get(n); !ok {
			return false
		}
	}
	return true
}

// names returns the names of the members.
func (r *row) names() []string {
	var all []string
	for _, f := range r.fields {
		all = append(all, f.Name)
	}
	return all
}

// string returns a string member. ok is false if it is absent or null.
func (r *row) string(name string) (s string, ok bool, err error) { return member(r, name, parseString) }

// count returns an integer member of at least 0. ok is false if it is absent or null.
func (r *row) count(name string) (n int, ok bool, err error) { return member(r, name, parseCount) }

// number returns a finite number member. ok is false if it is absent or null.
func (r *row) number(name string) (f float64, ok bool, err error) {
	return member(r, name, parseNumber)
}

// member returns a member of the row. ok is false if it is absent or null.
func member[T any](r *row, name string, parse func([]byte) (T, error)) (v T, ok bool, err error) {
	js := r.get(name)
	if js == nil {
		return v, false, nil
	}
	if v, err = parse(js); err != nil {
		return v, true, fmt.Errorf("%q: %w", name, err)
	}
	return v, true, nil
}

// requiredMember returns a member that the row must have.
func requiredMember[T any](r *row, name string, parse func([]byte) (T, error)) (T, error) {
	v, ok, err := member(r, name, parse)
	if err == nil && !ok {
		err = missing(r, name)
	}
	return v, err
}

func parseString(js []byte) (s string, err error) {
	if js[0] != '"' {
		return "", fmt.Errorf("expected a string, found %s", clip(js))
	}
	// encoding/json would replace invalid UTF-8.
	text, err := jsontext.AppendUnquote(nil, js)
	if err != nil && !errors.As(err, new(*jsontext.SyntacticError)) {
		return "", err
	}
	return string(text), nil
}

// parseCount parses an integer, or a string with one as in CSV.
func parseCount(js []byte) (int, error) {
	text := bytes.Trim(js, `"`)
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		// Tables with missing values turn 12 into 12.0.
		f, ferr := strconv.ParseFloat(string(text), 64)
		if ferr != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return 0, fmt.Errorf("expected a whole number, found %s", clip(js))
		}
		n = int64(f)
	}
	if n < 0 || n > math.MaxInt32 {
		return 0, fmt.Errorf("%d: must be from 0 to %d", n, math.MaxInt32)
	}
	return int(n), nil
}

func parseNumber(js []byte) (float64, error) {
	f, err := strconv.ParseFloat(string(bytes.Trim(js, `"`)), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("expected a number, found %s", clip(js))
	}
	return f, nil
}

// parseStrings parses a string, or an array of strings.
func parseStrings(js []byte) ([]string, error) {
	if js[0] == '"' {
		s, err := parseString(js)
		return []string{s}, err
	}
	var all []json.RawMessage
	if json.Unmarshal(js, &all) != nil {
		return nil, fmt.Errorf("expected a string or an array of strings, found %s", clip(js))
	}
	out := make([]string, len(all))
	for i, e := range all {
		s, err := parseString(e)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		out[i] = s
	}
	return out, nil
}

// rowOptions accepts duplicate names and invalid UTF-8, which are passed on to servers.
var rowOptions = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// parseObject reads one JSON object.
func parseObject(text []byte) (*row, error) {
	if r := plainObject(text); r != nil {
		return r, nil
	}
	return carefulObject(text)
}

// carefulObject is parseObject for every text.
func carefulObject(text []byte) (*row, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(text), rowOptions...)
	if k := dec.PeekKind(); k != '{' {
		if _, err := dec.ReadValue(); err != nil {
			return nil, syntaxError(err)
		}
		return nil, fmt.Errorf("expected a JSON object, found %s", clip(bytes.TrimSpace(text)))
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, syntaxError(err)
	}
	r := &row{text: text}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, syntaxError(err)
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, syntaxError(err)
		}
		v := jsontext.Value(bytes.Clone(value))
		if err := v.Compact(rowOptions...); err != nil {
			return nil, syntaxError(err)
		}
		r.fields = append(r.fields, export.Field{Name: key, Value: export.Value{Data: v}})
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, syntaxError(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more text after the object; a row is one JSON object")
	}
	return r, nil
}

// plainObject is parseObject for a valid text whose names have no escapes, in one pass; nil for every other text.
func plainObject(text []byte) *row {
	r := &row{text: text}
	w := jsonscan.Walker{Text: text}
	for ok := w.OpenObject(); ok; ok = w.NextMember() {
		w.Peek()
		end, spaced, err := jsonscan.Value(text, w.Pos)
		if err != nil || !jsonscan.IsPlain(w.RawKey) || !utf8.Valid(w.RawKey) {
			return nil
		}
		var value []byte
		if spaced {
			value = jsonscan.AppendCompact(make([]byte, 0, end-w.Pos), text[w.Pos:end])
		} else {
			value = bytes.Clone(text[w.Pos:end])
		}
		r.fields = append(r.fields, export.Field{Name: string(w.RawKey), Value: export.Value{Data: value}})
		w.Pos = end
	}
	if w.End(); w.Err != nil {
		return nil
	}
	return r
}

// parseElements returns the elements of an array, which alias js if they can. ok is false if js is no array.
func parseElements(js []byte) (all []json.RawMessage, ok bool) {
	if len(js) == 0 || js[0] != '[' {
		return nil, false
	}
	end, err := jsonscan.Elements(js, 0, func(at int) (int, error) {
		end, _, err := jsonscan.Value(js, at)
		all = append(all, js[at:end:end])
		return end, err
	})
	if err == nil && end == len(js) {
		return all, true
	}
	all = nil // nested too deep for package jsonscan, or not valid
	return all, json.Unmarshal(js, &all) == nil
}

// syntaxError returns an error of jsontext without the prefix of that package.
func syntaxError(err error) error {
	var se *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("not valid JSON: it ends inside a value")
	case errors.As(err, &se):
		return fmt.Errorf("not valid JSON at its byte %d: %w", se.ByteOffset, se.Err)
	}
	return fmt.Errorf("not valid JSON: %w", err)
}

// milliseconds returns a member with a time in milliseconds. ok is false if it is absent or null.
func (r *row) milliseconds(name string) (d time.Duration, ok bool, err error) {
	return member(r, name, func(js []byte) (time.Duration, error) {
		ms, err := parseNumber(js)
		if err != nil {
			return 0, err
		}
		return duration(ms, time.Millisecond)
	})
}

// nameList returns a member with names: a string or an array of strings, none of them empty.
func (r *row) nameList(name string) ([]string, error) {
	all, _, err := member(r, name, parseStrings)
	if err == nil && slices.Contains(all, "") {
		err = fmt.Errorf("%q: a name is empty", name)
	}
	return all, err
}

func parseBool(js []byte) (bool, error) {
	switch string(js) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("expected true or false, found %s", clip(js))
}
