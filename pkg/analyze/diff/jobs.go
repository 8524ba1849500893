package diff

import (
	"fmt"

	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// jobs compares the times of the finished sessions of two single runs, with the session as the unit: in pairs, if both sides
// have finished at least half of the sessions, by their ids; else as two series in the order of their starts. A session that
// was played several times in a run has an id for each play.
func (l *LevelDiff) jobs() {
	older, newer := l.Old[0].Jobs, l.New[0].Jobs
	if len(older) == 0 || len(newer) == 0 {
		return
	}
	for _, value := range [...]struct {
		name, key string
		of        func(*figure.Job) int64
	}{
		{"job time", "job_time_ns", func(j *figure.Job) int64 { return j.TimeNS }},
		{"model time", "model_time_ns", func(j *figure.Job) int64 { return j.ModelNS }},
	} {
		o, n := pairedJobs(older, newer, value.of)
		r := &ServerRow{Metric: value.key + "_by_session", Unit: Nanoseconds, OldOf: ofLevel, NewOf: ofLevel}
		if 2*len(o) >= max(len(older), len(newer)) && len(o) > 1 {
			r.Name = fmt.Sprintf("%s of %d sessions on both sides", value.name, len(o))
			r.Comparison = inference.NewPairs(o, n).Mean()
		} else {
			r.Name = value.name + " by session"
			r.Comparison = inference.Change(inference.NewSeries(jobTimes(older, value.of)).Mean(), inference.NewSeries(jobTimes(newer, value.of)).Mean())
		}
		r.OldRuns, r.NewRuns = []float64{r.Old.Value}, []float64{r.New.Value}
		l.Server = append(l.Server, r)
	}
}

// pairedJobs returns the values of the sessions that both sides have finished, in the order of the older side.
func pairedJobs(older, newer []figure.Job, of func(*figure.Job) int64) (o, n []float64) {
	byID := make(map[string]*figure.Job, len(newer))
	for i := range newer {
		if _, twice := byID[newer[i].ID]; !twice {
			byID[newer[i].ID] = &newer[i]
		}
	}
	for i := range older {
		if j := byID[older[i].ID]; j != nil {
			o, n = append(o, float64(of(&older[i]))), append(n, float64(of(j)))
			delete(byID, older[i].ID)
		}
	}
	return o, n
}

// jobTimes returns the values of sessions.
func jobTimes(all []figure.Job, of func(*figure.Job) int64) []float64 {
	values := make([]float64, len(all))
	for i := range all {
		values[i] = float64(of(&all[i]))
	}
	return values
}
