package main

import (
	"net/url"
	"strings"
)

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

// redactURL takes the user information out of a URL.
func redactURL(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		scheme, rest = "", s
	} else {
		scheme += "://"
	}
	host, path, slash := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = redacted + "@" + host[at+1:]
	}
	if slash {
		host += "/" + path
	}
	if u, err := url.Parse(scheme + host); err == nil && u.RawQuery != "" && scheme != simScheme {
		u.RawQuery = redacted
		return strings.ReplaceAll(u.String(), url.QueryEscape(redacted), redacted)
	}
	return scheme + host
}
