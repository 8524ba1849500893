package observe

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// TextLimits bounds the memory that a text may take.
type TextLimits struct {
	// Bytes bounds the text; 0 means 16 MiB.
	Bytes int64
	// Line bounds a line; 0 means 64 KiB.
	Line int
}

const (
	defaultBytes = 16 << 20
	defaultLine  = 64 << 10
)

// A Sample is the value of one series, from one line. Its texts are valid until the callback
// returns.
type Sample struct {
	// Head holds the name and the labels as in the line. It identifies the series, as
	// long as the server keeps the order of the labels.
	Head []byte
	// Type is the type in the last "# TYPE" line of the name, or of the name without
	// _bucket, _sum, _count, _total or _created; "" for none.
	Type  string
	Value float64
}

// A Label is a name with a value.
type Label struct{ Name, Value string }

// BadLines counts the malformed lines of a text.
type BadLines struct {
	// Lines is the number of malformed lines. First is the line number of the first
	// one, from 1; 0 means none.
	Lines, First int
}

func (b *BadLines) add(line int) {
	if b.Lines++; b.First == 0 {
		b.First = line
	}
}

// errLine is the error for a malformed line, which [ReadText] counts and skips.
var errLine = errors.New("no sample")

// errNothing is the error for a text with malformed lines and no sample.
var errNothing = errors.New("no metrics")

// ReadText calls do for each sample of r. bad counts the malformed lines; a line is also
// malformed if do returns an errLine for it.
//
// ReadText returns the error of do or r, or an error that names the exceeded limit. If the
// text has malformed lines and no sample, the error quotes its beginning.
func ReadText(r io.Reader, lim TextLimits, do func(Sample) error) (bad BadLines, err error) {
	if lim.Bytes <= 0 {
		lim.Bytes = defaultBytes
	}
	if lim.Line <= 0 {
		lim.Line = defaultLine
	}
	bounded := &io.LimitedReader{R: r, N: lim.Bytes + 1}
	in := bufio.NewReaderSize(bounded, lim.Line)
	types := map[string]string{}
	var first string
	good := 0
	for number := 1; ; number++ {
		line, err := in.ReadSlice('\n')
		switch {
		case bounded.N <= 0:
			return bad, fmt.Errorf("more than %d bytes of metrics", lim.Bytes)
		case errors.Is(err, bufio.ErrBufferFull):
			return bad, fmt.Errorf("a line of more than %d bytes%s", lim.Line, beginning(first, line))
		case err != nil && !errors.Is(err, io.EOF):
			return bad, err
		}
		end := err != nil
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if first == "" {
				first = string(line[:min(len(line), 60)])
			}
			switch s, ok := parse(line, types); {
			case ok:
				switch err := do(s); {
				case err == nil:
					good++
				case errors.Is(err, errLine):
					bad.add(number)
				default:
					return bad, err
				}
			case line[0] == '#':
				comment(line, types)
			default:
				bad.add(number)
			}
		}
		if end {
			break
		}
	}
	if good == 0 && bad.Lines > 0 {
		return bad, fmt.Errorf("%w%s", errNothing, beginning(first, nil))
	}
	return bad, nil
}

// beginning quotes the start of a text for an error: its first line, or line if first is
// "".
func beginning(first string, line []byte) string {
	if first == "" {
		first = string(line[:min(len(line), 60)])
	}
	return fmt.Sprintf(" in a text that begins with %q", first)
}

// maxTypes bounds the names whose types are kept.
const maxTypes = 1 << 14

// comment stores the type from a line "# TYPE name type". It ignores other comments.
func comment(line []byte, types map[string]string) {
	f := bytes.Fields(line)
	if len(f) == 4 && string(f[1]) == "TYPE" && len(types) < maxTypes {
		switch t := string(f[3]); t {
		case "counter", "gauge", "histogram", "summary", "untyped":
			types[string(f[2])] = t
		case "unknown":
			types[string(f[2])] = "untyped"
		}
	}
}

