// Package dialecttest is what the tests of the dialects have in common: exports
// that they build, and the tokenizers that their recorded material was counted
// with.
package dialecttest
