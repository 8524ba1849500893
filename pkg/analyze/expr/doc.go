// Package expr reads boolean expressions over conditions that its callers
// define: objectives of single requests are one such language, conditions on a
// comparison another. It provides the common parts: the scanner, the operators,
// numbers with units, and messages that name the column and what was expected.
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
// # Unknown
//
// A condition is Unknown if the value that it asks for does not exist. The
// operators treat Unknown as in Kleene's logic: the other part of && or || may
// decide the expression.
//
// The package does not know the meaning of conditions, and reads no data.
package expr
