package main

import "strings"

const redacted = "[redacted]"

// redactArgs returns args without secrets: the values of headers, user
// information and queries in URLs, the query of the endpoint. What follows a -H is never looked into; its name is
// kept.
func redactArgs(args []string) []string {
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
			out[i] = arg
		case clean == nil:
			out[i] = redactJoined(arg)
		case hasValue:
			out[i] = name + "=" + clean(value)
		default:
			out[i], next, pending = arg, clean, true
		}
	}
	return out
}

// cleaner returns what takes the secrets out of a flag's value, nil if it has
// none. Long names may be cut short.
func cleaner(name string) func(string) string {
	switch {
	case name == "H", len(name) > 1 && strings.HasPrefix("header", name): //nolint:gocritic // argOrder: the name may be the start of header
		return redactHeader
	case name == "u", len(name) > 1 && strings.HasPrefix("url", name), //nolint:gocritic // argOrder: likewise
		len(name) > 1 && strings.HasPrefix("proxy", name),          //nolint:gocritic // argOrder: likewise
		len(name) > 1 && strings.HasPrefix("metrics-url", name),    //nolint:gocritic // argOrder: likewise
		len(name) > 1 && strings.HasPrefix("between-levels", name): //nolint:gocritic // argOrder: likewise
		return redactURL
	case len(name) > 1 && strings.HasPrefix("endpoint", name): //nolint:gocritic // argOrder: likewise
		return redactEndpoint
	}
	return nil
}

// redactJoined looks for a value that is joined to its short flag, which may
// follow others that have none: -avuhttp://…
func redactJoined(arg string) string {
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

func redactHeader(h string) string {
	name, _, ok := strings.Cut(h, ":")
	if !ok {
		return redacted
	}
	return name + ": " + redacted
}

// redactEndpoint takes the query out of an endpoint. A whole URL does not belong
// there, but may have a password.
func redactEndpoint(s string) string {
	path := s
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		path = s[:i+1] + redacted
	}
	if strings.Contains(path, "://") {
		return redactURL(s)
	}
	return path
}

// redactURL takes the user information and the query out of a URL, with or
// without a scheme. The settings of a simulated server are no secrets.
func redactURL(s string) string {
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
		return scheme + redactUser(rest)
	}
	if strings.Contains(rest[query:], "@") {
		// Where the secret ends is not known: a password may hold a question
		// mark that was not escaped, a query an at sign.
		return scheme + redacted
	}
	shown := scheme + redactUser(rest[:query])
	before, fragment, _ := strings.Cut(rest[query:], "#")
	if before != "" {
		shown += "?" + redacted
	}
	if fragment != "" {
		shown += "#" + redacted
	}
	return shown
}

// redactUser takes the user information out of what follows a URL's scheme. A
// password may hold a slash that was not escaped: what precedes the last @ of
// all is user information.
func redactUser(s string) string {
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return s
	}
	return redacted + "@" + s[at+1:]
}
