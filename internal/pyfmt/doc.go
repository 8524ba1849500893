// Package pyfmt writes numbers as Python does, for reports that must agree to the
// character with the reports of programs in Python.
//
//	pyfmt.Repr(1e16)            // "1e+16"           repr(1e16), json.dumps(1e16)
//	pyfmt.Fixed(2.5, 0)         // "2"               f"{2.5:.0f}"
//	pyfmt.Grouped(1234.5, 2)    // "1,234.50"        f"{1234.5:,.2f}"
//	pyfmt.Round(2.675, 2)       // 2.67              round(2.675, 2)
//
// All of them round the exact binary value once, ties to even, as C's printf
// does. JSON as Python writes it is in package pyjson, CSV in package pycsv.
package pyfmt
