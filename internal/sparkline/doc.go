// Package sparkline draws small charts of one line of text, for terminals: ▁▃▅█. Only a
// terminal gets them; files and pipes hold numbers. See [Line].
package sparkline
