package profilejson

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/export"
)

// A section holds the positions of the requests of one experiment in the file. An offset is
// the position of the array's '['; -1 means that there is no array.
type section struct {
	requests int64
	// end is the offset after the requests' ']': -1 if it is unknown, a guess for the array
	// that layout.assumed is about.
	end      int64
	excluded int64
}

// A headerParser reads all of a document except the requests.
type headerParser struct {
	jsonscan.Cursor
	run      *export.Run
	sections []section
	samples  int64 // offset of the '[' of the telemetry; -1: there is none
	warnings *warnings
	where    string // place of the next error
	weight   int64  // approximate memory of the header in bytes

	// assumed is the end that an array of requests seems to have, as an offset after the ']';
	// 0 for none. jumped reports that the array was met, whose name is at jumpedFrom. suspect reports that the rest of the
	// header is not as perf_analyzer or pa-record write it, so that the guess may be wrong.
	assumed    int64
	jumped     bool
	jumpedFrom int64
	suspect    bool
	after      struct{ windows, version bool } // members seen after the jump: every recorder writes them there

	// head and tail are the parts before and after the jump of the load level with the jump.
	// Once the parser has read the end of the document, the next jump ends the parsing
	// (errJumped), because the same tail follows. See resume.
	head, tail levelPart
	resumed    bool
}

// A levelPart holds some of the members of a load level, whose names are in seen.
type levelPart struct {
	experiment export.Experiment
	section    section
	seen       seenKeys
}

// join returns the level with the members of p and q. No member is in both, and q has no
// requests.
func (p *levelPart) join(q *levelPart) (export.Experiment, section) {
	e, s := p.experiment, p.section
	if q.seen["experiment"] {
		e.Mode, e.Value = q.experiment.Mode, q.experiment.Value
	}
	if q.seen["window_boundaries"] {
		e.WindowBoundaries = q.experiment.WindowBoundaries
	}
	if q.seen["pa"] {
		e.Meta, s.excluded = q.experiment.Meta, q.section.excluded
	}
	e.Extra = append(e.Extra[:len(e.Extra):len(e.Extra)], q.experiment.Extra...)
	return e, s
}

// errJumped reports that a resumed parser met the next array of requests.
var errJumped = errors.New("the end of the document was read before")

// errNoExperiments reports that a document is valid JSON of another kind.
var errNoExperiments = errors.New(`expected a JSON object with "experiments"`)

// document reads the whole file.
func (h *headerParser) document() error {
	bom, err := h.BOM()
	if err != nil {
		return err
	}
	if bom {
		h.Pos = 3
	}
	b, err := h.Peek()
	if err != nil {
		return err
	}
	if b != '{' {
		return h.Syntax(h.Pos, `expected a JSON object with "experiments", found %q`, b)
	}
	h.Pos++
	seen := seenKeys{}
	h.where = ""
	err = h.Members(true, func(name string) (err error) {
		seen.check(h, name)
		switch name {
		case "experiments":
			err = h.experiments()
		case "version":
			h.after.version = h.jumped
			err = h.text(name, &h.run.Version)
		case "service_kind":
			err = h.text(name, &h.run.ServiceKind)
		case "endpoint":
			err = h.text(name, &h.run.Endpoint)
		case "pa":
			err = h.runMeta()
		default:
			err = h.extra(name, &h.run.Extra)
		}
		if err == nil {
			h.where = ""
		}
		return err
	})
	if err != nil {
		return err
	}
	if !seen["experiments"] {
		return errNoExperiments
	}
	if err := h.isReport(); err != nil {
		return err
	}
	h.suspect = h.suspect || !h.after.version || !h.after.windows
	// Only white space may follow.
	b, err = h.Peek()
	if errors.Is(err, jsonscan.ErrCut) {
		return nil
	}
	if err == nil {
		err = h.Syntax(h.Pos, "the document ends here, but %s, starting with %q; its requests were read", follow(h.Size-h.Pos), b)
	}
	return err
}

