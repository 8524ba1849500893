// Package settings holds the flags of pa-analyze, a file for each group: input, output,
// measure, tokenizer, dialect, hints of a file. Each group has its flags, their parsing
// and their checks in one place. The package also opens the runs that arguments name.
// Mistakes are usage errors.
package settings
