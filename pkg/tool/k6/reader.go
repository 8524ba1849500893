package k6

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// With --out json, k6 writes a line for each sample of each metric, and one for the metric before its first sample:
//
//	{"type":"Metric","data":{"name":"http_req_duration","type":"trend","contains":"time",…},"metric":"http_req_duration"}
//	{"metric":"http_req_duration","type":"Point","data":{"time":S,"value":MS,"tags":{"status":"200","name":S,"group":S,…}}}
//
// A request is its sample of http_req_duration, whose time is the end of the answer. The duration begins when the connection is there.

const (
	toolName   = "k6"
	formatName = toolName + " --out json"
	sampleName = "http_req_duration"
)

// ResultFile describes the files of k6.
func ResultFile() resultfile.Kind {
	return resultfile.Kind{Name: formatName, Sniff: sniff, Open: open, Stated: statements()}
}

func sniff(o *resultfile.Outline) bool {
	return !o.Array && o.Has("type", "data", "metric") && o.First == "data" &&
		(o.HasInner("name", "type", "contains") || o.HasInner("time", "value"))
}

type fileSample struct {
	Type   string `json:"type"`
	Metric string `json:"metric"`
	Data   struct {
		Time  string   `json:"time"`
		Value *float64 `json:"value"`
		Tags  struct {
			Status    string `json:"status"`
			Expected  string `json:"expected_response"`
			Error     string `json:"error"`
			ErrorCode string `json:"error_code"`
			Group     string `json:"group"`
			Name      string `json:"name"`
		} `json:"tags"`
	} `json:"data"`
}

// open reads nothing: the file has no header.
func open(f *resultfile.File) (*export.Run, resultfile.Source, error) {
	c, err := f.Start()
	if err != nil {
		return nil, nil, err
	}
	const whole = "k6 measures an answer as a whole"
	return &export.Run{
		Experiments: make([]export.Experiment, 1),
		Meta: &export.RunMeta{
			Schema: export.Schema, Tool: toolName, Protocol: "http", Streaming: new(false),
			Import: &export.Import{Format: formatName, Lacks: []export.Lack{
				{Part: export.PartGaps, Why: whole},
				{Part: export.PartLast, Why: whole},
				{Part: export.PartTexts, Why: "k6 keeps no texts"},
				{Part: export.PartInputs, Why: "k6 does not keep what was sent"},
			}},
			Warnings: []string{"k6 times a request from the moment its connection is there: the time to connect is not in it"},
		},
	}, &source{Values: resultfile.Values{C: c}, names: map[string]struct{}{}}, nil
}

// maxNames and maxNameBytes bound the names of requests that are told apart.
const (
	maxNames     = 64
	maxNameBytes = 256
)

// source is the source of the samples.
type source struct {
	resultfile.Values
	id      uint64
	names   map[string]struct{} // of requests
	unknown int                 // requests without an outcome
}

func (s *source) Where() string { return fmt.Sprintf("line %d", max(s.Index, 1)) }

// Next implements resultfile.Source.
func (s *source) Next(r *export.Request) (int, error) {
	for {
		line, err := s.Values.Next("a sample")
		if err != nil {
			return 0, err
		}
		if !bytes.Contains(line, []byte(sampleName)) {
			continue
		}
		var x fileSample
		if err := resultfile.Decode(line, &x); err != nil {
			return 0, resultfile.TypeError(s.At, err)
		}
		if x.Type != "Point" || x.Metric != sampleName {
			continue
		}
		r.ID = s.id
		s.id++
		bad := s.request(r, &x)
		if bad != nil {
			bad.At = s.At
			return 0, bad
		}
		return 0, nil
	}
}

// request fills in r.
func (s *source) request(r *export.Request, x *fileSample) *resultfile.BadEntry {
	end, err := time.Parse(time.RFC3339Nano, x.Data.Time)
	if err != nil || end.Unix() <= 0 || end.Year() > 2200 {
		return &resultfile.BadEntry{Msg: fmt.Sprintf("time: expected an instant, found %.40q", x.Data.Time)}
	}
	if x.Data.Value == nil {
		return &resultfile.BadEntry{Msg: "value is missing"}
	}
	took, ok := resultfile.Milliseconds(*x.Data.Value)
	if at := uint64(end.UnixNano()); !ok || took >= at {
		return resultfile.BadTime(0, "value", *x.Data.Value)
	}
	r.StartNS, r.StartSource = uint64(end.UnixNano())-took, export.SourceUser
	r.Status, r.Phase = export.StatusOK, phaseOf(x.Data.Tags.Group)
	r.Stated = &export.Stated{Streamed: new(false)}
	if len(s.names) <= maxNames {
		name := x.Data.Tags.Name
		s.names[strings.Clone(name[:min(len(name), maxNameBytes)])] = struct{}{}
	}
	if s.failed(r, x) {
		r.FailedNS = r.StartNS + took
		return nil
	}
	resultfile.Respond(r, r.StartNS+took, nil)
	return nil
}

// phaseOf returns the phase of a group: setup and teardown are no part of the load.
func phaseOf(group string) export.Phase {
	switch {
	case strings.HasPrefix(group, "::setup"):
		return export.PhaseWarmup
	case strings.HasPrefix(group, "::teardown"):
		return export.PhaseCooldown
	}
	return export.PhaseMeasured
}

// failed reports whether the request failed, as k6 judges it, and sets the outcome of one that did.
func (s *source) failed(r *export.Request, x *fileSample) bool {
	t := &x.Data.Tags
	code, err := strconv.Atoi(t.Status)
	switch {
	case t.Expected == "true":
		return false
	case t.Expected == "" && err != nil && t.Error == "":
		s.unknown++
		return false
	case t.Expected == "" && code > 0 && code < 400:
		return false
	}
	text := t.Error
	if text == "" && code > 0 && code < 300 {
		text = fmt.Sprintf("k6 did not expect the status %d", code)
	}
	if code < 300 || code > 599 {
		code = 0
	}
	resultfile.Fail(r, code, text)
	r.Stated.ErrorType = t.ErrorCode
	return true
}

// Check does nothing: the file states no figures.
func (s *source) Check(*resultfile.SelfCheck) {}

// Notes implements noter.
func (s *source) Notes() []string {
	var all []string
	if n := len(s.names); n > 1 {
		count := strconv.Itoa(n)
		if n > maxNames {
			count = fmt.Sprintf("more than %d", maxNames)
		}
		all = append(all, fmt.Sprintf("the requests have %s names (the tag \"name\"), and are one level here: their latencies are mixed", count))
	}
	if s.unknown > 0 {
		all = append(all, fmt.Sprintf("%s without the tags status and expected_response: whether they failed is not known; they count as successful", plural.Of(s.unknown, "request")))
	}
	return all
}
