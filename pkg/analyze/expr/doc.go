// Package expr reads boolean expressions over conditions that its callers
// define: objectives of single requests are one such language, conditions on a
// comparison another. It has what they share: the scanner, the operators, the
// numbers with units, and messages that say where and what instead.
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
// What a condition holds besides its first word is the language's; it is made
// of these tokens, between which blanks may stand:
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
// # What is not known
//
// A condition can be neither true nor false, since what it asks for does not
// exist. It is Unknown then, which goes through the operators as in Kleene's
// logic: what is Unknown in one part can be decided by the other.
//
// The package does not know what conditions are about, and looks at no data.
package expr
