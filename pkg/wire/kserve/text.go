package kserve

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/sanitize"
)

// parseFloat reads a JSON number, or one of the words that perf_analyzer's parser accepts.
// strconv alone also accepts 0x1p-2, 1_000 and +1.
func parseFloat(tok []byte) (float64, error) {
	switch string(tok) {
	case "NaN", "-NaN":
		return math.NaN(), nil
	case "Inf", "Infinity":
		return math.Inf(1), nil
	case "-Inf", "-Infinity":
		return math.Inf(-1), nil
	}
	if !jsonscan.IsNumber(tok) {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(string(tok), 64)
}

func outOfRange(err error) bool { return errors.Is(err, strconv.ErrRange) }

// appendString appends s as a JSON string like RapidJSON: it escapes control characters,
// quotes and backslashes, and copies all other bytes, UTF-8 or not.
func appendString(b, s []byte) []byte {
	const hex = "0123456789ABCDEF"
	b = append(b, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= 0x20:
			b = append(b, c)
		default:
			if k := strings.IndexByte("\b\f\n\r\t", c); k >= 0 {
				b = append(b, '\\', "bfnrt"[k])
			} else {
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
		}
	}
	return append(b, '"')
}

// clip bounds foreign text in messages.
func clip[T ~string | ~[]byte](s T) string { return sanitize.Clip(s, 60) }
