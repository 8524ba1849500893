package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// The figures of a page are taken from the JSON of the report, so that both hold the same numbers.

// A member is a member of a JSON object, or an element of an array, whose key is then its index. The
// value is []member for an object, list for an array, json.Number, string, bool or nil.
type member struct {
	key   string
	value any
}

// A list is a JSON array.
type list []member

// members decodes the JSON object that r writes, in the order of its text.
func members(r sheet.Renderer) ([]member, error) {
	var b bytes.Buffer
	if err := r(&b); err != nil {
		return nil, err
	}
	d := json.NewDecoder(&b)
	d.UseNumber()
	v, err := decodeValue(d)
	if err != nil {
		return nil, err
	}
	object, ok := v.([]member)
	if !ok {
		return nil, fmt.Errorf("the report is not a JSON object")
	}
	return object, nil
}

// decodeValue decodes the next value.
func decodeValue(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	open, ok := t.(json.Delim)
	if !ok {
		return t, nil
	}
	var all []member
	for d.More() {
		m := member{key: strconv.Itoa(len(all))}
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			m.key = name.(string) // or Token had returned an error
		}
		if m.value, err = decodeValue(d); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if open == '[' {
		return list(all), nil
	}
	return all, nil
}

// get returns the value at a path of keys; nil if there is none.
func get(v any, keys ...string) any {
	for _, k := range keys {
		var in []member
		switch v := v.(type) {
		case []member:
			in = v
		case list:
			in = v
		}
		i := slices.IndexFunc(in, func(m member) bool { return m.key == k })
		if i < 0 {
			return nil
		}
		v = in[i].value
	}
	return v
}

// A number is a figure of the report.
type number struct {
	Run   int
	Level int // -1 for a figure of the whole run
	// Metric and Stat are the path in the JSON without its last key, and this key. The path of a
	// figure of a level begins in the level.
	Metric, Stat string
	Path         string // from the root of the JSON: experiments[0].metrics.ttft_ns.p99
	Value        string // the number as JSON has it
	Text         string // for people
}

// A pair is a name with a figure, or with a text.
type pair struct {
	Name   string
	Def    string // the definition's id; "" for none
	Figure *number
	Text   string
}

// A walker lists the figures of one run or level.
type walker struct {
	run, level int
	defs       *definitions
}

// join appends a key to a path.
func join(path string, m member, inList bool) string {
	switch {
	case inList:
		return path + "[" + m.key + "]"
	case path == "":
		return m.key
	}
	return path + "." + m.key
}

// figure returns the figure at a path, whose text is made by show; nil means a text by the key.
func (w *walker) figure(path string, n json.Number, show func(float64) string) *number {
	f := &number{Run: w.run, Level: w.level, Path: path, Value: n.String()}
	inLevel := path
	if w.level >= 0 {
		inLevel = strings.TrimPrefix(path, "experiments["+strconv.Itoa(w.level)+"].")
	}
	f.Stat = inLevel
	if i := strings.LastIndexByte(inLevel, '.'); i >= 0 {
		f.Metric, f.Stat = strings.TrimPrefix(inLevel[:i], "metrics."), inLevel[i+1:]
	}
	v, err := n.Float64()
	switch {
	case err != nil:
		f.Text = f.Value
	case show != nil:
		f.Text = show(v)
	default:
		f.Text = numberText(path, n, v)
	}
	return f
}

// wallClock is a time of the wall clock in nanoseconds that no duration reaches: the year 2001.
const wallClock = 1e18

// numberText formats a number by its key.
func numberText(path string, n json.Number, v float64) string {
	i, err := strconv.ParseInt(n.String(), 10, 64)
	whole := err == nil
	isTime := strings.HasSuffix(path, "_ns")
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		isTime = isTime || strings.HasSuffix(part, "_ns")
	}
	switch {
	case isTime && whole && i >= wallClock:
		return time.Unix(0, i).UTC().Format("2006-01-02 15:04:05.000 UTC")
	case isTime && strings.HasSuffix(path, ".n"):
		return plural.Grouped(int(i))
	case isTime:
		return report.Span(v)
	case whole && i >= 0 && i <= math.MaxInt:
		return plural.Grouped(int(i))
	}
	return report.Number(v)
}

