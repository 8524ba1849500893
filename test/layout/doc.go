// Package layout holds the tests of the tree: which package may import which, and where the
// map of the house is complete.
package layout
