package sanitize

import "strings"

// plainInShell holds the characters that mean nothing to a shell.
const plainInShell = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,+@%"

// ShellWord returns arg as one word of a shell: as it is, or in single quotes.
func ShellWord(arg string) string {
	if arg != "" && strings.Trim(arg, plainInShell) == "" {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// Command returns a command of these words.
func Command(words ...string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(ShellWord(w))
	}
	return b.String()
}

// PathArgument returns a path as an argument that no program takes for a flag: -x.json is
// ./-x.json.
func PathArgument(path string) string {
	if strings.HasPrefix(path, "-") && path != "-" {
		return "./" + path
	}
	return path
}

// Pattern returns a glob that matches path literally.
func Pattern(path string) string {
	if !strings.ContainsAny(path, `*?[\`) {
		return path
	}
	var b strings.Builder
	for _, r := range path {
		if strings.ContainsRune(`*?[\`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