// parse parses a line: name{labels} value [timestamp] [# exemplar].
func parse(line []byte, types map[string]string) (s Sample, ok bool) {
	n := nameEnd(line)
	if n == 0 {
		return s, false
	}
	name, end := line[:n], n
	if end < len(line) && line[end] == '{' {
		if end = labelsEnd(line, end); end < 0 {
			return s, false
		}
	}
	rest := bytes.TrimLeft(line[end:], " \t")
	if len(rest) == len(line[end:]) && (end == n || len(rest) == 0) {
		return s, false
	}
	value := rest
	if i := bytes.IndexAny(rest, " \t"); i >= 0 {
		value = rest[:i]
		if !canFollowValue(bytes.TrimSpace(rest[i:])) {
			return s, false
		}
	}
	v, err := strconv.ParseFloat(string(value), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || bytes.ContainsAny(value, "xX_") {
		return s, false
	}
	return Sample{Head: line[:end], Type: typeOf(name, types), Value: v}, true
}

// canFollowValue reports whether b is a timestamp, an exemplar, or both.
func canFollowValue(b []byte) bool {
	if b[0] == '#' {
		return true
	}
	stamp, rest, _ := bytes.Cut(b, []byte(" "))
	_, err := strconv.ParseFloat(string(stamp), 64)
	rest = bytes.TrimSpace(rest)
	return err == nil && (len(rest) == 0 || rest[0] == '#')
}

// nameEnd returns the length of the name that b starts with.
func nameEnd(b []byte) int {
	for i, c := range b {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == ':', i > 0 && c >= '0' && c <= '9':
		default:
			return i
		}
	}
	return len(b)
}

// labelsEnd returns the position after the '}' that ends the labels from i on, or −1 if they
// do not end.
func labelsEnd(b []byte, i int) int {
	quoted := false
	for ; i < len(b); i++ {
		switch {
		case quoted && b[i] == '\\':
			i++
		case b[i] == '"':
			quoted = !quoted
		case b[i] == '}' && !quoted:
			return i + 1
		}
	}
	return -1
}

// typeOf returns the type of a name, see Sample.Type. Only a counter has the suffix _total.
func typeOf(name []byte, types map[string]string) string {
	if t, ok := types[string(name)]; ok {
		return t
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count", "_total", "_created"} {
		if base, ok := bytes.CutSuffix(name, []byte(suffix)); ok {
			if t, ok := types[string(base)]; ok && (suffix == "_total") == (t == "counter") {
				return t
			}
		}
	}
	return ""
}

// Labels parses the head. It returns copies, which stay valid after the callback. The error
// is an errLine.
func (s *Sample) Labels() (name string, labels []Label, err error) {
	n := nameEnd(s.Head)
	name = string(s.Head[:n])
	rest := string(s.Head[n:])
	if rest == "" {
		return name, nil, nil
	}
	rest = strings.TrimSuffix(strings.TrimPrefix(rest, "{"), "}")
	for {
		rest = strings.TrimLeft(rest, " \t,")
		if rest == "" {
			return name, labels, nil
		}
		label, after, ok := strings.Cut(rest, "=")
		after = strings.TrimLeft(after, " \t")
		if !ok || !strings.HasPrefix(after, `"`) {
			return name, nil, fmt.Errorf("%w: %s: expected label=\"value\", found %.40q", errLine, name, rest)
		}
		value, end := unquote(after)
		if end < 0 {
			return name, nil, fmt.Errorf("%w: %s: the value of label %.40q does not end", errLine, name, label)
		}
		labels = append(labels, Label{strings.TrimSpace(label), strings.ToValidUTF8(value, "\uFFFD")})
		rest = after[end:]
	}
}

// unquote returns the content of the quoted text at the start of s, and the position after
// it, or −1 if it does not end.
func unquote(s string) (value string, end int) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), i + 1
		case s[i] == '\\' && i+1 < len(s):
			i++
			if s[i] == 'n' {
				b.WriteByte('\n')
			} else {
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(s[i])
		}
	}
	return "", -1
}
