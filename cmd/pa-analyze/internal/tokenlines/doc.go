// Package tokenlines counts the tokens of each line of a text. It holds one line in
// memory.
package tokenlines
