package columnar

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// textEscape starts an escaped text.
const textEscape = "base64:"

// Columns of text are UTF-8, because DuckDB and polars refuse anything else, while
// perf_analyzer's strings may be any bytes. So a string that is not UTF-8 is stored as
// textEscape and its bytes in base64 (RFC 4648, padded). A string that starts with
// textEscape is stored in the same way, so that the two cannot be confused.

// appendText appends what stands in the file for s.
func appendText(dst, s []byte) []byte {
	if utf8.Valid(s) && !bytes.HasPrefix(s, []byte(textEscape)) {
		return append(dst, s...)
	}
	return base64.StdEncoding.AppendEncode(append(dst, textEscape...), s)
}

// appendString is appendText for a string.
func appendString(dst []byte, s string) []byte {
	if utf8.ValidString(s) && !strings.HasPrefix(s, textEscape) {
		return append(dst, s...)
	}
	return base64.StdEncoding.AppendEncode(append(dst, textEscape...), []byte(s))
}

// originalText is the inverse of appendText. It returns b itself where nothing
// was escaped, or where what follows the escape is no base64 (written by hand).
func originalText(b []byte) []byte {
	rest, escaped := bytes.CutPrefix(b, []byte(textEscape))
	if !escaped {
		return b
	}
	s, err := base64.StdEncoding.AppendDecode(nil, rest)
	if err != nil {
		return b
	}
	if s == nil {
		s = []byte{}
	}
	return s
}
