package plural

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// A count is the type of a number of things.
type count interface {
	~int | ~int32 | ~int64 | ~uint64
}

// Of returns "1 request", "2 requests" or "12345 requests".
func Of(n int, one string) string { return noun(n, strconv.Itoa(n), one) }

// GroupedOf returns "1 request", "2 requests" or "12,345 requests".
func GroupedOf[T count](n T, one string) string { return noun(n, Grouped(n), one) }

func noun[T count](n T, digits, one string) string {
	return digits + " " + one + Form(n, "", "s")
}

// Grouped formats a number with thousands separators: "12,345".
func Grouped[T count](n T) string {
	s := fmt.Sprint(n)
	digits, negative := strings.CutPrefix(s, "-")
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if negative {
		return "-" + digits
	}
	return digits
}

// Form returns one for a count of 1, and several otherwise: Form(n, "was", "were").
func Form[T count](n T, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

// All returns "both" for 2 and "all 12" for 12 of something, for a noun that follows.
func All(n int) string {
	if n == 2 {
		return "both"
	}
	return "all " + Grouped(n)
}

// Them returns "it" for one thing and "them" for several.
func Them(n int) string { return Form(n, "it", "them") }

// Time formats a span of time as reports do, with a blank before the unit: "48.2 ms". A span that takes several units
// has none: "1m30s".
func Time(d time.Duration) string {
	s := d.String()
	at := strings.IndexFunc(s, unicode.IsLetter)
	if strings.ContainsAny(s[at:], "0123456789") {
		return s
	}
	return s[:at] + " " + s[at:]
}
