// Package gate reads conditions on the comparison of two runs, such as those of
// a check that fails a build, and decides whether they hold:
//
//	e, err := gate.Parse("ttft_p99>+5% || new.failed_share>1%", metrics)
//	out := e.Eval(values)
//	if out.State != gate.Clear {
//		fmt.Println(out.State, strings.Join(out.Because, ", "))
//	}
//
// # Grammar
//
// Conditions are joined by &&, || and !, of which || binds least and ! most;
// parentheses group. The grammar of that, and of relation, number and unit, is
// that of package expr.
//
//	condition = value | change | verdict .
//	value     = ( "old" | "new" ) "." metric relation number [ unit ] .
//	change    = metric [ "." ( "low" | "high" ) ] relation percent .
//	verdict   = metric ( "better" | "worse" | "different" ) .
//	percent   = [ "+" | "-" ] number "%" .
//
// Blanks may stand between all of these but within a metric, a number and its
// unit, or around the points. Metrics are those that the caller names. A value
// is compared with a duration, a number or a percent, as its metric is a time,
// a rate or a share. A change is new/old − 1; low and high are the ends of its
// 95 % interval. A verdict is the result of the comparison: "better", "worse", or
// "different", which means either of the two.
//
// # What is not known
//
// A number or verdict that does not exist makes its condition neither hold nor
// not: the state is Unknown and goes through the operators as in Kleene's
// logic, so what is Unknown in one part can be decided by the other. A gate
// that ends up Unknown did not do its work; callers must not let it pass.
//
// The package knows no runs: numbers and verdicts come from its caller.
package gate
