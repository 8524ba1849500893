package report

import (
	"fmt"
	"strconv"
)

// MissedObjectives returns an error for each level that does not attain the target of the
// SLO, or whose attainment is unknown.
func MissedObjectives(in Input) []error {
	var errs []error
	target := strconv.FormatFloat(100*in.Report.SLOTarget, 'f', -1, 64)
	for i := range in.Report.Experiments {
		e := &in.Report.Experiments[i]
		switch s := e.SLO.Share; {
		case !s.OK:
			errs = append(errs, fmt.Errorf("%s: %s:%s: whether the SLO is met is not known: %s", in.Name, e.Mode, e.Value, s.NA))
		case s.V < in.Report.SLOTarget:
			errs = append(errs, fmt.Errorf("%s: %s:%s: %.4g%% of the requests meet the SLO, less than %s%%", in.Name, e.Mode, e.Value, 100*s.V, target))
		}
	}
	return errs
}
