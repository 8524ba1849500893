// Package diff compares recorded runs, load level by load level: an old side and a new
// side of one or several runs each.
//
//	older, err := diff.Read(ctx, "old.json", oldReader, analyze.Config{Series: true})
//	newer, err := diff.Read(ctx, "new.json", newReader, analyze.Config{Series: true})
//	res := diff.Compare([]*diff.Run{older}, []*diff.Run{newer}, diff.Options{})
//	for _, l := range res.Levels {
//		for _, row := range l.Rows {
//			fmt.Println(l.Name, row.Metric.Name, row.Change, row.Verdict)
//		}
//	}
//	err = res.Formats(false).In("text", 0)(os.Stdout)
//	err = errors.Join(err, older.Close(), newer.Close())
//
// [Compare] first checks whether the runs can be compared. The [Result] has each
// [Difference] in how they were made; a difference that changes the meaning of the
// numbers refuses the comparison, unless the options ignore it. Then each [Metric]
// has the values of both sides, the change, its interval and, if it is a primary
// metric, a verdict. Package inference and docs/reference/statistics.md say what
// intervals and verdicts mean.
//
// Times are nanoseconds, rates per second, shares and changes from 0 to 1. A missing
// value is NaN and has a reason.
//
// The files, in the order in which a comparison uses them: run.go, level.go, series.go, gaps.go and pair.go
// hold what is compared; set.go and comparability.go say how the runs differ; compare.go, failures.go, quality.go
// and server.go compute the rows, and missing.go why a row has no value or no verdict; judge.go, together.go, drift.go
// and outlying.go give the verdicts; answer.go, headline.go and words.go put them into words; gate.go decides
// conditions; text.go and machine.go make the formats.
//
// # Conditions
//
// [Options.ParseGate] reads a condition on a comparison, for checks that fail a build, and
// [Result.Gate] decides it at each level: "ttft_p99>+5% || new.failed_share>1%". Conditions are
// joined by &&, || and !; || binds least and ! most. Parentheses group. Package expr has the
// grammar of expressions, and of relation, number and unit.
//
//	condition = value | change | verdict | within .
//	value     = ( "old" | "new" ) "." metric relation number [ unit ] .
//	change    = metric [ "." ( "low" | "high" ) ] relation percent .
//	verdict   = metric ( "better" | "worse" | "different" ) .
//	within    = ( metric | "all" ) "within" percent .
//	percent   = [ "+" | "-" ] number "%" .
//
// Blanks may stand between these parts, but not within a metric, between a number and
// its unit, or around the points. A value is compared with a duration if its metric is a time, with
// a number if it is a rate, and with a percent if it is a share. A change is new/old − 1; low and high
// are the ends of the interval that the comparison shows for it. A verdict is the result of the
// comparison: "better", "worse", or "different", which means either of the two. "within" holds if the
// change was shown to be less than the percent in the metric's bad direction; "all" are all judged metrics.
//
// A condition is [GateUnknown] if its number or verdict does not exist, or if the data cannot tell
// whether it holds. The operators treat it as in Kleene's logic: the other part of && or || may decide
// the expression. Callers must not let a gate pass whose state is GateUnknown.
//
// The package opens no files. Package analyze decides which responses are tokens and
// which requests count.
package diff
