// Package spool keeps in a temporary file what cannot be read in place while it
// is read: pipes, and files compressed with gzip or zstd.
//
//	s, err := spool.Copy(ctx, name, os.Stdin, spool.Config{})
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//	use(s.File, s.Size) // s.Err says if the stream broke off
//
// A [Buffer] keeps what can be written only later.
package spool
