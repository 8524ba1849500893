package redact

import "strings"

// simScheme begins the URL of a simulated server, whose settings are no secrets.
const simScheme = "sim://"

// Args returns the arguments of pa-record without secrets. It replaces the values of
// headers, the user information and the queries of URLs, the query of --endpoint, and what
// [Members] replaces in any other value. A header keeps its name. Any argument behind
// -H counts as a header.
func Args(args []string) []string {
	out := make([]string, len(args))
	next := func(string) string { return "" }
	pending := false
	for i, arg := range args {
		if pending {
			out[i], pending = next(arg), false
			continue
		}
		name, value, hasValue := strings.Cut(arg, "=")
		clean := cleaner(strings.TrimLeft(name, "-"))
		switch {
		case !strings.HasPrefix(arg, "-"):
			out[i] = Members(arg)
		case clean == nil:
			if out[i] = joinedValue(arg); out[i] == arg && hasValue {
				out[i] = name + "=" + Members(value)
			}
		case hasValue:
			out[i] = name + "=" + clean(value)
		default:
			out[i], next, pending = arg, clean, true
		}
	}
	return out
}

// cleaner returns the function that removes the secrets from the value of a flag, nil
// if its value holds none. name may be an abbreviation.
func cleaner(name string) func(string) string {
	switch {
	case name == "H", len(name) > 1 && strings.HasPrefix("header", name): //nolint:gocritic // argOrder: the name may be the start of header
		return headerLine
	case name == "u", len(name) > 1 && strings.HasPrefix("url", name), //nolint:gocritic // argOrder: likewise
		len(name) > 1 && strings.HasPrefix("proxy", name),          //nolint:gocritic // argOrder: likewise
		len(name) > 1 && strings.HasPrefix("metrics-url", name),    //nolint:gocritic // argOrder: likewise
		len(name) > 1 && strings.HasPrefix("between-levels", name): //nolint:gocritic // argOrder: likewise
		return serverURL
	case len(name) > 1 && strings.HasPrefix("endpoint", name): //nolint:gocritic // argOrder: likewise
		return Endpoint
	case len(name) > len("request-") && strings.HasPrefix("request-parameter", name): //nolint:gocritic // argOrder: likewise
		return Parameter
	case len(name) > 1 && (strings.HasPrefix("extra-body", name) || strings.HasPrefix("request-template", name)): //nolint:gocritic // argOrder: likewise
		return Members
	}
	return nil
}

// joinedValue removes the secrets from a value that is joined to its short flag. Flags
// without a value may precede that flag: -avuhttp://…
func joinedValue(arg string) string {
	for i := 1; i < len(arg) && !strings.HasPrefix(arg, "--"); i++ {
		switch arg[i] {
		case 'a', 'v':
		case 'H', 'u':
			return arg[:i+1] + cleaner(arg[i:i+1])(arg[i+1:])
		default:
			return arg
		}
	}
	return arg
}

// headerLine replaces the value of a header line.
func headerLine(h string) string {
	name, _, ok := strings.Cut(h, ":")
	if !ok {
		return placeholder
	}
	return name + ": " + placeholder
}

// Endpoint replaces the query of an endpoint. A whole URL does not belong there, but
// may have a password; Endpoint then does what [URL] does.
func Endpoint(s string) string {
	path := s
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		path = s[:i+1] + placeholder
	}
	if strings.Contains(path, "://") {
		return URL(s)
	}
	return path
}

// serverURL does what URL does, also behind the label of a simulated server.
func serverURL(s string) string {
	label, rest, ok := strings.Cut(s, "=")
	if ok && strings.HasPrefix(rest, simScheme) && !strings.ContainsAny(label, ":/?#@") {
		return s
	}
	return URL(s)
}

// URL replaces the user information, the query and the fragment of a URL, with or
// without a scheme. It returns the URL of a simulated server unchanged.
func URL(s string) string {
	if strings.HasPrefix(s, simScheme) {
		return s
	}
	scheme, rest, ok := strings.Cut(s, "://")
	if ok && !strings.ContainsAny(scheme, ":/?#@") {
		scheme += "://"
	} else { // "://" is a part of something else
		scheme, rest = "", s
	}
	query := strings.IndexAny(rest, "?#")
	if query < 0 {
		return scheme + userInformation(rest)
	}
	if strings.Contains(rest[query:], "@") {
		// Where the secret ends is not known: a password may hold a question
		// mark that was not escaped, a query an at sign.
		return scheme + placeholder
	}
	shown := scheme + userInformation(rest[:query])
	before, fragment, _ := strings.Cut(rest[query:], "#")
	if before != "" {
		shown += "?" + placeholder
	}
	if fragment != "" {
		shown += "#" + placeholder
	}
	return shown
}

// userInformation replaces the user information in the part of a URL behind its scheme.
// Everything before the last @ is user information, because a password may hold a
// slash that was not escaped.
func userInformation(s string) string {
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return s
	}
	return placeholder + "@" + s[at+1:]
}
