package redact

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// Members replaces the values of members whose names [Credential] accepts: in a JSON text at any
// depth, in JSON within its strings, in name:value, and in name=value or a list of such pairs.
// Of a string that is a URL with user information or a credential in its query, it does what
// [URL] does. It keeps the rest of the text, also if the text is not valid JSON, and the values true, false,
// null and "", which are no credentials.
func Members(s string) string {
	m := memberScanner{in: s}
	m.scan()
	return m.out.String()
}

// Member returns the JSON text of the value of a member as [Members] returns it.
func Member(name, value string) string {
	if Credential(name) && !isNoSecret(value) {
		return `"` + placeholder + `"`
	}
	return Members(value)
}

// MemberNames returns the names of the members that [Members] would hide, each once.
func MemberNames(s string) []string {
	m := memberScanner{in: s}
	m.scan()
	return m.names
}

// Parameter does for a parameter of the form name:value:type what [Members] does for a member.
// It keeps the type.
func Parameter(s string) string {
	name, rest, ok := strings.Cut(s, ":")
	i := strings.LastIndexByte(rest, ':')
	if !ok || i < 0 || !Credential(name) || !slices.Contains([]string{"bool", "int", "string"}, rest[i+1:]) {
		return Members(s)
	}
	return name + ":" + placeholder + rest[i:]
}

// A memberScanner copies a text and hides the values of credentials.
type memberScanner struct {
	in     string
	pos    int
	out    strings.Builder
	member string // last name of a member that is no credential
	names  []string
	values []string // hidden texts
}

func (m *memberScanner) scan() {
	if trimmed := strings.TrimSpace(m.in); trimmed == "" || !strings.ContainsRune(`{["'`, rune(trimmed[0])) {
		m.line()
		return
	}
	for m.pos < len(m.in) {
		begin := m.pos
		name, isName := m.next()
		colon := m.pos
		for colon < len(m.in) && isSpace(m.in[colon]) {
			colon++
		}
		isName = isName && colon < len(m.in) && (m.in[colon] == ':' || m.in[colon] == '=')
		switch {
		case !isName:
			m.out.WriteString(m.inner(m.in[begin:m.pos]))
		case !Credential(name):
			m.member = name
			m.out.WriteString(m.in[begin:m.pos])
		default:
			colon++
			for colon < len(m.in) && isSpace(m.in[colon]) {
				colon++
			}
			m.out.WriteString(m.in[begin:colon])
			m.pos = colon
			m.hide(name)
		}
	}
}

// line hides the value of name:value or name=value. In a list of name=value it hides everything
// after the first name of a credential, because a value has no end mark.
func (m *memberScanner) line() {
	m.pos = len(m.in)
	for i := range len(m.in) {
		sep := m.in[i]
		if sep != ':' && sep != '=' {
			continue
		}
		begin := i
		for begin > 0 && isWord(m.in[begin-1]) {
			begin--
		}
		first := strings.TrimSpace(m.in[:begin]) == ""
		if !first && (sep == ':' || strings.IndexByte(" ,;&?=:", m.in[begin-1]) < 0) {
			continue // a path or a sentence
		}
		name, value := m.in[begin:i], m.in[i+1:]
		switch trimmed := strings.TrimSpace(value); {
		case Credential(name) && !isNoSecret(value):
			m.found(name, value)
			m.out.WriteString(m.in[:i+1] + placeholder)
			return
		case trimmed != "" && (trimmed[0] == '{' || trimmed[0] == '['):
			inner := memberScanner{in: value}
			inner.scan()
			m.take(&inner)
			m.out.WriteString(m.in[:i+1] + inner.out.String())
			return
		}
	}
	m.out.WriteString(m.in)
}

// next moves over a string, a word, or one other byte. A string or a word may be a name.
func (m *memberScanner) next() (name string, isName bool) {
	begin := m.pos
	switch c := m.in[begin]; {
	case c == '"' || c == '\'':
		m.pos = quotedEnd(m.in, begin)
		return unquoted(m.in[begin:m.pos]), true
	case isWord(c):
		for m.pos < len(m.in) && isWord(m.in[m.pos]) {
			m.pos++
		}
		return m.in[begin:m.pos], true
	}
	m.pos++
	return "", false
}

