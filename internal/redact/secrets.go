package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// Secrets is a set of texts to hide. The zero value is empty and hides
// nothing. Its methods may be called concurrently once all are added.
type Secrets struct {
	forms []string // the longest first, so that none is hidden in part
}

// minRunes is the length of the shortest secret. Hiding shorter texts would
// hide messages.
const minRunes = 6

// placeholder replaces a secret in a text.
const placeholder = "[redacted]"

// harmless are headers that hold no credential but words that answers are made
// of, such as application/json.
var harmless = []string{
	"cache-control", "connection", "date", "expect", "from", "host", "http-referer", "keep-alive", "max-forwards", "origin", "pragma",
	"range", "referer", "te", "traceparent", "transfer-encoding", "upgrade", "user-agent", "via", "x-title",
}

// AddHeader adds the value of a header, unless its name says that it is no
// credential.
func (s *Secrets) AddHeader(name, value string) {
	name = strings.ToLower(name)
	if slices.Contains(harmless, name) || strings.HasPrefix(name, "accept") || strings.HasPrefix(name, "content-") {
		return
	}
	s.Add(value)
	scheme, rest, ok := strings.Cut(strings.TrimSpace(value), " ")
	if !ok || !strings.Contains(name, "auth") && !isScheme(scheme) {
		return
	}
	for _, part := range strings.Fields(rest) {
		s.Add(strings.Trim(part, `,;"`))
	}
	if strings.EqualFold(scheme, "basic") {
		s.addBasic(strings.TrimSpace(rest))
	}
}

func isScheme(word string) bool {
	return slices.Contains([]string{"apikey", "basic", "bearer", "digest", "key", "negotiate", "token"}, strings.ToLower(word))
}

// addBasic adds the pair of name and password, and the password; if there is no
// password, the name is the secret.
func (s *Secrets) addBasic(encoded string) {
	pair, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return
	}
	s.Add(string(pair))
	name, password, _ := strings.Cut(string(pair), ":")
	if password == "" {
		password = name
	}
	s.Add(password)
}

// harmlessQuery are names in a query whose values are no credential but words
// that answers are made of.
var harmlessQuery = []string{"alt", "api-version", "api_version", "deployment", "model", "stream", "version"}

// AddQuery adds the values of a URL's query, as they stand there and decoded,
// unless their names say that they are no credentials. A part without a name
// counts as a value.
func (s *Secrets) AddQuery(query string) {
	for part := range strings.FieldsFuncSeq(query, isQueryEnd) {
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			value = name
		} else if slices.Contains(harmlessQuery, strings.ToLower(name)) {
			continue
		}
		s.Add(value)
		for _, decode := range []func(string) (string, error){url.QueryUnescape, url.PathUnescape} {
			if decoded, err := decode(value); err == nil {
				s.Add(decoded)
			}
		}
	}
}

// isQueryEnd reports whether a part of a query ends here.
func isQueryEnd(r rune) bool { return r == '&' || r == ';' || r == '#' }

// AddMembers adds the texts that [Members] would hide.
func (s *Secrets) AddMembers(text string) {
	m := memberScanner{in: text}
	m.scan()
	for _, value := range m.values {
		s.Add(value)
	}
}

// Add adds one secret, in plain form, as escaped in JSON, and in base64. It ignores
// texts of fewer than six runes.
func (s *Secrets) Add(secret string) {
	secret = strings.TrimSpace(secret)
	if utf8.RuneCountInString(secret) < minRunes {
		return
	}
	for _, form := range []string{
		secret, jsonForm(secret, false), jsonForm(secret, true), strings.ReplaceAll(secret, "/", `\/`),
		base64.RawStdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)), // a prefix without padding matches padded text, too
	} {
		if !slices.Contains(s.forms, form) {
			s.forms = append(s.forms, form)
		}
	}
	slices.SortStableFunc(s.forms, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
}

// jsonForm is s as it stands in a JSON string; html with <, > and & as numbers,
// as some servers write them.
func jsonForm(s string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if e.Encode(s) != nil { // no string fails
		return s
	}
	quoted := bytes.TrimSpace(b.Bytes())
	return string(quoted[1 : len(quoted)-1])
}

// Text returns t with a placeholder for each secret.
func (s *Secrets) Text(t string) string {
	for _, form := range s.forms {
		t = strings.ReplaceAll(t, form, placeholder)
	}
	return t
}

// Mask overwrites each secret in b with stars, so that all lengths stay. Digits
// within a longer number, such as a time, are no secret.
func (s *Secrets) Mask(b []byte) {
	for _, form := range s.forms {
		for from := 0; ; {
			i := bytes.Index(b[from:], []byte(form))
			if i < 0 {
				break
			}
			i += from
			from = i + len(form)
			if strings.Trim(form, digits) == "" && (i > 0 && isDigit(b[i-1]) || from < len(b) && isDigit(b[from])) {
				from = i + 1
				continue
			}
			for j := i; j < from; j++ {
				b[j] = '*'
			}
		}
	}
}

const digits = "0123456789"

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
