package sanitize

import "strings"

// Markdown returns Markdown text that renders as s. Characters with a meaning in
// Markdown or HTML get a backslash. An invisible empty comment breaks mentions
// (@name), references (#1) and addresses (https://), so that none becomes a link.
func Markdown(s string) string {
	var b strings.Builder
	for _, r := range Text(s) {
		switch {
		case strings.ContainsRune("\\`*_{}[]<>|~&!$", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '@' || r == '#':
			b.WriteRune(r)
			b.WriteString("<!-- -->")
		default:
			b.WriteRune(r)
		}
	}
	return strings.ReplaceAll(b.String(), "://", ":<!-- -->//")
}
