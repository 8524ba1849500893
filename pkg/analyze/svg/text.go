package svg

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/sanitize"
)

// Sizes of text in pixels.
const (
	titleSize  = 16
	headSize   = 13
	textSize   = 12
	tickSize   = 11
	lineHeight = 1.35 // of a line of text, in sizes
)

// fonts is the font family. The widths below fit the widest of them.
const fonts = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans','Liberation Sans',Arial,sans-serif"

// width returns the width of a text at a size, estimated from above: the reader's font is not known.
// The classes of width come from DejaVu Sans, which is wide.
func width(s string, size float64) float64 {
	sum := 0.0
	for _, r := range s {
		switch {
		case strings.ContainsRune("ijl|!.,:;'I[]()/ ft", r):
			sum += 0.39
		case strings.ContainsRune("mwMW%@—…", r):
			sum += 0.97
		case r < utf8.RuneSelf && unicode.IsUpper(r):
			sum += 0.73
		case r < 0x1100:
			sum += 0.63
		default: // letters of East Asia, emoji
			sum += 1.1
		}
	}
	return sum * size
}

// fit returns s in one line of at most the given pixels, with an ellipsis if it is cut.
func fit(s string, size, pixels float64) string {
	if width(s, size) <= pixels {
		return s
	}
	pixels -= width("…", size)
	for i, r := range s {
		if pixels -= width(string(r), size); pixels < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// wrap returns s in at most most lines of at most the given pixels. It breaks at spaces, and within a
// word that is longer than a line. The last line ends in an ellipsis if there is more.
func wrap(s string, size, pixels float64, most int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case width(line+" "+word, size) <= pixels:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
		for len(lines) < most && width(line, size) > pixels {
			part := strings.TrimSuffix(fit(line, size, pixels+width("…", size)), "…")
			if part == "" {
				_, n := utf8.DecodeRuneInString(line)
				part = line[:n]
			}
			lines, line = append(lines, part), line[len(part):]
		}
		if len(lines) >= most {
			break
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	if len(lines) > most {
		last := lines[most-1] + "…"
		lines = append(lines[:most-1], fit(last, size, pixels))
	}
	return lines
}

// mostText bounds a text from outside, in bytes.
const mostText = 400

// clean makes a text from outside safe to show: a bounded line without control characters and without
// characters that reverse text.
func clean(s string) string { return sanitize.Text(sanitize.Clip(s, mostText)) }

// mostSentence bounds a text of several sentences, in bytes.
const mostSentence = 4000

// cleanLong is clean for text of several sentences.
func cleanLong(s string) string { return sanitize.Text(sanitize.Clip(s, mostSentence)) }
