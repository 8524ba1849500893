package frontend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/pyfmt"
)

// A Command is what the command line of a tool stands for.
type Command struct {
	// Tool is the tool and its release: "genai-perf 24.04".
	Tool string
	// Args are the arguments of pa-record.
	Args []string
	// Notes say what pa-record does otherwise than the tool.
	Notes []string
	// Reports are the arguments of pa-analyze that give what the tool would
	// have printed and written.
	Reports [][]string
}

// A builder collects what a command line stands for.
type builder struct {
	Command
	hints []hintValue
	errs  []error
}

type hintValue struct{ key, value string }

// flag adds a flag without a value.
func (b *builder) flag(name string) { b.Args = append(b.Args, name) }

// set adds a flag with its value.
func (b *builder) set(name, value string) { b.Args = append(b.Args, name, value) }

// setWhole adds a flag with an integer.
func (b *builder) setWhole(name string, n int) { b.set(name, fmt.Sprint(n)) }

// setNumber adds a flag with a float, written as Python does: 3 is 3.0.
func (b *builder) setNumber(name string, f float64) { b.set(name, pyfmt.Repr(f)) }

// tokenizer adds the tokenizer of prompts and report. One that the tool takes by
// itself may be missing.
func (b *builder) tokenizer(name string, given bool) {
	flag, hint := "--default-tokenizer", "default_tokenizer"
	if given {
		flag, hint = "--tokenizer", "tokenizer"
	}
	b.set(flag, name)
	b.hint(hint, name)
}

// export adds the file of the export, which tools replace without asking, and
// returns its name. folder is made if it is not there; "" is none.
func (b *builder) export(folder, file string) string {
	if folder != "" {
		b.set("--artifact-dir", folder)
	}
	b.set("--profile-export-file", file)
	b.flag("--overwrite")
	if folder == "" {
		return file
	}
	return path.Join(folder, file)
}

// spread reports a standard deviation that is larger than the mean, which is that
// of the option: one length in six would be below 0.
func (b *builder) spread(option string, mean, stddev int) {
	if stddev > mean {
		b.errorf("%s %d: larger than the mean, %d", strings.TrimSuffix(option, "-mean")+"-stddev", stddev, mean)
	}
}

// hint notes something for the analysis; an empty value is none.
func (b *builder) hint(key, value string) {
	if value != "" {
		b.hints = append(b.hints, hintValue{key, value})
	}
}

// errorf notes a mistake.
func (b *builder) errorf(format string, args ...any) {
	b.errs = append(b.errs, fmt.Errorf(format, args...))
}

// notef notes a difference.
func (b *builder) notef(format string, args ...any) {
	b.Notes = append(b.Notes, fmt.Sprintf(format, args...))
}

// finish adds the hints and what was passed through, which comes last, as it
// replaces what stands before it.
func (b *builder) finish(rest []string) {
	b.replaceTokenizer(rest)
	for _, h := range b.hints {
		b.set("--analysis-hint", h.key+"="+h.value)
	}
	b.Args = append(b.Args, rest...)
}

// replaceTokenizer replaces the tool's tokenizer by a tokenizer among the arguments
// that are passed through. pa-record accepts only one of --tokenizer and
// --default-tokenizer, and the report counts with the tokenizer of the run.
func (b *builder) replaceTokenizer(rest []string) {
	flag, name := "", ""
	for i, arg := range rest {
		given, value, joined := strings.Cut("--"+strings.TrimLeft(arg, "-"), "=")
		if !strings.HasPrefix(arg, "-") || given != "--tokenizer" && given != "--default-tokenizer" {
			continue
		}
		if !joined {
			if i+1 == len(rest) {
				return // a mistake, which pa-record reports
			}
			value = rest[i+1]
		}
		flag, name = given, value
	}
	if flag == "" {
		return
	}
	var replaced []string
	for i := 0; i+1 < len(b.Args); i++ {
		if b.Args[i] == "--tokenizer" || b.Args[i] == "--default-tokenizer" {
			replaced = append(replaced, b.Args[i+1])
			b.Args = slices.Delete(b.Args, i, i+2)
			i--
		}
	}
	for i, h := range b.hints {
		// GenAI-Perf 24.03 counts with a tokenizer that no flag names; that hint stays.
		if (h.key == "tokenizer" || h.key == "default_tokenizer") && slices.Contains(replaced, h.value) {
			key := "tokenizer"
			if flag == "--default-tokenizer" {
				key = "default_tokenizer"
			}
			b.hints[i] = hintValue{key, name}
		}
	}
}

// A pattern is a JSON object with places for what differs from request to
// request, for --request-template: members in the order in which they were
// first set, as those of a Python dictionary.
type pattern struct {
	names  []string
	values map[string]json.RawMessage
}

// set gives a member its value. Text of the user's has to go through literal.
func (p *pattern) set(name string, value any) {
	raw, ok := value.(json.RawMessage)
	if !ok {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(value); err != nil {
			panic(err) // values of this package
		}
		raw = bytes.TrimSpace(b.Bytes())
	}
	if p.values == nil {
		p.values = map[string]json.RawMessage{}
	}
	if !slices.Contains(p.names, name) {
		p.names = append(p.names, name)
	}
	p.values[name] = raw
}

// has reports whether the member is set.
func (p *pattern) has(name string) bool { return slices.Contains(p.names, name) }

// String returns the object.
func (p *pattern) String() string {
	var b strings.Builder
	for i, name := range p.names {
		b.WriteByte("{,"[min(i, 1)])
		key, err := json.Marshal(name)
		if err != nil {
			panic(err) // a string
		}
		fmt.Fprintf(&b, "%s:%s", key, p.values[name])
	}
	return b.String() + "}"
}

// literal returns a JSON value that a template takes as it is.
func literal(raw []byte) json.RawMessage {
	return bytes.ReplaceAll(raw, []byte("{{"), []byte("{{{{"))
}

// literalText is literal for a text.
func literalText(s string) json.RawMessage {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string
	}
	return literal(raw)
}

// array returns a JSON array with the one value.
func array(raw json.RawMessage) json.RawMessage {
	return slices.Concat(json.RawMessage{'['}, raw, json.RawMessage{']'})
}
