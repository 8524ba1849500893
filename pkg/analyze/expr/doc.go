// Package expr reads boolean expressions over conditions. It has the language that all of them share:
// the scanner, the operators, numbers with units, and messages that name the column and what was
// expected. An [Objective] is an expression over the metrics of a request or of a load level; package
// diff has conditions on a comparison of two runs.
//
//	objective, err := expr.ParseObjective("ttft<=200ms && itl_p99<=50ms && e2el<5s")
//	if objective.Eval(func(m expr.Metric) (float64, bool) { return valueOf(request, m) }) == expr.True {
//
// A caller with conditions of its own defines a language:
//
//	language := expr.Language[condition]{
//		Operand: "a metric", Example: "ttft<=200ms && e2el<5s",
//		Condition: func(p *expr.Parser) condition { … },
//	}
//	tree, err := expr.Parse(text, language)
//	truth := tree.Eval(func(c *condition) expr.Truth { return expr.Of(c.holds()) })
//
// # Grammar
//
//	expression = term { "||" term } .
//	term       = factor { "&&" factor } .
//	factor     = "!" factor | "(" expression ")" | condition .
//	condition  = word … .
//
// The language defines the tokens of a condition after its first word. Blanks
// may stand between tokens:
//
//	word     = letter { letter | digit | "." } .
//	relation = "<" | "<=" | ">" | ">=" .
//	quantity = [ "+" | "-" ] number [ unit ] .
//	number   = digits [ "." digits ] .
//	unit     = "ns" | "us" | "µs" | "ms" | "s" | "%" .
//
// A word begins with a letter of ASCII; "_" is a letter. Blanks may stand before a
// unit, too.
//
// In an objective, a condition compares a metric with a number:
//
//	condition  = metric relation number [ unit ] .
//	metric     = NAME | "itl_mean" | "itl_min" | "itl_max" | "itl_p" number | "output_tokens_per_s" .
//
// NAME is a metric of pa-analyze's own report but itl: "ttft", "e2el", "output_tokens", …; see package answer.
// Metrics may have capital letters. Durations need a unit, unless they are 0; counts and rates have
// none. The metrics itl_… are statistics of the gaps of the one request; itl_p takes any
// percentile above 0 and below 100.
//
// # Unknown
//
// A condition is Unknown if the value that it asks for does not exist: a request with one token has no
// gap. The operators treat Unknown as in Kleene's logic: the other part of && or || may decide the
// expression. A slow first token alone misses ttft<=1s && itl_max<=1s.
//
// The package reads no data: values come from its caller.
package expr
