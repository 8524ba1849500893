// Package plural formats counts with their nouns for messages.
//
//	fmt.Sprintf("left out: %s", plural.Of(n, "request")) // "left out: 1 request"
//
// It knows only words whose plural ends in s.
package plural

import "strconv"

// Of returns "1 request", "2 requests" or "0 requests".
func Of(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + one + "s"
}

// Grouped formats a number with thousands separators: "12,345".
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}
