package report

// Span formats nanoseconds with four significant digits and a unit: "12.34 ms".
func Span(ns float64) string { return span(ns) }

// Number formats v with four significant digits, but never cuts digits before
// the point: 0.1234, 12.34, 123456.
func Number(v float64) string { return number(v) }