// isReport returns an *export.ReportError if the document is a report with levels instead of a
// recording with requests.
func (h *headerParser) isReport() error {
	if slices.ContainsFunc(h.sections, func(s section) bool { return s.requests >= 0 || s.excluded >= 0 }) {
		return nil
	}
	for i := range h.run.Extra {
		if x := &h.run.Extra[i]; x.Name == "schema" && x.Value.Text && export.ReportSchema(string(x.Value.Data)) {
			return &export.ReportError{Name: h.Name, Schema: string(x.Value.Data)}
		}
	}
	return nil
}

func follow(n int64) string {
	if n == 1 {
		return "1 more byte follows"
	}
	return fmt.Sprintf("%d more bytes follow", n)
}

// seenKeys finds repeated members of an object.
type seenKeys map[string]bool

func (s seenKeys) check(h *headerParser, name string) {
	switch name {
	case "experiments", "version", "service_kind", "endpoint", "pa", "experiment", "requests", "window_boundaries",
		"mode", "value", "excluded_requests", "samples":
	default:
		return
	}
	if s[name] {
		h.warn(h.NameAt, warnDuplicate, fmt.Sprintf("member %q is there twice; the last one counts", name))
	}
	s[name] = true
}

func (h *headerParser) warn(off int64, kind warnKind, msg string) {
	h.suspect = true
	h.warnings.add(kind, export.Warning{Name: h.Name, Offset: off, Where: h.where, Msg: msg})
}

// charge adds n bytes to the memory of the header. It returns an error beyond the limit.
func (h *headerParser) charge(n int) error {
	most := max(h.Limit, 1<<20)
	if h.weight += int64(n); h.weight > most {
		return h.TooLarge(h.Pos, "all that is not requests", most)
	}
	return nil
}

// isNull consumes the value at pos if it is null.
func (h *headerParser) isNull() (bool, error) {
	b, err := h.Peek()
	if err != nil || b != 'n' {
		return false, err
	}
	_, err = h.Value("a literal")
	return err == nil, err
}

// array reports whether the value at Pos is an array. It skips null, and another value with a warning.
func (h *headerParser) array(name string) (bool, error) {
	if null, err := h.isNull(); null || err != nil {
		return false, err
	}
	b, err := h.Peek()
	if err != nil || b == '[' {
		return err == nil, err
	}
	return false, h.wrongType(name, "an array")
}

// text reads a string or null. A value of another type is kept as an extra
// member.
func (h *headerParser) text(name string, dst **string) error {
	b, err := h.Peek()
	if err != nil {
		return err
	}
	at := h.Pos
	v, err := h.Value(strconv.Quote(name))
	switch {
	case err != nil:
		return err
	case b == '"':
		s := string(jsonscan.DecodeText(v))
		*dst = &s
	case b == 'n':
		*dst = nil
	default:
		h.warn(at, warnHeader, fmt.Sprintf("member %q: expected a string, found %s", name, jsonscan.Excerpt(v)))
		h.run.Extra = append(h.run.Extra, export.Field{Name: name, Value: export.ValueOf(v)})
	}
	return h.charge(len(v))
}

// extra keeps a member that no known release writes.
func (h *headerParser) extra(name string, dst *export.Fields) error {
	h.suspect = true
	v, err := h.Value(fmt.Sprintf("member %q", name))
	if err != nil {
		return err
	}
	*dst = append(*dst, export.Field{Name: name, Value: export.ValueOf(v)})
	return h.charge(len(v) + 64)
}

