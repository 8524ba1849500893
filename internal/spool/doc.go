// Package spool keeps what does not fit in memory in a temporary file, which is gone when it is closed: a
// stream that cannot be read in place ([Copy]), what can be written only later ([Buffer]), and blocks of bytes
// and records that are wanted again ([Blocks], [Records]).
//
//	s, err := spool.Copy(ctx, name, os.Stdin, spool.Config{})
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//	use(s.File, s.Size) // s.Err says if the stream broke off
//
// A [Packer] writes a record in few bytes: its flags as bits, and only the fields that are not 0. An [Unpacker]
// reads it again. The bytes are for the program that wrote them: an Unpacker does not check them.
//
//	var p spool.Packer
//	p.Begin()
//	p.Flag(true)
//	p.Int(7)
//	p.End()
//
//	u := spool.Unpacker{Bytes: p.Bytes}
//	u.Begin()
//	u.Flag() // true
//	u.Int()  // 7
package spool
