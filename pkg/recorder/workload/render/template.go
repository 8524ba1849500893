package render

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pa-tools/pa/internal/sanitize"
)

// Names of placeholders.
const (
	PlaceholderModel       = "model"        // the model's name
	PlaceholderPrompt      = "prompt"       // instructions and text, joined by a space
	PlaceholderTexts       = "texts"        // the texts, an array of strings
	PlaceholderMessages    = "messages"     // the conversation in the form of the chat API
	PlaceholderContent     = "content"      // text, images and audio, as parts of a chat message
	PlaceholderInputs      = "inputs"       // the texts and the URLs of the images, an array of strings
	PlaceholderPictures    = "pictures"     // the images, an array of {"type": "image_url", "url": …}
	PlaceholderMarkdown    = "markdown"     // images in Markdown form and the texts, joined by spaces
	PlaceholderQuery       = "query"        // the query of a ranking
	PlaceholderPassages    = "passages"     // the ranked texts, an array of {"text": …}
	PlaceholderDocuments   = "documents"    // the ranked texts, an array of strings
	PlaceholderMaxTokens   = "max_tokens"   // the requested output length
	PlaceholderInputIDs    = "input_ids"    // the tokens of the text, an array of integers
	placeholderInputLength = "input_length" // the number of tokens of the text
)

// Placeholders lists the names of all placeholders.
var Placeholders = []string{
	PlaceholderModel, PlaceholderPrompt, PlaceholderTexts, PlaceholderMessages, PlaceholderContent, PlaceholderInputs, PlaceholderPictures,
	PlaceholderMarkdown, PlaceholderQuery, PlaceholderPassages, PlaceholderDocuments, PlaceholderMaxTokens, PlaceholderInputIDs,
	placeholderInputLength,
}

// A Template is a parsed request template. It is safe for concurrent use.
type Template struct {
	root  *templateObject
	names []string
}

// A node is a part of the template.
type node interface {
	// append appends the node with its placeholders replaced. ok is false if one
	// has no value; dst is then invalid.
	append(dst []byte, value values) (_ []byte, ok bool, err error)
}

// values returns the value of a placeholder as JSON; ok is false if it has none.
type values func(name string) (js []byte, ok bool)

type (
	// literal is JSON without placeholders.
	literal        []byte
	array          []node
	templateObject struct {
		keys   [][]byte // JSON strings
		values []node
	}
	// placeholder is a string that consists of one placeholder.
	placeholder struct {
		name     string
		fallback []byte // default; nil for none
	}
	// mixed is a longer string of texts and placeholders.
	mixed []part
	part  struct {
		text        string       // in JSON form, without quotes
		placeholder *placeholder // after the text; nil for none
	}
)

// A TemplateError is a mistake in a template.
type TemplateError struct {
	Offset int64 // byte offset in the template
	Err    error
}

func (e *TemplateError) Error() string { return fmt.Sprintf("byte %d: %v", e.Offset, e.Err) }

// Unwrap returns the mistake without its position.
func (e *TemplateError) Unwrap() error { return e.Err }

// ParseTemplate reads a template. The error is a [*TemplateError].
func ParseTemplate(text []byte) (*Template, error) {
	p := &parser{dec: jsontext.NewDecoder(bytes.NewReader(text))}
	fail := func(err error) (*Template, error) {
		var se *jsontext.SyntacticError
		switch {
		case errors.As(err, &se):
			return nil, &TemplateError{se.ByteOffset, fmt.Errorf("not valid JSON: %w", se.Err)}
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil, &TemplateError{p.dec.InputOffset(), errors.New("not valid JSON: it ends inside a value")}
		}
		return nil, &TemplateError{p.dec.InputOffset(), err}
	}
	if k := p.dec.PeekKind(); k != '{' && k != 0 {
		return fail(errors.New("expected a JSON object"))
	}
	root, err := p.node()
	if err != nil {
		return fail(err)
	}
	if _, err := p.dec.ReadToken(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("more text after the end of the object")
		}
		return fail(err)
	}
	return &Template{root.(*templateObject), p.names}, nil
}

// Uses reports whether the template contains the placeholder.
func (t *Template) Uses(name string) bool { return slices.Contains(t.names, name) }

// Append appends a request to dst, as compact JSON. value returns the value of a
// placeholder as JSON; ok is false if the request has none. Append returns an error for a
// value that is not JSON.
func (t *Template) Append(dst []byte, value func(name string) (js []byte, ok bool)) ([]byte, error) {
	dst, _, err := t.root.append(dst, value)
	return dst, err
}

// A parser reads a template.
type parser struct {
	dec   *jsontext.Decoder
	names []string
}

func (p *parser) node() (node, error) {
	switch p.dec.PeekKind() {
	case '{':
		return p.object()
	case '[':
		return p.array()
	}
	raw, err := p.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	if raw.Kind() != '"' {
		return literal(bytes.Clone(raw)), nil
	}
	return p.string(raw)
}

func (p *parser) object() (node, error) {
	if _, err := p.dec.ReadToken(); err != nil {
		return nil, err
	}
	o := &templateObject{}
	for {
		switch p.dec.PeekKind() {
		case '}':
			_, err := p.dec.ReadToken()
			return o, err
		case '"':
		default:
			_, err := p.dec.ReadToken() // fails, and names the mistake
			return nil, err
		}
		key, err := p.dec.ReadValue()
		if err != nil {
			return nil, err
		}
		o.keys = append(o.keys, bytes.Clone(key))
		n, err := p.node()
		if err != nil {
			return nil, err
		}
		o.values = append(o.values, n)
	}
}

