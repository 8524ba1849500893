// Package pack keeps structs in few bytes: their flags as bits, and only the fields that are not 0.
//
//	var p pack.Packer
//	p.Begin()
//	p.Flag(true)
//	p.Int(7)
//	p.End()
//
//	u := pack.Unpacker{Bytes: p.Bytes}
//	u.Begin()
//	u.Flag() // true
//	u.Int()  // 7
//
// The bytes are for the program that wrote them: an Unpacker does not check them.
package pack
