package genaiperf

import (
	"errors"
	"fmt"

	"github.com/pa-tools/pa/internal/py"
)

// An exception is an exception that Python would have raised, with Python's texts.
type exception struct {
	kind, message string
}

// Error returns what Python prints last: "KeyError: 'choices'".
func (e *exception) Error() string { return e.kind + ": " + e.message }

func keyError(name string) *exception { return &exception{"KeyError", "'" + name + "'"} }

func typeError(format string, args ...any) *exception {
	return &exception{"TypeError", fmt.Sprintf(format, args...)}
}

func valueError(format string, args ...any) *exception {
	return &exception{"ValueError", fmt.Sprintf(format, args...)}
}

var (
	errIndex = &exception{"IndexError", "list index out of range"}
	errZero  = &exception{"ZeroDivisionError", "float division by zero"}
)

// snippetLen is the number of characters that a message repeats of a text that is no JSON.
const snippetLen = 200

// parseJSON parses text as the release's JSON library does.
func (r *rules) parseJSON(text string) (py.Value, *exception) {
	v, err := py.ParseJSON(text, r.json)
	return v, r.jsonException(text, err)
}

// jsonException returns the release's exception for the error of py.ParseJSON; nil for none.
func (r *rules) jsonException(text string, err error) *exception {
	if err == nil {
		return nil
	}
	var e *py.SyntaxError
	if r.survives && errors.As(err, &e) { // that release repeats the text
		snippet := []rune(text)
		more := ""
		if len(snippet) > snippetLen {
			snippet, more = snippet[:snippetLen], "..."
		}
		own := *e
		own.Msg = "Failed to parse JSON string: '" + string(snippet) + more + "'"
		err = &own
	}
	return &exception{"JSONDecodeError", err.Error()}
}

// item returns v[name], or the exception that Python raises.
func item(v py.Value, name string) (py.Value, *exception) {
	m, ok := v.Member(name)
	switch kind := v.Kind(); {
	case ok:
		return m, nil
	case kind == py.Dict:
		return m, keyError(name)
	case kind == py.List:
		return m, typeError("list indices must be integers or slices, not str")
	case kind == py.String:
		return m, typeError("string indices must be integers, not 'str'")
	}
	return m, typeError("'%s' object is not subscriptable", v.PythonType())
}

// first returns v[0], or the exception that Python raises.
func first(v py.Value) (py.Value, *exception) {
	e, ok := v.First()
	switch kind := v.Kind(); {
	case ok:
		return e, nil
	case kind == py.List:
		return e, errIndex
	case kind == py.Dict:
		return e, &exception{"KeyError", "0"}
	case kind == py.String:
		for _, c := range v.Text() {
			e, _ = py.ParseJSON(string(py.AppendJSONString(nil, string(c))), py.JSON)
			return e, nil
		}
		return e, &exception{"IndexError", "string index out of range"}
	}
	return e, typeError("'%s' object is not subscriptable", v.PythonType())
}

// at returns v["choices"][0]["delta"] for a path such as "choices", "[0]", "delta", or the exception that Python raises.
func at(v py.Value, path ...string) (_ py.Value, e *exception) {
	for _, step := range path {
		if step == "[0]" {
			v, e = first(v)
		} else {
			v, e = item(v, step)
		}
		if e != nil {
			break
		}
	}
	return v, e
}

// get returns v.get(name, ""); the zero Value means the default.
func get(v py.Value, name string) (py.Value, *exception) {
	m, _ := v.Member(name)
	if v.Kind() != py.Dict {
		return m, &exception{"AttributeError", fmt.Sprintf("'%s' object has no attribute 'get'", v.PythonType())}
	}
	return m, nil
}

// A crash is an exception with which the release would have stopped.
type crash struct {
	// Exception is the last line of Python's traceback: "KeyError: 'choices'".
	Exception string
	// Where names the level and the request: "concurrency 2, request 4"; "" for the whole
	// file.
	Where string
}

// String returns the place and the exception, for a warning.
func (c *crash) String() string {
	if c.Where == "" {
		return c.Exception
	}
	return c.Where + ": " + c.Exception
}
