// Package jsonscan reads JSON documents of any size from a file without
// holding more of them than one value, and says where each thing is: what the
// formats that are JSON share.
//
// The functions work on bytes in memory and never fetch more: b is what there
// is, i the position, and the result is the position after what was scanned.
// Their errors are [ErrMore] when b ends too soon (fetch more and start over)
// or an [*Error] when no continuation could be right. A [Cursor] does the
// fetching.
//
//	c := jsonscan.NewCursor("run.json", file, size, limit, jsonscan.DefaultChunk)
//	for first := true; ; first = false {
//		name, more, err := c.Key(first) // the Cursor is behind a '{'
//		if err != nil || !more {
//			return err
//		}
//		text, err := c.Value(name) // or c.Skip() past what is not wanted
//		…
//	}
//
// Strings are bytes: they need not be UTF-8. The package does not build trees.
package jsonscan
