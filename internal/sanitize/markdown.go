package sanitize

import "strings"

// Markdown returns s as Markdown that shows it as it is: what Markdown or HTML
// would take for more than a character has a backslash before it. A mention
// (@name), a reference (#1) and the scheme of an address (https:) are kept apart
// by an empty comment, which does not show, from what would make them one.
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
