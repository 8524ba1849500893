package sheet

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"reflect"
	"strconv"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/internal/stat"
)

// A CSVRow maps the columns of a CSV line to its cells; a column that it lacks is empty.
type CSVRow map[string]string

// CSV writes the header, and each row in the order of the header's columns.
func CSV(header []string, rows []CSVRow) Renderer {
	return func(w io.Writer) error {
		c := csv.NewWriter(w)
		if err := c.Write(header); err != nil {
			return err
		}
		for _, row := range rows {
			cells := make([]string, len(header))
			for i, column := range header {
				cells[i] = sanitize.CSVCell(row[column])
			}
			if err := c.Write(cells); err != nil {
				return err
			}
		}
		c.Flush()
		return c.Error()
	}
}

// CSVNumber formats v with all digits and no exponent; "" for NaN and infinities.
func CSVNumber(v float64) string {
	if !stat.Finite(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// JSON writes a document as JSON for programs that people can read too, by [sanitize.JSON].
func JSON(document any) Renderer {
	return func(w io.Writer) error {
		b, err := json.MarshalIndent(document, "", "  ")
		if err != nil {
			return err
		}
		_, err = w.Write(sanitize.JSON(append(b, '\n')))
		return err
	}
}

// An Object is a JSON object: keys, each followed by its value, in the order in which they are
// written. A key is written as it is, so it must be a name of ours, and no text of a file. It leaves out members whose value is nil, a nil Object, NaN or infinite. Lists of floats have null in
// place of NaN and infinities; a nil list is empty.
type Object []any

// Opt returns v, or nil if v is 0, "", false, nil or an empty list or map: as the value of an [Object], the
// member is then left out.
func Opt(v any) any {
	switch x := reflect.ValueOf(v); {
	case !x.IsValid() || x.IsZero():
		return nil
	case (x.Kind() == reflect.Slice || x.Kind() == reflect.Map) && x.Len() == 0:
		return nil
	}
	return v
}

// List returns an object for each element of all, which fields makes.
func List[T any](all []T, fields func(*T) Object) []Object {
	list := make([]Object, len(all))
	for i := range all {
		list[i] = fields(&all[i])
	}
	return list
}

// ListOf is List for pointers.
func ListOf[T any](all []*T, fields func(*T) Object) []Object {
	return List(all, func(x **T) Object { return fields(*x) })
}

// MarshalJSON writes the members that have a value.
func (o Object) MarshalJSON() ([]byte, error) { return o.append(nil) }

func (o Object) append(b []byte) (_ []byte, err error) {
	separator := byte('{')
	for i := 0; i+1 < len(o); i += 2 {
		v := o[i+1]
		if !present(v) {
			continue
		}
		b = append(append(b, separator), '"')
		b = append(append(b, o[i].(string)...), '"', ':')
		separator = ','
		if b, err = appendJSON(b, v); err != nil {
			return nil, err
		}
	}
	if separator == '{' {
		b = append(b, '{')
	}
	return append(b, '}'), nil
}

// present reports whether an object has a member with this value.
func present(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case Object:
		return v != nil
	case float64:
		return stat.Finite(v)
	}
	return true
}

// appendJSON appends a value.
func appendJSON(b []byte, v any) (_ []byte, err error) {
	switch v := v.(type) {
	case Object:
		return v.append(b)
	case []Object:
		return appendList(b, v, func(b []byte, o Object) ([]byte, error) { return o.append(b) })
	case []float64:
		return appendList(b, v, func(b []byte, x float64) ([]byte, error) {
			if !stat.Finite(x) {
				return append(b, "null"...), nil
			}
			return appendJSON(b, x)
		})
	}
	if x := reflect.ValueOf(v); x.Kind() == reflect.Slice && x.IsNil() {
		return append(b, "[]"...), nil
	}
	text, err := json.Marshal(v)
	return append(b, text...), err
}

func appendList[T any](b []byte, all []T, add func([]byte, T) ([]byte, error)) (_ []byte, err error) {
	b = append(b, '[')
	for i, v := range all {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = add(b, v); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}
