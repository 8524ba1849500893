// Package jsonscan is the JSON lexer that the readers of files, requests and answers share. It reads text in
// memory, and from a file of any size, and builds no trees.
//
// The functions scan one token or value: b is the text in memory, i the position, and the
// result the position after the token or value. Their errors are [ErrMore] when b ends
// too soon (fetch more and start over), or an [*Error] when no continuation can be right.
//
// On top of them,
//   - a [Walker] reads and checks one whole text, member by member;
//   - an [Arena] decodes the strings of a text without an allocation for each;
//   - a [Skipper] finds the end of a value whose text comes in pieces;
//   - a [Cursor] reads a file, and says where in the file each value is. It holds no more of the file than one
//     value.
//
// A Cursor goes through an object member by member:
//
//	c := jsonscan.NewCursor("run.json", file, size, limit, jsonscan.DefaultChunk)
//	err := c.Members(true, func(name string) error { // the Cursor is behind a '{'
//		text, err := c.Value(name) // or c.Skip() past arrays and objects
//		…
//		return err
//	})
//
// Strings are bytes: they need not be UTF-8.
package jsonscan