// hide replaces the value that begins here.
func (m *memberScanner) hide(name string) {
	begin := m.pos
	if begin == len(m.in) {
		return
	}
	switch m.in[begin] {
	case '"', '\'':
		m.pos = quotedEnd(m.in, begin)
	case '{', '[':
		m.pos = nestedEnd(m.in, begin)
	default:
		for m.pos < len(m.in) && strings.IndexByte(",}]\n", m.in[m.pos]) < 0 {
			m.pos++
		}
	}
	if value := m.in[begin:m.pos]; isNoSecret(value) {
		m.out.WriteString(value)
		return
	}
	m.found(name, m.in[begin:m.pos])
	quote := `"`
	if m.in[begin] == '\'' {
		quote = `'`
	}
	m.out.WriteString(quote + placeholder + quote)
}

// found notes a hidden value and the name of its member.
func (m *memberScanner) found(name, value string) {
	m.addName(name)
	value = strings.TrimSpace(value)
	if value[0] != '{' && value[0] != '[' {
		m.values = append(m.values, text(value))
		return
	}
	for i := 0; i < len(value); i++ {
		if value[i] == '"' || value[i] == '\'' {
			end := quotedEnd(value, i)
			m.values = append(m.values, text(value[i:end]))
			i = end - 1
		}
	}
}

// take adds the names and values that the scanner of a part has hidden.
func (m *memberScanner) take(part *memberScanner) {
	for _, name := range part.names {
		m.addName(name)
	}
	m.values = append(m.values, part.values...)
}

func (m *memberScanner) addName(name string) {
	if !slices.Contains(m.names, name) {
		m.names = append(m.names, name)
	}
}

// inner hides credentials in a string that is a URL, or holds JSON itself.
func (m *memberScanner) inner(s string) string {
	if s[0] != '"' && s[0] != '\'' {
		return s
	}
	plain := unquoted(s)
	if hidden, ok := urlCredentials(plain); ok {
		m.addName(cmp.Or(m.member, "url"))
		m.values = append(m.values, hidden...)
		return s[:1] + jsonForm(URL(plain), false) + s[:1]
	}
	if trimmed := strings.TrimSpace(plain); s[0] != '"' || trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' {
		return s
	}
	inner := memberScanner{in: plain}
	inner.scan()
	if len(inner.names) == 0 {
		return s
	}
	m.take(&inner)
	return `"` + jsonForm(inner.out.String(), false) + `"`
}

// urlCredentials reports whether a text is a URL that has user information, or a credential or a
// signature in its query. It returns the texts to hide.
func urlCredentials(s string) (hidden []string, ok bool) {
	scheme, rest, isURL := strings.Cut(s, "://")
	if !isURL || strings.ContainsFunc(scheme, func(r rune) bool { return r != '+' && !unicode.IsLetter(r) }) || strings.ContainsAny(rest, " \t\n") {
		return nil, false
	}
	place, query, _ := strings.Cut(rest, "?")
	authority, _, _ := strings.Cut(place, "/")
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		_, password, _ := strings.Cut(authority[:at], ":")
		hidden, ok = append(hidden, authority[:at], password), true
	}
	for part := range strings.FieldsFuncSeq(query, isQueryEnd) {
		name, _, _ := strings.Cut(part, "=")
		if words := wordsOf(name); Credential(name) || slices.Contains(words, "sig") || slices.Contains(words, "signature") {
			var all Secrets
			all.AddQuery(query)
			return append(hidden, all.forms...), true
		}
	}
	return hidden, ok
}

// isNoSecret reports whether a value cannot be a credential.
func isNoSecret(value string) bool {
	return slices.Contains([]string{"", `""`, "''", "true", "false", "null"}, strings.ToLower(strings.TrimSpace(value)))
}

// quotedEnd returns the index after the quoted string that begins at begin, or the length of s
// if the string has no closing quote.
func quotedEnd(s string, begin int) int {
	for i := begin + 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[begin]:
			return i + 1
		}
	}
	return len(s)
}

// nestedEnd returns the index after the object or array that begins at begin, or the length of s
// if it is not closed.
func nestedEnd(s string, begin int) int {
	depth := 0
	for i := begin; i < len(s); i++ {
		switch s[i] {
		case '"', '\'':
			i = quotedEnd(s, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// text returns the text of a value, quoted or not.
func text(value string) string {
	if value[0] == '"' || value[0] == '\'' {
		return unquoted(value)
	}
	return value
}

// unquoted returns the text of a quoted string.
func unquoted(s string) string {
	if !strings.Contains(s, `\`) {
		return strings.Trim(s, s[:1])
	}
	var plain string
	if json.Unmarshal([]byte(s), &plain) == nil {
		return plain
	}
	return strings.Trim(s, `"'`)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isWord(c byte) bool {
	return c == '_' || c == '-' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}
