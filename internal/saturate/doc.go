// Package saturate adds numbers from files, which may be anything, without overflow.
//
//	sum = saturate.Add(sum, n)
package saturate
