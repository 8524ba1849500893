package figure

import (
	"slices"

	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// An Unavailable is a metric or a rate that has no value in a run, with the reason: the
// file of another tool lacks its inputs, or answers hold no tokens.
type Unavailable struct {
	Key  string // as in JSON: "itl_ns", "throughput"
	Name string // for people: "ITL", "rates"
	Why  string
}

// UnavailableIn returns the metrics and rates that run cannot have, in the order of a
// report.
func UnavailableIn(run *export.Run) []Unavailable {
	var all []Unavailable
	numbers := ""
	if run.Endpoint != nil {
		numbers, _ = openai.Numbers(*run.Endpoint)
	}
	for i := range answer.StrictMetrics {
		d := &answer.StrictMetrics[i]
		if numbers != "" && d.OfTokens && !d.Rare {
			all = append(all, Unavailable{d.Key(), d.Label(), numbers + " hold no tokens"})
			continue
		}
		if why, lacks := run.AllLack(d.Needs); lacks {
			all = append(all, Unavailable{d.Key(), d.Label(), why})
		}
	}
	if why, lacks := run.AllLack(export.PartStarts); lacks {
		all = append(all, Unavailable{"throughput", "rates", why})
	}
	return all
}

// WhyLacking returns why the file of another tool cannot give the metric or rate with a key of [UnavailableIn]. It
// returns otherwise if the file gives no reason.
func WhyLacking(run *export.Run, key, otherwise string) string {
	all := UnavailableIn(run)
	if i := slices.IndexFunc(all, func(u Unavailable) bool { return u.Key == key }); i >= 0 {
		return all[i].Why
	}
	return otherwise
}

// Reasons why figures have no value, for runs that give no better reason.
const (
	whyNoDuration   = "the duration of the level is not known"
	whyNoNormalized = "no request has an E2EL and output tokens"
)

// withoutDuration returns why the duration of the levels of a run is not known.
func withoutDuration(run *export.Run) string { return WhyLacking(run, "throughput", whyNoDuration) }

// withoutNormalized returns why no request of a run has an E2EL and output tokens.
func withoutNormalized(run *export.Run) string {
	return WhyLacking(run, answer.E2EL.Key(), WhyLacking(run, answer.OutputTokens.Key(), whyNoNormalized))
}

// WhyUntimed is the reason why a level has no TPOT.
const WhyUntimed = "the server counts tokens that no event carried, or several with the first event"
