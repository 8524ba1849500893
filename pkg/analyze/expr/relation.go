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

// Relation reads one. after is what stands before it, and others is what else
// could stand there, for the message: ", better or worse", or nothing. ok is
// false after a failure.
func (p *Parser) Relation(after, others string) (r Relation, ok bool) {
	for _, r := range [...]Relation{"<", "<=", ">", ">="} {
		if p.accept(string(r)) {
			return r, true
		}
	}
	p.Fail("expected <, <=, > or >=%s after %s, found %s", others, after, p.tok.describe())
	return "", false
}

// A Quantity is a number with a sign and a unit, or without, as it was written.
type Quantity struct{ Sign, Number, Unit string }

// String returns it as it was written.
func (q Quantity) String() string { return q.Sign + q.Number + q.Unit }

// exponents are the powers of ten that make nanoseconds of a time, and a share
// of a percent. Both characters that look like µ are taken.
var exponents = map[string]int{"": 0, "ns": 0, "us": 3, "µs": 3, "μs": 3, "ms": 6, "s": 9, "%": -2}

// IsZero reports whether it is nothing, in whichever unit.
func (q Quantity) IsZero() bool { return strings.Trim(q.Number, "0.") == "" }

// Scale returns the number of nanoseconds, of shares for "%", that are one
// of the unit.
func (q Quantity) Scale() float64 { return math.Pow10(exponents[q.Unit]) }

// Quantity returns the next token, which must be a number with one of the known
// units or none; percent says that "%" is known. It does not step over it, so
// that what is wrong with it can be said by Refuse. after and example are for
// messages: "ttft<" and "a duration such as 200ms". ok is false after a failure.
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
	case len(q.Sign) > 1 || !IsNumber(q.Number):
		p.Refuse("no number; write %s", example)
	case !known || q.Unit == "%" && !percent:
		p.Refuse("unknown unit %s; there are %s", quote(q.Unit), units)
	}
	return q, p.err == nil
}

// joinUnit takes a unit that stands behind blanks to the number before it, as if
// there were none. No condition goes on with a word of that name.
func (p *Parser) joinUnit() {
	if strings.Trim(p.tok.text, "+-.0123456789") != "" {
		return // it has one, or what is to be one
	}
	behind := p.scan
	behind.skip()
	unit := behind.rest[:run(behind.rest, "%")]
	if _, known := exponents[unit]; known && unit != "" {
		behind.take(len(unit))
		p.tok.text, p.scan = p.tok.text+unit, behind
	}
}

// Value returns what the quantity is in nanoseconds, as a share if it is a
// percent, else as it stands, and steps over it. ok is false after a failure.
func (p *Parser) Value(q Quantity) (v float64, ok bool) {
	// ParseFloat rounds once; a product of a number and a unit would twice.
	v, err := strconv.ParseFloat(q.Sign+q.Number+"e"+strconv.Itoa(exponents[q.Unit]), 64)
	if err != nil || math.IsInf(v, 0) {
		p.Refuse("the number is too large")
		return 0, false
	}
	p.Next()
	return v, true
}

// IsNumber reports whether s is digits, with a point and digits or without.
func IsNumber(s string) bool {
	whole, fraction, point := strings.Cut(s, ".")
	return digits(whole) && (!point || digits(fraction))
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
