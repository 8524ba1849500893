// Package printer writes standard output and standard error in the background, so that a
// terminal that nobody reads never blocks the program. See [Printer].
package printer
