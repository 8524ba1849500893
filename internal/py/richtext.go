package py

import (
	"strings"
	"unicode"
)

// splitLines splits at line feeds; the empty text is one empty line.
func splitLines(text string) []string { return strings.Split(text, "\n") }

// wrap breaks a line between words so that the parts fit the width. A word that
// is too long for a line begins a new one; it is broken where fold is set, else
// left too long.
func wrap(line string, width int, fold bool) []string {
	text := []rune(line)
	var breaks []int
	used := 0 // of the current line
	for start, end := 0, 0; start < len(text); start = end {
		end = wordEnd(text, start)
		n := len([]rune(trimRight(string(text[start:end]))))
		switch {
		case n <= width-used:
			used += end - start
			continue
		case n > width && fold && width > 0:
			for at := start; at < end; at += width {
				breaks = append(breaks, at)
				used = min(width, end-at)
			}
			continue
		case n > width || used > 0:
			breaks = append(breaks, start)
		}
		used = end - start
	}
	var parts []string
	from := 0
	for _, b := range breaks {
		if b > 0 {
			parts = append(parts, string(text[from:b]))
			from = b
		}
	}
	return append(parts, string(text[from:]))
}

// wordEnd returns the end of the word that begins at start, with the white
// space before and behind it.
func wordEnd(text []rune, start int) int {
	i := start
	for i < len(text) && unicode.IsSpace(text[i]) {
		i++
	}
	for i < len(text) && !unicode.IsSpace(text[i]) {
		i++
	}
	for i < len(text) && unicode.IsSpace(text[i]) {
		i++
	}
	return i
}

// ellipsis cuts text to the width, 1 or more, and shows it.
func ellipsis(text string, width int) string {
	if length(text) <= width {
		return text
	}
	return crop(text, width-1) + "…"
}

// crop cuts text to the width.
func crop(text string, width int) string {
	n := 0
	for i := range text {
		if n >= width {
			return text[:i]
		}
		n++
	}
	return text
}

func trimRight(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) }
