// Package workload is what to send: the entries of an input data set, in
// order. An entry is protocol-neutral: named values as the input file has
// them; a backend turns it into bytes.
package workload
