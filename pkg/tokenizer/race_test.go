//go:build race

package tokenizer

// thin is the part of the vectors that is checked under the race detector, which
// makes all of them take minutes: each thin-th.
const thin = 8
