package frontend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pa-tools/pa/internal/py"
)

// An extra is one member that --extra-inputs adds to each request.
type extra struct {
	name  string
	value json.RawMessage
}

// extras reads every --extra-inputs with read. Repeating a name is an error.
func (g *genaiPerf) extras(read func(string) ([]extra, error)) []extra {
	var all []extra
	seen := map[string]bool{}
	for _, s := range g.a.values("--extra-inputs") {
		some, err := read(s)
		if err != nil {
			g.errs = append(g.errs, err)
			continue
		}
		for _, e := range some {
			g.refuse(seen[e.name], "--extra-inputs %s: given twice", clip(e.name))
			seen[e.name] = true
			all = append(all, e)
		}
	}
	return all
}

// parseExtra reads NAME:VALUE by the rules of 24.04 and later: true and false are
// booleans, digits with at most one point are numbers, all else is text.
func parseExtra(s string) (extra, error) {
	name, value, ok := strings.Cut(s, ":")
	switch {
	case !ok || strings.Contains(value, ":"):
		return extra{}, fmt.Errorf("--extra-inputs %s: expected NAME:VALUE, with no other colon", clip(s))
	case name == "" || value == "":
		return extra{}, fmt.Errorf("--extra-inputs %s: expected NAME:VALUE, neither empty", clip(s))
	}
	return extra{name, pythonValue(value)}, nil
}

// parseExtras is parseExtra for the last release. That also accepts a JSON object,
// and a name alone, whose value is null.
func parseExtras(s string) ([]extra, error) {
	if strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}") {
		return parseExtraObject(s)
	}
	if !strings.Contains(s, ":") && s != "" {
		return []extra{{s, json.RawMessage("null")}}, nil
	}
	e, err := parseExtra(s)
	return []extra{e}, err
}

func parseExtraObject(s string) ([]extra, error) {
	d := json.NewDecoder(strings.NewReader(s))
	fail := func(err error) error { return fmt.Errorf("--extra-inputs %s: not a JSON object (%w)", clip(s), err) }
	if _, err := d.Token(); err != nil {
		return nil, fail(err)
	}
	var all []extra
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, fail(err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, fail(err)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, value); err != nil {
			return nil, fail(err)
		}
		all = append(all, extra{fmt.Sprint(key), literal(compact.Bytes())})
	}
	if _, err := d.Token(); err != nil {
		return nil, fail(err)
	}
	return all, nil
}

// pythonValue returns a value of --extra-inputs as JSON.
func pythonValue(s string) json.RawMessage {
	digits := func(s string) bool {
		return s != "" && strings.Trim(s, "0123456789") == ""
	}
	switch lower := strings.ToLower(s); {
	case lower == "true" || lower == "false":
		return json.RawMessage(lower)
	case digits(s):
		if s = strings.TrimLeft(s, "0"); s == "" {
			s = "0"
		}
		return json.RawMessage(s)
	case strings.Count(s, ".") == 1 && digits(strings.Replace(s, ".", "", 1)):
		f, err := parseNumber(s)
		if err == nil {
			return json.RawMessage(py.Repr(f))
		}
	}
	return literalText(s)
}
