package serving

import (
	"iter"
	"strings"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/pkg/export"
)

// An event is an event of a streamed answer as a tool reads it: its text without
// "data: ", and the time at which it was complete.
type event struct {
	ns   uint64
	text string
}

const done = "[DONE]"

// body returns the bytes of a response.
func body(p *export.Response) []byte {
	v, _ := p.Outputs.Get("response")
	if !v.Text {
		return nil
	}
	return v.Data
}

// strip takes white space off both ends, as Python's strip does.
func strip(s string) string { return strings.Trim(s, " \t\n\r\v\f") }

// isWhole reports whether an event needs no more bytes.
func isWhole(text string) bool {
	if text == done {
		return true
	}
	_, err := py.ParseJSON(text, py.JSON)
	return text != "" && err == nil
}

// bodies returns the bytes of each response as a string, with one allocation.
func bodies(all []export.Response) []string {
	size := 0
	for i := range all {
		size += len(body(&all[i]))
	}
	var b strings.Builder
	b.Grow(size)
	for i := range all {
		b.Write(body(&all[i]))
	}
	rest := b.String()
	texts := make([]string, len(all))
	for i := range all {
		n := len(body(&all[i]))
		texts[i], rest = rest[:n], rest[n:]
	}
	return texts
}

// lines yields the lines of an answer that are not blank. A line ends with its line
// feed, also in a later response. Some recorders leave out the line feed: a line that is
// whole without it ends with its response, unless the next response begins with one.
func lines(all []export.Response) iter.Seq[event] {
	return func(yield func(event) bool) {
		open := ""
		texts := bodies(all)
		for i, data := range texts {
			for {
				line, rest, ended := strings.Cut(data, "\n")
				open += line
				if !ended {
					break
				}
				data = rest
				text := strip(open)
				open = ""
				if text != "" && !yield(event{all[i].RecvNS, strings.TrimPrefix(text, "data: ")}) {
					return
				}
			}
			if open == "" || i+1 < len(all) && strings.HasPrefix(strings.TrimLeft(texts[i+1], "\r"), "\n") {
				continue
			}
			text := strings.TrimPrefix(strip(open), "data: ")
			if i+1 == len(all) && text != "" || (text == done || strings.HasPrefix(text, "{")) && isWhole(text) {
				open = ""
				if !yield(event{all[i].RecvNS, text}) {
					return
				}
			}
		}
	}
}

// frames yields the events of an answer, cut at blank lines, without comments. The text
// after the last blank line is an event if it is whole; otherwise it is dropped.
func frames(all []export.Response) iter.Seq[event] {
	return func(yield func(event) bool) {
		open := ""
		for i, data := range bodies(all) {
			open += data
			for {
				message, rest, ended := strings.Cut(open, "\n\n")
				if !ended {
					break
				}
				open = rest
				if !frame(all[i].RecvNS, message, yield) {
					return
				}
			}
			if text, ok := strings.CutPrefix(open, "data: "); ok && isWhole(strip(text)) {
				message := open
				open = ""
				if !frame(all[i].RecvNS, message, yield) {
					return
				}
			}
		}
	}
}

func frame(ns uint64, message string, yield func(event) bool) bool {
	message = strip(message)
	if message == "" || message[0] == ':' {
		return true
	}
	return yield(event{ns, strings.TrimPrefix(message, "data: ")})
}
