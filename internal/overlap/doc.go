// Package overlap finds what two byte slices have in common at their ends. The events of a
// stream differ in few bytes, so one of them can be stored as its difference from the other.
package overlap
