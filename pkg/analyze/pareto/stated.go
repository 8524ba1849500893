package pareto

import (
	"fmt"
	"math"

	"github.com/pa-tools/pa/pkg/analyze/stated"
)

// Stated compares the levels of results of figures, by the rates that their tool states. gpus has the number of GPUs of each result, 0 if
// it is not known. The error says that the results are of several tools.
func Stated(results []*stated.Result, gpus []int, o Options) (*Result, error) {
	if err := stated.OneTool(results); err != nil {
		return nil, err
	}
	r := &Result{Options: o, PerGPU: true, Stated: results[0].Definitions, statedRates: results[0].Rates}
	for i, s := range results {
		if !s.Rates.PerGPU && gpus[i] == 0 && r.PerGPU {
			r.PerGPU = false
			r.Notes = append(r.Notes, fmt.Sprintf("the rates are of all GPUs together: %s does not tell how many there were; --gpus does", s.File))
		}
	}
	if rates := results[0].Rates; rates.User != "" {
		r.Notes = append(r.Notes, fmt.Sprintf("the rates are the figures %s and %s of %s, and follow from no requests here", rates.User, rates.GPU, r.Stated))
	}
	for i, s := range results {
		for j := range s.Levels {
			r.Points = append(r.Points, statedPoint(s, &s.Levels[j], gpus[i], r.PerGPU))
		}
	}
	r.frontiers()
	return r, nil
}

// statedPoint returns the rates of a level.
func statedPoint(s *stated.Result, l *stated.Level, gpus int, perGPU bool) Point {
	p := Point{File: s.File, Level: l.Name(), Mode: l.Mode, Value: l.Value, GPUs: gpus}
	user, rate := l.Named(s.Rates.User), l.Named(s.Rates.GPU)
	switch {
	case s.Rates.User == "":
		p.Why = s.Definitions + " states no rate of a user"
	case user == nil || math.IsNaN(user.Value):
		p.Why = "the file does not state " + s.Rates.User
	case rate == nil || math.IsNaN(rate.Value):
		p.Why = "the file does not state " + s.Rates.GPU
	default:
		p.UserRate, p.Rate = user.Value, rate.Value
		if perGPU && !s.Rates.PerGPU {
			p.Rate /= float64(gpus)
		}
	}
	return p
}
