// Package printer writes standard output and standard error in the background, so that a
// stopped terminal never blocks the program. See [Printer].
package printer
