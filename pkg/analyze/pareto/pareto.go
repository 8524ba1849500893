package pareto

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/stated"
)

// Options choose the rates. The zero value compares the pace of decoding with output tokens.
type Options struct {
	// WholeRequest takes output tokens / E2EL as the rate of a user, with the time to the first token;
	// else it is 1 / mean TPOT.
	WholeRequest bool
	// TotalTokens counts input and output tokens in the rate of a GPU; else only output tokens.
	TotalTokens bool
	// UserReference and RateReference are the reference point of areas.
	UserReference, RateReference float64
}

// A Point is a load level.
type Point struct {
	File  string
	Level string // for people: "concurrency 8"
	Mode  string
	Value string
	// GPUs is the number of GPUs; 0 if it is not known, or if the level has no figures.
	GPUs int
	// UserRate and Rate are tokens per second; both are 0 with a Why. Rate is per GPU if Result.PerGPU is
	// set.
	UserRate, Rate float64
	// Frontier says that the point is on the frontier of all files, and OfFile on the frontier of its
	// own file.
	Frontier, OfFile bool
	// SLO is the share of requests that met the objective; not OK without one.
	SLO figure.Share
	// Why is the reason why the level has no rates; "" if it has. It is then on no frontier.
	Why string
}

// A Front is the frontier of a file, or of all files.
type Front struct {
	// File is "" for all files.
	File string
	// Points are indices in Result.Points, by ascending UserRate.
	Points []int
	// Area is the hypervolume above the reference, in tokens²/s².
	Area float64
	// Knee is the index of the knee in Result.Points; -1 if there is none, for the reason KneeWhy.
	Knee    int
	KneeWhy string
}

// A Capacity is the highest load of a file that meets the objective.
type Capacity struct {
	File string
	*figure.MaxLoad
}

// A Result compares the levels of all files.
type Result struct {
	Options Options
	// Stated names the tool whose own figures the rates are; "" for rates that are computed from requests.
	Stated string
	// statedRates are the tool's names of the rates.
	statedRates stated.Rates
	// PerGPU says that Point.Rate is divided by the GPUs. It is false if a level does not tell their number.
	PerGPU bool
	Points []Point
	// All is the frontier of all files, and Files the frontier of each file; nil for one file.
	All   Front
	Files []Front
	// Capacities are of the files with an objective and several levels.
	Capacities []Capacity
	// Notes say what readers of the rates must know.
	Notes []string
}

// Analyze compares the levels of reports that were made with [analyze.Config.Economics].
func Analyze(inputs []report.Input, o Options) *Result {
	r := &Result{Options: o, PerGPU: true}
	unknown := ""
	for _, in := range inputs {
		for i := range in.Report.Experiments {
			if e := in.Report.Experiments[i].Economics; e != nil && e.GPUs == 0 && r.PerGPU {
				r.PerGPU, unknown = false, in.Name
			}
		}
	}
	if !r.PerGPU {
		r.Notes = append(r.Notes, fmt.Sprintf("the rates are of all GPUs together: %s does not tell how many there were; --gpus does", unknown))
	}
	for _, in := range inputs {
		for i := range in.Report.Experiments {
			r.Points = append(r.Points, r.point(in.Name, &in.Report.Experiments[i]))
		}
		if m := in.Report.MaxLoad(); m != nil {
			r.Capacities = append(r.Capacities, Capacity{in.Name, m})
		}
	}
	r.frontiers()
	return r
}

// frontiers finds the frontier of all points, and of each file.
func (r *Result) frontiers() {
	all := make([]int, len(r.Points))
	for i := range all {
		all[i] = i
	}
	r.All = r.front("", all)
	for _, i := range r.All.Points {
		r.Points[i].Frontier = true
	}
	for at := 0; at < len(r.Points); {
		end := at
		for end < len(r.Points) && r.Points[end].File == r.Points[at].File {
			end++
		}
		f := r.front(r.Points[at].File, all[at:end])
		for _, i := range f.Points {
			r.Points[i].OfFile = true
		}
		r.Files = append(r.Files, f)
		at = end
	}
	if len(r.Files) < 2 {
		r.Files = nil
	}
}

