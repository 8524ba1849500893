// Package tools lists all dialects. A new dialect is a package with a function that
// returns its dialect.Tool, and one line here.
package tools
