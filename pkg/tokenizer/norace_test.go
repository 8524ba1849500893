//go:build !race

package tokenizer

// thin is the part of the vectors that is checked: all.
const thin = 1
