// Package dialecttest has the common parts of the dialects' tests: made-up exports, the
// tokenizers of the recorded reports, and the fuzz test of the writers.
package dialecttest
