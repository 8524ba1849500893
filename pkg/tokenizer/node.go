package tokenizer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// A document is a JSON file that is being read. It converts offsets to lines.
type document struct {
	notes []string // remarks for the user
	file  string
	data  []byte
	// failed receives the errors of counting.
	failed *failure
}

// errorAt returns a FormatError at an offset of the document.
func (d *document) errorAt(offset int64, field, format string, args ...any) error {
	return &FormatError{File: d.file, Line: lineOf(d.data, offset), Field: field, Err: fmt.Errorf(format, args...)}
}

// syntaxError wraps an error of the JSON decoder.
func (d *document) syntaxError(err error, field string) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return d.errorAt(int64(len(d.data)), field, "the JSON ends early")
	case errors.As(err, &syntax) && syntax.Err != nil:
		return d.errorAt(syntax.ByteOffset, field, "%w", syntax.Err)
	}
	return &FormatError{File: d.file, Field: field, Err: err}
}

// decoder returns a decoder at the start of the document. It accepts duplicate names; as in
// the library, the last one counts.
func (d *document) decoder() *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(d.data), jsontext.AllowDuplicateNames(true))
}

// A node is a JSON value in the description of a component. Methods that need a kind or a
// member return a FormatError if it is missing.
type node struct {
	doc    *document
	field  string // path from the top level
	offset int64
	kind   jsontext.Kind // 'n', 't', 'f', '"', '0', '{' or '['
	text   string        // content of a string, or digits of a number
	names  []string      // member names of an object
	values []*node       // values of an object or array
}

// maxDepth bounds the nesting of a component's description.
const maxDepth = 64

// readNode reads the next value of dec.
func (d *document) readNode(dec *jsontext.Decoder, field string) (*node, error) {
	if dec.StackDepth() > maxDepth {
		return nil, d.errorAt(dec.InputOffset(), field, "more than %d levels of JSON", maxDepth)
	}
	token, err := dec.ReadToken()
	if err != nil {
		return nil, d.syntaxError(err, field)
	}
	n := &node{doc: d, field: field, offset: dec.InputOffset(), kind: token.Kind()}
	switch n.kind {
	case '"', '0':
		n.text = token.String()
	case '{':
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return nil, d.syntaxError(err, field)
			}
			key := name.String()
			value, err := d.readNode(dec, join(field, key))
			if err != nil {
				return nil, err
			}
			n.names = append(n.names, key)
			n.values = append(n.values, value)
		}
		_, err = dec.ReadToken()
	case '[':
		for dec.PeekKind() != ']' {
			value, err := d.readNode(dec, field+"["+strconv.Itoa(len(n.values))+"]")
			if err != nil {
				return nil, err
			}
			n.values = append(n.values, value)
		}
		_, err = dec.ReadToken()
	}
	if err != nil {
		return nil, d.syntaxError(err, field)
	}
	return n, nil
}

func join(field, name string) string {
	if field == "" {
		return name
	}
	return field + "." + name
}

// errorf returns a FormatError at the node.
func (n *node) errorf(format string, args ...any) error {
	return n.doc.errorAt(n.offset, n.field, format, args...)
}

func (n *node) isNull() bool { return n == nil || n.kind == 'n' }

// member returns the value of a member, nil if it is absent or null.
func (n *node) member(name string) *node {
	if n == nil {
		return nil
	}
	for i := len(n.names) - 1; i >= 0; i-- { // the last one counts
		if n.names[i] == name {
			if n.values[i].isNull() {
				return nil
			}
			return n.values[i]
		}
	}
	return nil
}

// want returns the value of a required member.
func (n *node) want(name string) (*node, error) {
	if m := n.member(name); m != nil {
		return m, nil
	}
	return nil, n.errorf("%q is missing", name)
}

// kindName returns the name of a kind of value for messages.
func kindName(k jsontext.Kind) string {
	switch k {
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	}
	return "null"
}

func (n *node) wrongKind(want string) error {
	return n.errorf("expected %s, found %s", want, kindName(n.kind))
}

func (n *node) object() error {
	if n.kind != '{' {
		return n.wrongKind("an object")
	}
	return nil
}

func (n *node) array() ([]*node, error) {
	if n.kind != '[' {
		return nil, n.wrongKind("an array")
	}
	return n.values, nil
}

// wantArray returns the elements of a required array member.
func (n *node) wantArray(name string) ([]*node, error) {
	m, err := n.want(name)
	if err != nil {
		return nil, err
	}
	return m.array()
}

func (n *node) string() (string, error) {
	if n.kind != '"' {
		return "", n.wrongKind("a string")
	}
	return n.text, nil
}

func (n *node) uint32() (uint32, error) {
	if n.kind != '0' {
		return 0, n.wrongKind("a number")
	}
	v, err := strconv.ParseUint(n.text, 10, 32)
	if err != nil {
		return 0, n.errorf("expected a number from 0 to 4294967295, found %s", n.text)
	}
	return uint32(v), nil
}

// wantString returns the value of a required string member.
func (n *node) wantString(name string) (string, error) {
	m, err := n.want(name)
	if err != nil {
		return "", err
	}
	return m.string()
}

// stringOr returns the value of a string member, or otherwise if it is absent.
func (n *node) stringOr(name, otherwise string) (string, error) {
	m := n.member(name)
	if m == nil {
		return otherwise, nil
	}
	return m.string()
}

// boolOr returns the value of a boolean member, or otherwise if it is absent.
func (n *node) boolOr(name string, otherwise bool) (bool, error) {
	m := n.member(name)
	if m == nil {
		return otherwise, nil
	}
	if m.kind != 't' && m.kind != 'f' {
		return false, m.wrongKind("a boolean")
	}
	return m.kind == 't', nil
}

// wantBool returns the value of a required boolean member.
func (n *node) wantBool(name string) (bool, error) {
	if _, err := n.want(name); err != nil {
		return false, err
	}
	return n.boolOr(name, false)
}

// wantUint32 returns the value of a required number member.
func (n *node) wantUint32(name string) (uint32, error) {
	m, err := n.want(name)
	if err != nil {
		return 0, err
	}
	return m.uint32()
}

// wantRune returns the value of a required member that is a single character.
func (n *node) wantRune(name string) (rune, error) {
	s, err := n.wantString(name)
	if err != nil {
		return 0, err
	}
	runes := []rune(s)
	if len(runes) != 1 {
		return 0, n.member(name).errorf("expected one character, found %s", quote(s))
	}
	return runes[0], nil
}

// typeName returns the type of a component.
func (n *node) typeName() (string, error) {
	if err := n.object(); err != nil {
		return "", err
	}
	return n.wantString("type")
}

// readSequence reads the components in the array called member with read. null is an error;
// kind names a component in the error.
func readSequence[T any](n *node, member, kind string, read func(*node) (T, error)) ([]T, error) {
	values, err := n.wantArray(member)
	if err != nil {
		return nil, err
	}
	var all []T
	for _, v := range values {
		if v.isNull() {
			return nil, v.errorf("expected a %s, found null", kind)
		}
		one, err := read(v)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}
