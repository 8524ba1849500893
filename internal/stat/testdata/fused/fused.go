// Package fused has a product and a sum that a compiler may fuse into one instruction.
package fused

// Lerp is x + f·d, rounded once where the platform can.
func Lerp(x, f, d float64) float64 { return x + f*d }
