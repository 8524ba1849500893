// Package audio reads what the first bytes of audio clips say about their samples and their length. It decodes no
// samples.
package audio
