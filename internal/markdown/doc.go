// Package markdown writes tables of numbers as the Python libraries pandas and
// tabulate do (DataFrame.to_markdown), for reports that must agree with the reports of
// programs that use them.
//
//	|                |   Average |    Max |
//	|:---------------|----------:|-------:|
//	| Latency (ms)   |    374.15 | 557.66 |
//
// Columns of numbers are at least two wider than their names; numbers have six
// digits at most ("{:g}"), and their decimal points are aligned.
package markdown
