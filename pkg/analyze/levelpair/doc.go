// Package levelpair says which load levels of two sides of a comparison belong together: levels of the same load, or, where a tool
// measures its own rates, levels at the same place.
package levelpair
