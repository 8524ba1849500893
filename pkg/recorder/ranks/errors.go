package ranks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
)

// An EndedError reports that rank Rank ended the run of all ranks.
type EndedError struct {
	Rank   int
	Reason string
}

func (e *EndedError) Error() string {
	return fmt.Sprintf("rank %d ended the run: %s", e.Rank, e.Reason)
}

// A MissingError reports that ranks did not come to the barrier in time.
type MissingError struct {
	Ranks []int
	Text  string // "did not come to the barrier within 10s"
}

func (e *MissingError) Error() string { return ranks(e.Ranks) + " " + e.Text }

// A LostError reports that ranks were lost during a run: their processes died, or were
// silent for too long. Their requests are missing.
type LostError struct{ Ranks []int }

func (e *LostError) Error() string {
	return ranks(e.Ranks) + " " + plural.Form(len(e.Ranks), "was", "were") + " lost during the run; the share of the load is missing"
}

// A RefusedError reports that rank 0 refused this rank, or is no rank 0.
type RefusedError struct{ Addr, Reason string }

func (e *RefusedError) Error() string { return fmt.Sprintf("barrier %s: %s", e.Addr, e.Reason) }

// ranks names ranks: "rank 3", "ranks 1 and 3", "ranks 1, 2 and 11 more".
func ranks(ranks []int) string {
	const most = 8
	ranks = slices.Clone(ranks)
	slices.Sort(ranks)
	var names []string
	for i, r := range ranks {
		if i == most {
			names = append(names, fmt.Sprintf("%d more", len(ranks)-most))
			break
		}
		names = append(names, strconv.Itoa(r))
	}
	switch last := len(names) - 1; {
	case last < 0:
		return "no rank"
	case last == 0:
		return "rank " + names[0]
	default:
		return "ranks " + strings.Join(names[:last], ", ") + " and " + names[last]
	}
}

// A DifferentError reports that ranks have another plan than rank 0: their command
// lines or input data differ.
type DifferentError struct {
	Ranks []int
	Parts []string // names of the parts of the plan that differ; nil if they are unknown
}

func (e *DifferentError) Error() string {
	what := ""
	if len(e.Parts) > 0 {
		what = " (" + strings.Join(e.Parts, ", ") + ")"
	}
	return ranks(e.Ranks) + " " + plural.Form(len(e.Ranks), "has", "have") + " other settings or input data than rank 0" + what + "; start all ranks with the same command line and files"
}
