package py

import (
	"strconv"
	"strings"
	"unicode/utf16"
)

// A Value is a value within a text that ParseJSON has checked. The zero Value is no
// value at all.
type Value struct{ s string }

// A Kind is the kind of a Value.
type Kind uint8

// The kinds of values. None is the kind of the zero Value.
const (
	None    Kind = 0
	Null    Kind = 1
	Bool    Kind = 2
	Number  Kind = 3
	String  Kind = 4
	List    Kind = 5
	Dict    Kind = 6
	numKind      = 7
)

var pythonTypes = [numKind]string{"", "NoneType", "bool", "int", "str", "list", "dict"}

// Kind returns the kind of v.
func (v Value) Kind() Kind {
	if v.s == "" {
		return None
	}
	switch v.s[0] {
	case '{':
		return Dict
	case '[':
		return List
	case '"':
		return String
	case 't', 'f':
		return Bool
	case 'n':
		return Null
	}
	return Number
}

// PythonType returns the name of the type that Python gives v: "str", "dict",
// "NoneType", …; "" for the zero Value.
func (v Value) PythonType() string {
	if v.Kind() == Number && strings.ContainsAny(v.s, ".eENI") {
		return "float"
	}
	return pythonTypes[v.Kind()]
}

// Raw returns the text of v.
func (v Value) Raw() string { return v.s }

// Truthy reports whether Python takes v for true: not null, false, 0, "", []
// and {}.
func (v Value) Truthy() bool {
	switch v.Kind() {
	case Bool:
		return v.s[0] == 't'
	case Number:
		f, err := strconv.ParseFloat(v.s, 64)
		return err != nil || f != 0
	case String:
		return v.s != `""`
	case List, Dict:
		return skipSpace(v.s, 1) < len(v.s)-1
	}
	return false
}

// Member returns the member of a dict; of several with that name the last one,
// as in Python. ok is false when there is none, or v is no dict.
func (v Value) Member(name string) (m Value, ok bool) {
	if v.Kind() != Dict {
		return Value{}, false
	}
	s := v.s
	for i := skipSpace(s, 1); s[i] != '}'; {
		end := skipValue(s, i)
		key := s[i:end]
		i = skipSpace(s, skipSpace(s, end)+1)
		end = skipValue(s, i)
		if isKey(key, name) {
			m, ok = Value{s[i:end]}, true
		}
		i = next(s, end)
	}
	return m, ok
}

// Members calls f with each member of a dict in the order of the text, until f
// returns false. It does nothing for other kinds.
func (v Value) Members(f func(name string, m Value) bool) {
	if v.Kind() != Dict {
		return
	}
	s := v.s
	for i := skipSpace(s, 1); s[i] != '}'; {
		end := skipValue(s, i)
		name := Value{s[i:end]}.Text()
		i = skipSpace(s, skipSpace(s, end)+1)
		end = skipValue(s, i)
		if !f(name, Value{s[i:end]}) {
			return
		}
		i = next(s, end)
	}
}

// Any returns v as [AppendJSON] takes it: its numbers are written as they stand.
func (v Value) Any() any {
	switch v.Kind() {
	case String:
		return v.Text()
	case List:
		all := Array{}
		v.Elements(func(_ int, e Value) bool {
			all = append(all, e.Any())
			return true
		})
		return all
	case Dict:
		o := Object{}
		v.Members(func(name string, m Value) bool {
			o = append(o, Member{name, m.Any()})
			return true
		})
		return o
	case None, Null:
		return nil
	}
	return Raw(v.s)
}

// Texts returns the strings in v: v itself, and the strings in its lists and in the members with these names of
// its dicts.
func (v Value) Texts(members ...string) []string { return v.appendTexts(nil, members) }

func (v Value) appendTexts(all, members []string) []string {
	switch v.Kind() {
	case String:
		return append(all, v.Text())
	case List:
		v.Elements(func(_ int, e Value) bool {
			all = e.appendTexts(all, members)
			return true
		})
	case Dict:
		for _, name := range members {
			if m, ok := v.Member(name); ok {
				all = m.appendTexts(all, members)
			}
		}
	}
	return all
}

// Elements calls f with each element of a list, until f returns false. It does
// nothing for other kinds.
func (v Value) Elements(f func(i int, e Value) bool) {
	if v.Kind() != List {
		return
	}
	s := v.s
	n := 0
	for i := skipSpace(s, 1); s[i] != ']'; n++ {
		end := skipValue(s, i)
		if !f(n, Value{s[i:end]}) {
			return
		}
		i = next(s, end)
	}
}

// First returns the first element of a list; ok is false when there is none, or
// v is no list.
func (v Value) First() (e Value, ok bool) {
	v.Elements(func(_ int, x Value) bool {
		e, ok = x, true
		return false
	})
	return e, ok
}

// Len returns the number of elements of a list, 0 for other kinds.
func (v Value) Len() int {
	n := 0
	v.Elements(func(int, Value) bool {
		n++
		return true
	})
	return n
}

// Text returns the content of a string, "" for other kinds. Halves of surrogate
// pairs, which UTF-8 cannot express, are U+FFFD.
func (v Value) Text() string {
	if v.Kind() != String {
		return ""
	}
	return unescape(v.s[1 : len(v.s)-1])
}

// isKey reports whether the quoted string decodes to name.
func isKey(quoted, name string) bool {
	inner := quoted[1 : len(quoted)-1]
	if strings.IndexByte(inner, '\\') < 0 {
		return inner == name
	}
	return unescape(inner) == name
}

func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	p := parser{s: s}
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			n := strings.IndexByte(s[i:], '\\')
			if n < 0 {
				n = len(s) - i
			}
			b = append(b, s[i:i+n]...)
			i += n
			continue
		}
		switch c := s[i+1]; c {
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'u':
			r, _ := p.hex(i)
			i += 4
			if low, ok := p.hex(i + 2); ok && utf16.IsSurrogate(r) {
				if both := utf16.DecodeRune(r, low); both != '\ufffd' {
					r = both
					i += 6
				}
			}
			b = append(b, string(r)...)
		default:
			b = append(b, c)
		}
		i += 2
	}
	return string(b)
}

func skipSpace(s string, i int) int {
	for s[i] == ' ' || s[i] == '\n' || s[i] == '\r' || s[i] == '\t' {
		i++
	}
	return i
}

// next returns the index of the element behind the one that ends at end, or of
// the bracket that closes the list or dict.
func next(s string, end int) int {
	i := skipSpace(s, end)
	if s[i] == ',' {
		i = skipSpace(s, i+1)
	}
	return i
}

// skipValue returns the end of the value that begins at i.
func skipValue(s string, i int) int {
	switch s[i] {
	case '"':
		return skipString(s, i)
	case '{', '[':
		for depth := 0; ; {
			switch s[i] {
			case '"':
				i = skipString(s, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
	}
	for i < len(s) {
		switch s[i] {
		case ',', '}', ']', ' ', '\n', '\r', '\t':
			return i
		}
		i++
	}
	return i
}

func skipString(s string, i int) int {
	for i++; ; {
		i += strings.IndexByte(s[i:], '"')
		k := i
		for s[k-1] == '\\' {
			k--
		}
		i++
		if (i-1-k)%2 == 0 { // not escaped
			return i
		}
	}
}
