// Package printer writes what pa-record prints to standard output and standard error in the background.
//
// A [Printer] has a stream for each. It keeps their order where both are one file, and a text that is drawn
// again and again, such as the progress on a terminal, below all others. Nobody waits for a reader that is
// slow, unless megabytes wait, and after [Printer.Hurry] the program ends without one that reads nothing.
package printer