// point returns the rates of a level.
func (r *Result) point(file string, x *analyze.Experiment) Point {
	p := Point{File: file, Level: report.LevelName(x), Mode: x.Mode, Value: x.Value}
	if x.SLO != nil {
		p.SLO = x.SLO.Share
	}
	if x.Problem != nil || x.Economics == nil {
		p.Why = "no figures"
		if x.Problem != nil {
			p.Why = x.Problem.Error()
		}
		return p
	}
	p.GPUs = x.Economics.GPUs
	key, rate := figure.KeyUserRate, x.Throughput.OutputTokens
	if r.Options.WholeRequest {
		key = figure.KeyUserRateE2E
	}
	if r.Options.TotalTokens {
		rate = x.Throughput.TotalTokens
	}
	user := x.Economics.Figure(key)
	switch {
	case user.Why != "":
		p.Why = user.Label + ": " + user.Why
	case !rate.OK:
		p.Why = "the rate of tokens is not known"
	default:
		p.UserRate, p.Rate = user.Value, rate.PerSecond
		if r.PerGPU {
			p.Rate /= float64(p.GPUs)
		}
	}
	return p
}

// front returns the frontier of the points with these indices.
func (r *Result) front(file string, indices []int) Front {
	f := Front{File: file, Knee: -1}
	var known []int
	for _, i := range indices {
		if r.Points[i].Why == "" {
			known = append(known, i)
		}
	}
	// From the highest rate of a user downwards, a point is on the frontier if its rate is above the rates
	// of all points before it, or if it equals the last point of the frontier in both rates.
	slices.SortStableFunc(known, func(a, b int) int {
		p, q := &r.Points[a], &r.Points[b]
		return cmp.Or(cmp.Compare(q.UserRate, p.UserRate), cmp.Compare(q.Rate, p.Rate))
	})
	for _, i := range known {
		p := &r.Points[i]
		if n := len(f.Points); n > 0 {
			last := &r.Points[f.Points[n-1]]
			if p.Rate < last.Rate || p.Rate == last.Rate && p.UserRate < last.UserRate {
				continue
			}
		}
		f.Points = append(f.Points, i)
	}
	slices.Reverse(f.Points)
	f.Area = r.area(f.Points)
	f.Knee, f.KneeWhy = r.knee(f.Points)
	return f
}

// area returns the hypervolume of a frontier, whose points are in the order of ascending user rates.
func (r *Result) area(front []int) float64 {
	from, sum := r.Options.UserReference, 0.0
	for _, i := range front {
		p := &r.Points[i]
		if p.UserRate <= from {
			continue
		}
		sum += (p.UserRate - from) * max(p.Rate-r.Options.RateReference, 0)
		from = p.UserRate
	}
	return sum
}

// knee returns the point with the greatest distance to the chord of a frontier.
func (r *Result) knee(front []int) (at int, why string) {
	distinct := slices.CompactFunc(slices.Clone(front), func(a, b int) bool {
		return r.Points[a].UserRate == r.Points[b].UserRate && r.Points[a].Rate == r.Points[b].Rate
	})
	if len(distinct) < 3 {
		return -1, fmt.Sprintf("a knee needs 3 levels on the frontier, and there %s %d", plural.Form(len(distinct), "is", "are"), len(distinct))
	}
	first, last := &r.Points[distinct[0]], &r.Points[distinct[len(distinct)-1]]
	at, best := -1, 0.0
	for _, i := range distinct[1 : len(distinct)-1] {
		p := &r.Points[i]
		u := (p.UserRate - first.UserRate) / (last.UserRate - first.UserRate)
		v := (p.Rate - last.Rate) / (first.Rate - last.Rate)
		if d := (u + v - 1) / math.Sqrt2; d > best {
			at, best = i, d
		}
	}
	if at < 0 {
		return -1, "no level lies beyond the straight line between the ends of the frontier"
	}
	return at, ""
}

// UserRateName names the rate of a user, with its formula.
func (r *Result) UserRateName() string {
	if r.Stated != "" {
		return "output tokens/s/user (as " + r.Stated + " states it)"
	}
	if r.Options.WholeRequest {
		return "output tokens/s/user (mean of output tokens / E2EL)"
	}
	return "output tokens/s/user (1 / mean TPOT)"
}

// RateName names the other rate.
func (r *Result) RateName() string {
	name := "output tokens/s"
	if r.Options.TotalTokens {
		name = "input and output tokens/s"
	}
	if r.PerGPU {
		return name + "/GPU"
	}
	return name + ", total"
}

// name names a point for people, with its file if there are several.
func (r *Result) name(i int) string {
	p := &r.Points[i]
	if r.Files != nil {
		return p.File + " " + p.Level
	}
	return p.Level
}
