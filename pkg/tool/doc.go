// Package tool lists the load generators that this project knows besides its own recorder. Each has a
// package of its own below this one, with all that is known of the tool:
//
//   - its report, as a [dialect.Tool] for each release;
//   - the writer of its result file, as [dialect.ResultFile].
//
// Package dialect has the common parts of reports. A new tool is a package with a function that returns its
// dialect.Tool, and a line here.
package tool
