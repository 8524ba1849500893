// Package scenario holds the rules of benchmarks that others have defined: which flags of pa-record they fix, and what makes a result
// invalid.
package scenario
