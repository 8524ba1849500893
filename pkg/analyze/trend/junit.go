package trend

import "github.com/pa-tools/pa/pkg/analyze/sheet"

// JudgementJUnit writes a judgement as JUnit XML: for each level a suite with a case for
// each primary metric. A metric that is worse by more than Allow is a failure. A metric
// is skipped if it has no verdict or may be worse by the margin. A level that the
// new point lacks is a failure, and a level that no accepted point has is skipped. An accepted
// point that was left out is an error.
func JudgementJUnit(j *Judgement) sheet.Renderer {
	c := sheet.Case{Class: "gate", Name: "comparable"}
	if len(j.Set.Refused()) > 0 {
		c.Error = j.Headline()
	}
	cases := []sheet.Case{c}
	for _, l := range j.LeftOut {
		cases = append(cases, sheet.Case{Class: "gate", Name: "accepted point " + l.Label, Error: "left out: " + l.Reason})
	}
	for _, name := range j.Unverified {
		cases = append(cases, sheet.Case{Class: "gate", Name: "accepted point " + name, Skipped: "not compared with its manifest: it has none"})
	}
	all := []sheet.Suite{{Name: "gate", Cases: cases}}
	for i := range j.Levels {
		l := &j.Levels[i]
		s := sheet.Suite{Name: l.Name}
		for k := range l.Rows {
			r := &l.Rows[k]
			c := sheet.Case{Class: s.Name, Name: r.Metric.Key}
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
	for _, name := range j.Added {
		all = append(all, sheet.Suite{Name: name, Cases: []sheet.Case{{Class: name, Name: "level", Skipped: "no accepted point has this level"}}})
	}
	for _, name := range j.Missing {
		all = append(all, sheet.Suite{Name: name, Cases: []sheet.Case{{Class: name, Name: "level", Failure: "the new runs lack this level"}}})
	}
	return sheet.JUnit(j.Headline(), all)
}
