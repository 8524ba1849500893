// Package layout holds the tests of the tree: which package may import which, and whether the
// layout in docs/development.md is complete.
package layout
