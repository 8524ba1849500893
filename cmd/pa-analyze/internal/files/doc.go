// Package files has the commands of pa-analyze that make something else of a file than a
// report: convert, merge, trace, validate, the queries of sql, and tokenize.
package files
