package trend

import (
	"io"

	"github.com/pa-tools/pa/internal/junit"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/report"
)

// JudgementJUnit writes a judgement as JUnit XML: for each level a suite with a case for
// each primary metric. A metric that is worse by more than Allow is a failure. A metric
// is skipped if it has no verdict or may be worse by the margin. A level that the
// new point lacks is a failure, and a level that no accepted point has is skipped. An accepted
// point that was left out is an error.
func JudgementJUnit(j *Judgement) report.Renderer {
	return func(w io.Writer) error {
		c := junit.Case{Class: "gate", Name: "comparable"}
		if len(j.Set.Refused()) > 0 {
			c.Error = j.Headline()
		}
		cases := []junit.Case{c}
		for _, l := range j.LeftOut {
			cases = append(cases, junit.Case{Class: "gate", Name: "accepted point " + sanitize.Text(l.Label), Error: "left out: " + sanitize.Text(l.Reason)})
		}
		for _, name := range clean(j.Unverified) {
			cases = append(cases, junit.Case{Class: "gate", Name: "accepted point " + name, Skipped: "not compared with its manifest: it has none"})
		}
		all := []junit.Suite{{Name: "gate", Cases: cases}}
		for i := range j.Levels {
			l := &j.Levels[i]
			s := junit.Suite{Name: sanitize.Text(l.Name)}
			for k := range l.Rows {
				r := &l.Rows[k]
				c := junit.Case{Class: s.Name, Name: r.Metric.Key}
				switch j.standing(r) {
				case early, unknown:
					c.Skipped = "cannot tell: " + r.NA
				case open:
					c.Skipped = "cannot tell whether worse by " + percent(j.Margin) + ": " + r.change()
				case fails:
					c.Failure = "worse than " + j.accepted() + ": " + r.change()
				default:
					c.Out = r.change()
				}
				s.Cases = append(s.Cases, c)
			}
			all = append(all, s)
		}
		for _, name := range clean(j.Added) {
			all = append(all, junit.Suite{Name: name, Cases: []junit.Case{{Class: name, Name: "level", Skipped: "no accepted point has this level"}}})
		}
		for _, name := range clean(j.Missing) {
			all = append(all, junit.Suite{Name: name, Cases: []junit.Case{{Class: name, Name: "level", Failure: "the new runs lack this level"}}})
		}
		return junit.Write(w, j.Headline(), all)
	}
}
