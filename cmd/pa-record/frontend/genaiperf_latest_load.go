package frontend

import (
	"fmt"
	"strings"
)

// profileLoad adds the load of profile and returns its name.
func (l *latest) profileLoad() string {
	a := l.a
	var given []string
	for _, name := range []string{"--concurrency", "--request-rate", "--session-concurrency", "--fixed-schedule"} {
		if a.has(name) {
			given = append(given, name)
		}
	}
	if len(given) > 1 {
		l.errorf("%s exclude each other; drop all but one", strings.Join(given, " and "))
		return ""
	}
	concurrency := 0
	var name string
	switch {
	case a.has("--session-concurrency"):
		n := a.text("--session-concurrency")
		l.set("--session-concurrency", n)
		name = "session_concurrency" + n
	case a.has("--fixed-schedule"):
		l.flag("--fixed-schedule")
		name = "fixed_schedule"
	default:
		l.load("1")
		if a.has("--request-rate") {
			name = "request_rate" + l.Args[len(l.Args)-1]
			break
		}
		concurrency = max(1, a.whole("--concurrency"))
		name = fmt.Sprintf("concurrency%d", concurrency)
		if l.payload != "" {
			name = ""
		}
	}
	l.duration(concurrency)
	return name
}

// duration adds the length of the measurement: by default 10 requests, or two for
// each slot if that is more. A trace keeps perf_analyzer's own default.
func (l *latest) duration(concurrency int) {
	if l.payload != "" {
		return
	}
	stability := l.a.number("--stability-percentage")
	if stability == 0 {
		stability = 999
	}
	switch {
	case l.a.whole("--measurement-interval") != 0:
		l.set("--measurement-interval", l.a.text("--measurement-interval"))
	case l.a.whole("--request-count") != 0:
		l.set("--request-count", l.a.text("--request-count"))
	default:
		l.setWhole("--request-count", max(10, 2*concurrency))
	}
	l.setNumber("--stability-percentage", stability)
}

// analyzeLoad adds the load levels of analyze and returns their name.
func (l *latest) analyzeLoad() string {
	a, what := l.a, l.a.text("--sweep-type")
	for _, name := range []string{"--concurrency", "--request-rate", "--session-concurrency", "--fixed-schedule"} {
		l.refuse(a.has(name), "%s does not fit analyze; the sweep is the load", name)
	}
	var values []int
	var err error
	if a.has("--sweep-list") {
		values, err = parseWholes(a.text("--sweep-list"))
		l.refuse(err != nil, "--sweep-list %s: %w", clip(a.text("--sweep-list")), err)
	} else {
		values, err = parseSweep(a.text("--sweep-range"), what == "concurrency")
		l.refuse(err != nil, "--sweep-range %s: %w", clip(a.text("--sweep-range")), err)
	}
	if len(values) == 0 {
		return ""
	}
	list := strings.Trim(strings.ReplaceAll(fmt.Sprint(values), " ", ","), "[]")
	last := values[len(values)-1]
	switch what {
	case "concurrency":
		l.set("--concurrency-range", list)
		l.duration(last)
		if last > 5 && l.a.whole("--request-count") == 0 && l.a.whole("--measurement-interval") == 0 {
			l.notef("every level gets as many requests as the last, %d; GenAI-Perf sends fewer at lower ones", 2*last)
		}
	case "request_rate":
		l.set("--request-rate-range", list)
		l.duration(0)
	default:
		l.errorf("--sweep-type %s is not supported: make a run for each value", what)
	}
	return fmt.Sprintf("%s%d-%d", what, values[0], last)
}

// parseSweep reads MIN:MAX or MIN:MAX:STEP. With powers the values are powers of two,
// and there is no step.
func parseSweep(s string, powers bool) ([]int, error) {
	fields, err := parseWholes(strings.ReplaceAll(s, ":", ","))
	if err != nil {
		return nil, err
	}
	if len(fields) < 2 || len(fields) > 3 {
		return nil, fmt.Errorf("expected MIN:MAX or MIN:MAX:STEP")
	}
	first, last, step := fields[0], fields[1], 1
	if first >= last {
		return nil, fmt.Errorf("the maximum must be above the minimum")
	}
	if len(fields) == 3 {
		step = fields[2]
	}
	if powers {
		if len(fields) == 3 {
			return nil, fmt.Errorf("the concurrency has no step; its values are powers of two")
		}
		if first&(first-1) != 0 || last&(last-1) != 0 {
			return nil, fmt.Errorf("the bounds of the concurrency must be powers of two")
		}
	}
	var all []int
	const most = 10000
	for n := first; n <= last && n > 0; {
		if len(all) == most {
			return nil, fmt.Errorf("more than %d values", most)
		}
		all = append(all, n)
		if powers {
			n *= 2
		} else {
			n += step
		}
	}
	return all, nil
}