// runMeta reads the document's "pa" and stores the position of its samples.
func (h *headerParser) runMeta() error {
	h.samples = -1
	if null, err := h.isNull(); null || err != nil {
		return err
	}
	at := h.Pos
	var rest []byte
	b, err := h.Peek()
	if err != nil {
		return err
	}
	found := false
	if b == '{' {
		rest, found, err = h.members("samples", &h.samples)
	} else if rest, err = h.Value(`member "pa"`); err == nil {
		err = h.charge(len(rest))
	}
	if err != nil {
		return err
	}
	if found && string(rest) == "{}" {
		return nil
	}
	if h.run.Meta = decodeMeta[export.RunMeta](h, at, jsonscan.AppendCompact(nil, rest)); h.run.Meta == nil {
		h.run.Extra = append(h.run.Extra, export.Field{Name: "pa", Value: export.ValueOf(rest)})
		h.samples = -1
	}
	return nil
}

// members reads an object and returns it without the member called name. If that member
// is an array, members stores its position in array; any other type is a warning. found
// reports that the member is there.
func (h *headerParser) members(name string, array *int64) (rest []byte, found bool, err error) {
	h.Pos++
	rest = []byte{'{'}
	seen := seenKeys{}
	err = h.Members(true, func(key string) error {
		seen.check(h, key)
		if key == name {
			switch b, err := h.Peek(); {
			case err != nil:
				return err
			case b == '[':
				*array = h.Pos
				return h.Skip()
			}
			return h.wrongType(key, "an array")
		}
		v, err := h.Value(strconv.Quote(key))
		if err != nil {
			return err
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(appendText(rest, []byte(key)), ':')
		rest = append(rest, v...)
		return h.charge(2 * (len(v) + len(key)))
	})
	return append(rest, '}'), seen[name], err
}

func (h *headerParser) experiments() error {
	h.run.Experiments, h.sections = nil, nil
	b, err := h.Peek()
	if err != nil {
		return err
	}
	if b != '[' {
		return h.wrongType("experiments", "an array")
	}
	h.Pos++
	return h.levels(true)
}

// levels reads the elements of experiments from Pos on. first says that none came before.
func (h *headerParser) levels(first bool) error {
	h.where = ""
	return h.Elements(first, func() error {
		h.where = fmt.Sprintf("experiment %d", len(h.sections))
		b, err := h.Peek()
		if err != nil {
			return err
		}
		at := h.Pos
		if b == '{' {
			err = h.experiment()
		} else if v, e := h.Value("an experiment"); e == nil {
			h.warn(at, warnHeader, fmt.Sprintf("expected an object, found %s", jsonscan.Excerpt(v)))
		} else {
			err = e
		}
		if err == nil {
			h.where = ""
		}
		return err
	})
}

// experiment reads one element of experiments. The run keeps the members it read before
// an error.
func (h *headerParser) experiment() error {
	if h.jumped {
		h.suspect = true // perf_analyzer gives every experiment requests
	}
	if err := h.charge(256); err != nil {
		return err
	}
	h.run.Experiments = append(h.run.Experiments, export.Experiment{})
	h.sections = append(h.sections, section{-1, -1, -1})
	h.Pos++
	return h.levelMembers(seenKeys{}, true)
}

// levelMembers reads the members of the last experiment from Pos on. seen holds the members
// before; first says that there are none.
func (h *headerParser) levelMembers(seen seenKeys, first bool) error {
	e := &h.run.Experiments[len(h.run.Experiments)-1]
	s := &h.sections[len(h.sections)-1]
	split := false
	err := h.Members(first, func(name string) (err error) {
		seen.check(h, name)
		switch name {
		case "experiment":
			err = h.level(e)
		case "requests":
			jumped := h.jumped
			if err = h.requests(s); err == nil && h.jumped && !jumped {
				h.head = levelPart{*e, *s, maps.Clone(seen)}
				if h.resumed {
					return errJumped
				}
				split = true
				*e, *s = export.Experiment{}, section{-1, -1, -1}
			}
		case "window_boundaries":
			h.after.windows = h.jumped
			err = h.windows(e)
		case "pa":
			err = h.experimentMeta(e, s)
		default:
			err = h.extra(name, &e.Extra)
		}
		return err
	})
	if err != nil || !split {
		return err
	}
	for name := range h.head.seen {
		delete(seen, name)
	}
	h.tail = levelPart{*e, *s, seen}
	*e, *s = h.head.join(&h.tail)
	return nil
}

// level reads {"mode":…,"value":…}.
func (h *headerParser) level(e *export.Experiment) error {
	b, err := h.Peek()
	if err != nil {
		return err
	}
	if b != '{' {
		return h.wrongType("experiment", "an object")
	}
	h.Pos++
	seen := seenKeys{}
	return h.Members(true, func(name string) error {
		at := h.Pos
		seen.check(h, name)
		v, err := h.Value(strconv.Quote(name))
		if err == nil {
			err = h.charge(len(v))
		}
		if err != nil {
			return err
		}
		isText := v[0] == '"'
		isNumber := v[0] == '-' || '0' <= v[0] && v[0] <= '9'
		wrong := ""
		switch {
		case name == "mode" && isText:
			e.Mode = string(jsonscan.DecodeText(v))
		case name == "value" && isNumber:
			e.Value = string(v)
		case name == "value" && isText && jsonscan.IsNumber(jsonscan.DecodeText(v)):
			e.Value = string(jsonscan.DecodeText(v))
			wrong = fmt.Sprintf("member \"value\": expected a number, found the string %s", jsonscan.Excerpt(v))
		case name == "mode":
			wrong = fmt.Sprintf("member \"mode\": expected a string, found %s", jsonscan.Excerpt(v))
		case name == "value":
			wrong = fmt.Sprintf("member \"value\": expected a number, found %s", jsonscan.Excerpt(v))
		default:
			wrong = fmt.Sprintf("member \"experiment\" has an unknown member %q, which is not kept", name)
		}
		if wrong != "" {
			h.warn(at, warnHeader, wrong)
		}
		return nil
	})
}

// requests stores the position of the array of requests and skips the array.
func (h *headerParser) requests(s *section) error {
	name := h.NameAt
	s.requests, s.end = -1, -1
	if ok, err := h.array("requests"); !ok {
		return err
	}
	s.requests = h.Pos
	if h.assumed > h.Pos && !h.jumped {
		h.jumped, h.jumpedFrom = true, name
		h.suspect = false
		h.Pos = h.assumed
	} else if err := h.Skip(); err != nil {
		return err
	}
	s.end = h.Pos
	return nil
}

// wrongType skips the value of a member that should be of another type, and warns.
func (h *headerParser) wrongType(name, want string) error {
	at := h.Pos
	v, err := h.Value(strconv.Quote(name))
	if err == nil {
		h.warn(at, warnHeader, fmt.Sprintf("member %q: expected %s, found %s", name, want, jsonscan.Excerpt(v)))
	}
	return err
}

// resume goes on after the array of requests that the parser jumped over and that ends at Pos:
// the assumed end belongs to a later array. It reads up to the next array of requests, which
// has the end and the tail of the document instead. It reads no byte twice, because a file may
// have thousands of levels. ok is false if the document is not a recorder's, or has warnings.
func (h *headerParser) resume() (ok bool) {
	var w warnings
	h.warnings, h.resumed, h.jumped = &w, true, false
	k := len(h.sections) - 1
	h.run.Experiments[k], h.sections[k] = h.head.experiment, h.head.section
	h.sections[k].end = h.Pos
	err := h.levelMembers(h.head.seen, false)
	if err == nil {
		err = h.levels(false)
	}
	if !errors.Is(err, errJumped) || len(w.list) > 0 {
		return false
	}
	for name := range h.tail.seen {
		if h.head.seen[name] {
			return false
		}
	}
	k = len(h.sections) - 1
	h.run.Experiments[k], h.sections[k] = h.head.join(&h.tail)
	return true
}

func (h *headerParser) windows(e *export.Experiment) error {
	e.WindowBoundaries = nil
	if ok, err := h.array("window_boundaries"); !ok {
		return err
	}
	at := h.Pos
	v, err := h.Value(`"window_boundaries"`)
	if err != nil {
		return err
	}
	if err := h.charge(4 * len(v)); err != nil { // 8 bytes for each "1,"
		return err
	}
	all, wrong := []uint64{}, false
	_, err = jsonscan.Elements(v, 0, func(i int) (end int, err error) {
		ns, end, bad, err := jsonscan.Uint(v, i)
		if bad && !wrong {
			wrong = true
			h.warn(at+int64(i), warnHeader, fmt.Sprintf("member \"window_boundaries\": expected integers of nanoseconds, found %s", jsonscan.Excerpt(v[i:end])))
		}
		all = append(all, ns)
		return end, err
	})
	if err == nil && !wrong {
		e.WindowBoundaries = all
	}
	return h.Located(err)
}

// experimentMeta reads an experiment's "pa" and stores the position of its
// excluded_requests.
func (h *headerParser) experimentMeta(e *export.Experiment, s *section) error {
	s.excluded = -1
	e.Meta = nil
	b, err := h.Peek()
	if err != nil {
		return err
	}
	if b != '{' {
		h.suspect = true
		return h.extra("pa", &e.Extra)
	}
	at := h.Pos
	rest, found, err := h.members("excluded_requests", &s.excluded)
	if err != nil {
		return err
	}
	if found && string(rest) == "{}" {
		return nil
	}
	e.Meta = decodeMeta[export.ExperimentMeta](h, at, rest)
	return nil
}

// decodeMeta decodes object, the "pa" that begins at the offset at. It leaves out the members that have a wrong type,
// each with a warning, and returns nil with a warning if object is no object.
func decodeMeta[T any](h *headerParser, at int64, object []byte) *T {
	m := new(T)
	err := json.Unmarshal(object, m)
	if err == nil {
		return m
	}
	m = new(T)
	w := jsonscan.Walker{Text: object}
	for ok := w.OpenObject(); ok; ok = w.NextMember() {
		name, raw, from := w.Key, w.RawKey, w.Pos
		w.Skip()
		if w.Err != nil {
			break
		}
		one := slices.Concat([]byte(`{"`), raw, []byte(`":`), object[from:w.Pos], []byte("}"))
		if err := json.Unmarshal(one, new(T)); err != nil {
			h.warn(at, warnHeader, fmt.Sprintf("member \"pa\": %q is left out: %v", name, jsonscan.InWords(err)))
			continue
		}
		_ = json.Unmarshal(one, m) // it was decoded above
	}
	if w.Err != nil {
		h.warn(at, warnHeader, `member "pa" is left out: `+jsonscan.InWords(err).Error())
		return nil
	}
	return m
}

// A warnKind is what makes two warnings the same one, counted.
type warnKind int

const (
	warnHeader    warnKind = iota // each is reported, up to a bound
	warnDuplicate                 // a member is there twice
	warnRow                       // a request of wrong types was left out
	warnSide                      // a member of the wrong type, without which the request was read
	warnCount                     // as many outputs as timestamps
	warnOutput                    // an output that is no object
	warnMeta                      // odd content of a request's "pa"
	warnSample                    // telemetry that was left out
	warnKinds
)

// maxHeaderWarnings bounds how many different header problems are listed.
const maxHeaderWarnings = 16

// warnings collects problems, each kind once with a count.
type warnings struct {
	list  []export.Warning
	index [warnKinds]int // index+1 in list
	heads int
}

// known counts a further warning of a kind that is listed already, and reports
// whether it was: then its text need not be made.
func (w *warnings) known(kind warnKind) bool {
	if kind == warnHeader && w.heads < maxHeaderWarnings || w.index[kind] == 0 {
		return false
	}
	w.list[w.index[kind]-1].Count++
	return true
}

func (w *warnings) add(kind warnKind, x export.Warning) {
	if w.known(kind) {
		return
	}
	if kind == warnHeader {
		w.heads++
	}
	x.Count = 1
	w.list = append(w.list, x)
	w.index[kind] = len(w.list)
}
