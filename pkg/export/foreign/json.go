package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/internal/jsonfile"
)

// decode reads the JSON text v into dst. Python's NaN and infinities are null.
func decode(v []byte, dst any) error { return json.Unmarshal(finite(v), dst) }

// finite returns v with null instead of NaN, Infinity and -Infinity. It returns v itself
// if it has none.
func finite(v []byte) []byte {
	var out []byte
	kept := 0
	for i := 0; i < len(v); {
		switch c := v[i]; {
		case c == '"':
			end, err := jsonscan.String(v, i)
			if err != nil {
				return v // not valid: as it is
			}
			i = end
		case c == 'N' || c == 'I' || c == '-' && i+1 < len(v) && v[i+1] == 'I':
			end, _, err := jsonscan.PythonValue(v, i)
			if err != nil {
				return v
			}
			out = append(append(out, v[kept:i]...), "null"...)
			i, kept = end, end
		default:
			i++
		}
	}
	if kept == 0 {
		return v
	}
	return append(out, v[kept:]...)
}

// values reads a file with a sequence of JSON values: JSON lines, or concatenated
// documents.
type values struct {
	c     *jsonfile.Cursor
	at    int64 // offset of the last one
	index int   // of the next one
}

// next returns the text of the next value, valid until the next call, or
// io.EOF.
func (v *values) next(what string) ([]byte, error) {
	if _, err := v.c.Peek(); err != nil {
		if errors.Is(err, jsonfile.ErrCut) {
			err = io.EOF
		}
		return nil, err
	}
	v.at = v.c.Pos
	v.index++
	b, err := v.c.Value(what)
	var syntax *export.SyntaxError
	if errors.As(err, &syntax) {
		return nil, v.leaveLine(syntax)
	}
	return b, err
}

// leaveLine goes to the next line that begins with an object, and returns a *badEntry for the text
// before that line. It returns syntax if there is no such line.
func (v *values) leaveLine(syntax *export.SyntaxError) error {
	c := v.c
	for c.Pos = v.at + 1; ; {
		b := c.At(c.Pos)
		if i := bytes.Index(b, []byte("\n{")); i >= 0 {
			c.Pos += int64(i) + 1
			return &badEntry{at: syntax.Offset, msg: syntax.Msg}
		}
		c.Pos += int64(max(0, len(b)-1))
		switch err := c.More(); {
		case errors.Is(err, jsonfile.ErrCut):
			return syntax
		case err != nil:
			return err
		}
	}
}

// enter passes over the opening bracket of an object or array; what names it in the
// error.
func enter(c *jsonfile.Cursor, bracket byte, what string) error {
	b, err := c.Peek()
	if err == nil && b != bracket {
		err = c.Syntax(c.Pos, "%s: expected %q, found %q", what, bracket, b)
	}
	c.Pos++
	return err
}

// eachMember enters an object and calls do at the value of each member. do moves c past
// the value. what names the object in the error.
func eachMember(c *jsonfile.Cursor, what string, do func(name string) error) error {
	if err := enter(c, '{', what); err != nil {
		return err
	}
	for first := true; ; first = false {
		name, more, err := c.Key(first)
		if err != nil || !more {
			return err
		}
		if err := do(name); err != nil {
			return err
		}
	}
}

// eachMemberOf calls eachMember if the next value is an object, and else skips the value.
func eachMemberOf(c *jsonfile.Cursor, what string, do func(name string) error) error {
	b, err := c.Peek()
	if err == nil && b != '{' {
		return skip(c)
	}
	return eachMember(c, what, do)
}

// skip moves c past a value of any kind.
func skip(c *jsonfile.Cursor) error {
	b, err := c.Peek()
	if err != nil {
		return err
	}
	if b == '{' || b == '[' {
		return c.Skip()
	}
	_, err = c.Value("a value")
	return err
}

// typeError describes a value that lacks the members of its format.
func typeError(at int64, err error) *badEntry {
	var t *json.UnmarshalTypeError
	if errors.As(err, &t) {
		where := t.Field
		if where == "" {
			where = "the entry"
		}
		return &badEntry{at: at, msg: where + ": expected " + kind(t.Type.Kind().String()) + ", found " + t.Value}
	}
	return &badEntry{at: at, msg: err.Error()}
}

// kind returns JSON's word for a kind of Go type.
func kind(name string) string {
	switch name {
	case "struct", "map":
		return "an object"
	case "slice", "array":
		return "an array"
	case "string":
		return "a string"
	case "bool":
		return "true or false"
	}
	return "a number"
}

// respond appends a response at ns, a time that the tool's own code took.
func respond(r *export.Request, ns uint64, outputs export.Fields) {
	n := len(r.Responses)
	x := export.Response{RecvNS: ns, Source: export.SourceUser, Read: uint32(n), Outputs: outputs}
	r.Responses = append(r.Responses, x)
}

// event is the output of a response that holds one server-sent event.
func event(data string) export.Fields { return body("data: " + data + "\n\n") }

// body is the output of a response that holds a piece of a body.
func body(text string) export.Fields {
	return export.Fields{{Name: "response", Value: export.Text(text)}}
}

// payload is the input of a request whose body is the JSON text v.
func payload(v []byte) export.Fields {
	return export.Fields{{Name: "payload", Value: export.Value{Text: true, Data: jsonscan.AppendCompact(nil, v)}}}
}

// number returns a pointer to n.
func number(n int64) *int64 { return &n }

// text returns a pointer to s.
func text(s string) *string { return &s }

func boolean(b bool) *bool { return &b }

// isCut reports whether err says that the file ended too early.
func isCut(err error) bool { return errors.Is(err, jsonfile.ErrCut) }
