// Package gate reads conditions on the comparison of two runs, for checks that fail a
// build, and decides whether they hold:
//
//	e, err := gate.Parse("ttft_p99>+5% || new.failed_share>1%", metrics, "old", "new")
//	out := e.Eval(values)
//	if out.State != gate.Clear {
//		fmt.Println(out.State, strings.Join(out.Because, ", "))
//	}
//
// # Grammar
//
// Conditions are joined by &&, || and !; || binds least and ! most. Parentheses group.
// Package expr has the grammar of expressions, and of relation, number and unit.
//
//	condition = value | change | verdict | within .
//	value     = ( "old" | "new" ) "." metric relation number [ unit ] .
//	change    = metric [ "." ( "low" | "high" ) ] relation percent .
//	verdict   = metric ( "better" | "worse" | "different" ) .
//	within    = ( metric | "all" ) "within" percent .
//	percent   = [ "+" | "-" ] number "%" .
//
// Blanks may stand between these parts, but not within a metric, between a number and
// its unit, or around the points. The caller names the metrics. A value is compared
// with a duration if its metric is a time, with a number if it is a rate, and with a
// percent if it is a share. A change is new/old − 1; low and high are the ends of the
// interval that the comparison shows for it. A verdict is the result of the comparison: "better", "worse", or
// "different", which means either of the two. "within" holds if the change was shown to be less than
// the percent in the metric's bad direction; "all" are all judged metrics.
//
// # Unknown
//
// A condition is Unknown if its number or verdict does not exist, or if the data cannot tell whether
// it holds. The operators treat
// Unknown as in Kleene's logic: the other part of && or || may decide the expression.
// Callers must not let a gate pass whose state is Unknown.
//
// The package does not know runs: numbers and verdicts come from its caller.
package gate
