// Package outfile writes the files that a command line names: a reader sees a whole file
// or none, and an existing file is kept unless the user allows to replace it.
package outfile