func (p *parser) array() (node, error) {
	if _, err := p.dec.ReadToken(); err != nil {
		return nil, err
	}
	var a array
	for p.dec.PeekKind() != ']' {
		n, err := p.node()
		if err != nil {
			return nil, err
		}
		a = append(a, n)
	}
	_, err := p.dec.ReadToken()
	return a, err
}

const open, closing = "{{", "}}"

// string parses the placeholders of a string.
func (p *parser) string(raw jsontext.Value) (node, error) {
	s, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return nil, err
	}
	text := string(s)
	var m mixed
	var before strings.Builder
	placeholders := 0
	for {
		head, rest, found := strings.Cut(text, open)
		before.WriteString(head)
		if !found {
			break
		}
		if escaped, ok := strings.CutPrefix(rest, open); ok {
			before.WriteString(open)
			text = escaped
			continue
		}
		inner, after, found := strings.Cut(rest, closing)
		if !found {
			return nil, fmt.Errorf(`%q: a placeholder ends with "}}"; write "{{{{" for "{{"`, clipText(open+rest))
		}
		pl, err := p.placeholder(inner)
		if err != nil {
			return nil, err
		}
		m = append(m, part{quoted(before.String()), pl})
		before.Reset()
		placeholders++
		text = after
	}
	if placeholders == 1 && m[0].text == "" && before.Len() == 0 {
		return m[0].placeholder, nil
	}
	if before.Len() > 0 || placeholders == 0 {
		m = append(m, part{text: quoted(before.String())})
	}
	if placeholders == 0 {
		return literal(`"` + m[0].text + `"`), nil
	}
	return m, nil
}

// placeholder parses the text between the braces.
func (p *parser) placeholder(inner string) (*placeholder, error) {
	name, fallback, has := strings.Cut(inner, "|")
	if !slices.Contains(Placeholders, name) {
		return nil, fmt.Errorf("unknown placeholder %q; expected one of %s", clipText(name), strings.Join(Placeholders, ", "))
	}
	if !slices.Contains(p.names, name) {
		p.names = append(p.names, name)
	}
	pl := &placeholder{name: name}
	if has {
		v := jsontext.Value(fallback)
		if err := v.Compact(); err != nil {
			// Not wrapped: its offset is not an offset in the template.
			return nil, fmt.Errorf("placeholder %q: the default is not JSON (%s)", clipText(inner), err.Error())
		}
		pl.fallback = v
	}
	return pl, nil
}

func (l literal) append(dst []byte, _ values) ([]byte, bool, error) {
	return append(dst, l...), true, nil
}

func (a array) append(dst []byte, value values) (_ []byte, ok bool, err error) {
	dst = append(dst, '[')
	for i, n := range a {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, ok, err = n.append(dst, value); err != nil || !ok {
			return dst, false, err
		}
	}
	return append(dst, ']'), true, nil
}

func (o *templateObject) append(dst []byte, value values) (_ []byte, ok bool, err error) {
	dst = append(dst, '{')
	first := true
	for i, n := range o.values {
		kept := len(dst)
		if !first {
			dst = append(dst, ',')
		}
		dst = append(append(dst, o.keys[i]...), ':')
		if dst, ok, err = n.append(dst, value); err != nil {
			return dst, false, err
		}
		if !ok {
			dst = dst[:kept]
			continue
		}
		first = false
	}
	return append(dst, '}'), true, nil
}

func (p *placeholder) append(dst []byte, value values) ([]byte, bool, error) {
	js, ok := p.value(value)
	if !ok {
		return dst, false, nil
	}
	v := jsontext.Value(js)
	if !v.IsValid(jsontext.AllowInvalidUTF8(true)) {
		return dst, false, fmt.Errorf("the value of %s is not JSON: %.60q", p.name, js)
	}
	return append(dst, js...), true, nil
}

func (p *placeholder) value(value values) ([]byte, bool) {
	if js, ok := value(p.name); ok {
		return js, true
	}
	return p.fallback, p.fallback != nil
}

func (m mixed) append(dst []byte, value values) ([]byte, bool, error) {
	dst = append(dst, '"')
	for _, part := range m {
		dst = append(dst, part.text...)
		if part.placeholder == nil {
			continue
		}
		js, ok := part.placeholder.value(value)
		if !ok {
			return dst, false, nil
		}
		v := jsontext.Value(js)
		if !v.IsValid(jsontext.AllowInvalidUTF8(true)) {
			return dst, false, fmt.Errorf("the value of %s is not JSON: %.60q", part.placeholder.name, js)
		}
		v = bytes.TrimSpace(v)
		if v.Kind() == '"' {
			dst = append(dst, v[1:len(v)-1]...)
		} else {
			dst = append(dst, quoted(string(v))...)
		}
	}
	return append(dst, '"'), true, nil
}

// quoted returns s as a JSON string, without the quotes.
func quoted(s string) string {
	b := quote(s)
	return string(b[1 : len(b)-1])
}

// clipText bounds foreign text in messages.
func clipText(s string) string { return sanitize.Clip(s, 40) }

// whole returns n as JSON, the value of a placeholder.
func whole(n int) []byte { return strconv.AppendInt(nil, int64(n), 10) }
