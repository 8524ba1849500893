package report

import (
	"math"

	"github.com/pa-tools/pa/pkg/analyze"
)

// The parts of pa-report/1 that exist only on request.

// A Part is the selected part of a level in JSON: "selected" of the schemas.
type Part struct {
	How          string      `json:"how"`
	StartNS      uint64      `json:"start_ns"`
	EndNS        uint64      `json:"end_ns"`
	LevelStartNS uint64      `json:"level_start_ns"`
	LevelEndNS   uint64      `json:"level_end_ns"`
	Steady       *PartSteady `json:"steady,omitempty"`
}

// A PartSteady describes a steady state.
type PartSteady struct {
	Concurrency int     `json:"concurrency"`
	Threshold   int     `json:"threshold"`
	Peak        int     `json:"peak"`
	AtPlateau   float64 `json:"at_plateau"`
}

// PartOf returns s in the layout of JSON; nil for nil.
func PartOf(s *analyze.Selected) *Part {
	if s == nil {
		return nil
	}
	p := &Part{How: s.How, StartNS: s.FromNS, EndNS: s.ToNS, LevelStartNS: s.Level.FromNS, LevelEndNS: s.Level.ToNS}
	if x := s.Steady; x != nil {
		p.Steady = &PartSteady{x.Concurrency, x.Threshold, x.Peak, x.AtPlateau}
	}
	return p
}

type jsonModel struct {
	Model      string         `json:"model"`
	OK         int            `json:"ok"`
	Failed     int            `json:"failed"`
	Metrics    namedMetrics   `json:"metrics"`
	Throughput jsonThroughput `json:"throughput"`
}

func jsonModels(all []analyze.ModelPart) []jsonModel {
	var j []jsonModel
	for i := range all {
		m := &all[i]
		j = append(j, jsonModel{m.Model, m.OK, m.Failed, namedMetrics{all: m.Metrics}, jsonRates(&m.Throughput)})
	}
	return j
}

type jsonWindow struct {
	StartNS    uint64         `json:"start_ns"`
	EndNS      uint64         `json:"end_ns"`
	OffsetNS   int64          `json:"offset_ns"`
	OK         int            `json:"ok"`
	Failed     int            `json:"failed"`
	Metrics    namedMetrics   `json:"metrics"`
	Throughput jsonThroughput `json:"throughput"`
}

func jsonWindows(all []analyze.Window) []jsonWindow {
	var j []jsonWindow
	for i := range all {
		w := &all[i]
		j = append(j, jsonWindow{w.FromNS, w.ToNS, w.OffsetNS, w.OK, w.Failed, namedMetrics{all: w.Metrics}, jsonRates(&w.Throughput)})
	}
	return j
}

type jsonSLO struct {
	Expression string   `json:"expression"`
	Target     float64  `json:"target,omitempty"` // not of a condition
	Attained   *float64 `json:"attained,omitempty"`
	// NA is the reason why Attained is unknown.
	NA         string         `json:"na,omitempty"`
	Met        int            `json:"met"`
	Missed     int            `json:"missed"`
	Failed     int            `json:"failed"`
	Unknown    int            `json:"unknown"`
	Lacking    map[string]int `json:"lacking,omitempty"`
	Goodput    jsonThroughput `json:"goodput"`
	Conditions []jsonSLO      `json:"conditions,omitempty"`
}

func jsonAttainment(x *analyze.Attainment, target float64) *jsonSLO {
	if x == nil {
		return nil
	}
	j := &jsonSLO{
		Expression: x.SLO.String(), Target: target, NA: x.Share.NA,
		Met: x.Met, Missed: x.Missed, Failed: x.Failed, Unknown: x.Unknown, Lacking: byName(x.Lacking),
		Goodput: jsonThroughput{Requests: rate(x.Requests), OutputTokens: rate(x.OutputTokens)},
	}
	if x.Share.OK {
		j.Attained = &x.Share.V
	}
	for i := range x.Conditions {
		j.Conditions = append(j.Conditions, *jsonAttainment(&x.Conditions[i], 0))
	}
	return j
}

type jsonMaxLoad struct {
	Mode     string         `json:"mode"`
	Target   float64        `json:"target"`
	Estimate *float64       `json:"estimate,omitempty"`
	Low      *float64       `json:"low,omitempty"`
	High     *float64       `json:"high,omitempty"`
	NA       string         `json:"na,omitempty"` // why a bound is missing
	Within   *jsonLoadLevel `json:"within,omitempty"`
	Beyond   *jsonLoadLevel `json:"beyond,omitempty"`
	Again    bool           `json:"again,omitempty"`
	Next     []float64      `json:"next,omitempty"`
	Requests int            `json:"next_requests,omitempty"`
	Untold   []string       `json:"untold,omitempty"`
}

type jsonLoadLevel struct {
	Load     float64 `json:"load"`
	Attained float64 `json:"attained"`
}

func jsonLoad(m *analyze.MaxLoad) *jsonMaxLoad {
	if m == nil {
		return nil
	}
	at := func(l *analyze.LoadLevel) *jsonLoadLevel {
		if l == nil {
			return nil
		}
		return &jsonLoadLevel{l.Load, l.Share}
	}
	j := &jsonMaxLoad{Mode: m.Mode, Target: m.Target, Within: at(m.Within), Beyond: at(m.Beyond), NA: m.NA, Again: m.Again, Next: m.Next, Requests: m.NextRequests, Untold: m.Unknown}
	if bounded(m.Estimate) {
		j.Estimate = &m.Estimate
	}
	if low := m.Interval.Low; bounded(low) {
		j.Low = &low
	}
	if high := m.Interval.High; bounded(high) {
		j.High = &high
	}
	return j
}

// bounded reports whether an end of an interval is a number.
func bounded(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
