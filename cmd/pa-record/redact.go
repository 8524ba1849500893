package main

import "strings"

const redacted = "[redacted]"

// redactArgs returns args without secrets: the values of headers, user
// information in URLs. What follows a -H is never looked into; its name is
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
		var clean func(string) string
		switch strings.TrimLeft(name, "-") {
		case "H", "header":
			clean = redactHeader
		case "u", "url":
			clean = redactURL
		}
		switch {
		case clean == nil || !strings.HasPrefix(arg, "-"):
			out[i] = arg
		case hasValue:
			out[i] = name + "=" + clean(value)
		default:
			out[i], next, pending = arg, clean, true
		}
	}
	return out
}

func redactHeader(h string) string {
	name, _, ok := strings.Cut(h, ":")
	if !ok {
		return redacted
	}
	return name + ": " + redacted
}

// redactURL takes the user information and the query out of a URL, with or
// without a scheme. The settings of a simulated server are no secrets.
func redactURL(s string) string {
	if strings.HasPrefix(s, simScheme) {
		return s
	}
	s, fragment, hasFragment := strings.Cut(s, "#")
	s, _, hasQuery := strings.Cut(s, "?")
	scheme, rest, ok := strings.Cut(s, "://")
	if ok {
		scheme += "://"
	} else {
		scheme, rest = "", s
	}
	host, path, hasPath := strings.Cut(rest, "/")
	// A password may hold a slash that was not escaped: what precedes the last
	// @ of all is user information.
	if at := strings.LastIndexByte(rest, '@'); at >= len(host) {
		host, path, hasPath = strings.Cut(rest[at+1:], "/")
		host = redacted + "@" + host
	} else if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = redacted + "@" + host[at+1:]
	}
	if hasPath {
		host += "/" + path
	}
	if hasQuery {
		host += "?" + redacted
	}
	if hasFragment && fragment != "" {
		host += "#" + redacted
	}
	return scheme + host
}