// mostPairs bounds the pairs of a level: windows have many.
const mostPairs = 3000

// pairs lists everything below a value, but for the keys of skip at the top.
func (w *walker) pairs(path string, v any, skip ...string) []pair {
	var all []pair
	w.walk(&all, "", path, v, skip)
	if len(all) > mostPairs {
		left := len(all) - mostPairs
		all = append(all[:mostPairs:mostPairs], pair{Name: "…", Text: plural.GroupedOf(left, "further figure") + ": see report --format json"})
	}
	return all
}

func (w *walker) walk(all *[]pair, name, path string, v any, skip []string) {
	in, isList := []member(nil), false
	switch v := v.(type) {
	case []member:
		in = v
	case list:
		in, isList = v, true
	case json.Number:
		*all = append(*all, pair{Name: name, Def: w.defs.of(lastKey(path)), Figure: w.figure(path, v, nil)})
	case string:
		*all = append(*all, pair{Name: name, Text: plain(v)})
	case bool:
		*all = append(*all, pair{Name: name, Text: map[bool]string{true: "yes", false: "no"}[v]})
	}
	for _, m := range in {
		if slices.Contains(skip, m.key) && !isList {
			continue
		}
		if m.key == "metrics" && slices.Contains(groupsWithMetrics, name) {
			continue
		}
		if m.key == "figures" && !isList {
			w.levelFigures(all, name, join(path, m, false), m.value)
			continue
		}
		below := strings.TrimPrefix(name+" › "+plain(words(m.key)), " › ")
		if isList {
			below = name + " " + strconv.Itoa(index(m.key)+1)
		}
		w.walk(all, below, join(path, m, isList), m.value, nil)
	}
}

// groupsWithMetrics are the groups whose metrics the table of metrics shows.
var groupsWithMetrics = []string{"quality", "phases", "audio"}

// levelFigures lists the figures of a group of metrics: a pair for each value, and a pair for each reason why
// figures have no value.
func (w *walker) levelFigures(all *[]pair, name, path string, v any) {
	figures, _ := v.([]member)
	var lacking sheet.Reasons
	for _, m := range figures {
		text := func(key string) string { s, _ := get(m.value, key).(string); return s }
		if why := text("why"); why != "" {
			lacking.Add(w.defs.name(m.key), why)
			continue
		}
		for _, part := range []struct{ key, name string }{{"value", ""}, {"error_bound", ", error bound"}} {
			if n, ok := get(m.value, part.key).(json.Number); ok {
				path := path + "." + m.key + "." + part.key
				show := func(v float64) string { return withUnit(numberText(path, n, v), text("unit")) }
				*all = append(*all, pair{Name: name + " › " + w.defs.name(m.key) + part.name, Def: w.defs.of(m.key), Figure: w.figure(path, n, show)})
			}
		}
		if from := text("from"); from != "" {
			*all = append(*all, pair{Name: name + " › " + w.defs.name(m.key) + ", from", Text: plain(from)})
		}
	}
	for names, why := range lacking.All() {
		*all = append(*all, pair{Name: name + " › " + names, Text: "n/a (" + plain(why) + ")"})
	}
}

// withUnit appends the unit of a figure to its number. The text of a time already has a unit; ratios and counts have
// no unit.
func withUnit(number, unit string) string {
	switch unit {
	case "ns", "ratio", "count":
		return number
	}
	return number + " " + unit
}

// index returns the index that a key of a list holds.
func index(key string) int {
	i, _ := strconv.Atoi(key) // made by decodeValue
	return i
}

// lastKey returns the last key of a path.
func lastKey(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// words makes words of a key of JSON: "output_tokens_per_s" → "output tokens per s". The unit of a
// time is left out, because the text has it. The key "na" holds why a value is missing.
func words(key string) string {
	if key == "na" {
		return "n/a"
	}
	return strings.ReplaceAll(strings.TrimSuffix(key, "_ns"), "_", " ")
}

// mostText is the number of bytes that a text of a server or a file has on the page at most.
const mostText = 300

// plain makes a text of a server or a file safe: one line, no invisible characters, not too long.
func plain(s string) string { return sanitize.Text(sanitize.Clip(s, mostText)) }
