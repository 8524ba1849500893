package expr

import (
	"math"
	"strconv"
	"strings"
)

// A Relation compares two numbers: "<", "<=", ">" or ">=".
type Relation string

// Holds reports whether x stands in the relation to the limit. NaN stands in
// none.
func (r Relation) Holds(x, limit float64) bool {
	switch r {
	case "<":
		return x < limit
	case "<=":
		return x <= limit
	case ">":
		return x > limit
	}
	return x >= limit
}

// Relation reads a relation. For the message, after is the text before it, and
// others names the alternatives at this place: ", better or worse", or nothing.
// ok is false after a failure.
func (p *Parser) Relation(after, others string) (r Relation, ok bool) {
	for _, r := range [...]Relation{"<", "<=", ">", ">="} {
		if p.accept(string(r)) {
			return r, true
		}
	}
	p.Fail("expected <, <=, > or >=%s after %s, found %s", others, after, p.tok.describe())
	return "", false
}

// A Quantity is a number as it was written, with an optional sign and unit.
type Quantity struct{ Sign, Number, Unit string }

// String returns the quantity as it was written.
func (q Quantity) String() string { return q.Sign + q.Number + q.Unit }

// exponents maps a unit to the power of ten that converts it to nanoseconds, or
// a percent to a share. Both characters that look like µ are accepted.
var exponents = map[string]int{"": 0, "ns": 0, "us": 3, "µs": 3, "μs": 3, "ms": 6, "s": 9, "%": -2}

// IsZero reports whether the number is 0.
func (q Quantity) IsZero() bool { return strings.Trim(q.Number, "0.") == "" }

// Scale returns the number of nanoseconds in one unit; for "%" the share of one
// percent.
func (q Quantity) Scale() float64 { return math.Pow10(exponents[q.Unit]) }

// Quantity returns the next token, which must be a number with one of the known
// units or none; percent allows "%". It does not step over the token, so that the
// caller can still call Refuse. after and example are for messages: "ttft<" and
// "a duration such as 200ms". ok is false after a failure.
func (p *Parser) Quantity(after, example string, percent bool) (q Quantity, ok bool) {
	if p.tok.kind != quantity {
		p.Fail("expected %s after %s, found %s", example, after, p.tok.describe())
		return q, false
	}
	p.joinUnit()
	text := p.tok.text
	unsigned := strings.TrimLeft(text, "+-")
	q.Sign = text[:len(text)-len(unsigned)]
	q.Unit = strings.TrimLeft(unsigned, "0123456789.")
	q.Number = unsigned[:len(unsigned)-len(q.Unit)]
	_, known := exponents[q.Unit]
	units := "ns, us, ms and s"
	if percent {
		units = "ns, us, ms, s and %"
	}
	switch {
	case len(q.Sign) > 1 || !isNumber(q.Number):
		p.Refuse("no number; write %s", example)
	case !known || q.Unit == "%" && !percent:
		p.Refuse("unknown unit %s; there are %s", quote(q.Unit), units)
	}
	return q, p.err == nil
}

// joinUnit appends a unit after blanks to the number before it. In no condition
// does such a word follow a number.
func (p *Parser) joinUnit() {
	if strings.Trim(p.tok.text, "+-.0123456789") != "" {
		return // the token has a unit, known or not
	}
	behind := p.scan
	behind.skip()
	unit := behind.rest[:run(behind.rest, "%")]
	if _, known := exponents[unit]; known && unit != "" {
		behind.take(len(unit))
		p.tok.text, p.scan = p.tok.text+unit, behind
	}
}

// Value returns the quantity in nanoseconds, as a share for a percent, or without
// a unit the number itself, and steps over it. After a failure it returns 0.
func (p *Parser) Value(q Quantity) float64 {
	// ParseFloat rounds once; a product of a number and a unit would twice.
	v, err := strconv.ParseFloat(q.Sign+q.Number+"e"+strconv.Itoa(exponents[q.Unit]), 64)
	if err != nil || math.IsInf(v, 0) {
		p.Refuse("the number is too large")
		return 0
	}
	p.Next()
	return v
}

// isNumber reports whether s is digits, or digits with a point between them.
func isNumber(s string) bool {
	whole, fraction, point := strings.Cut(s, ".")
	return digits(whole) && (!point || digits(fraction))
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
