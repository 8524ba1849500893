// Package files has the commands of pa-analyze that convert and check files: convert, merge,
// trace, validate, sql (queries for Parquet files) and tokenize.
package files
