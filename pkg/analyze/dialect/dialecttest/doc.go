// Package dialecttest is what the tests of the dialects have in common: exports
// that they build, the tokenizers that their recorded material was counted with,
// and what is fuzzed of each writer.
package dialecttest
