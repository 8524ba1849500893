// Package jsonfile reads JSON documents of any size from a file. It holds no more
// of a document than one value, and says where in the file each value is.
//
//	c := jsonfile.NewCursor("run.json", file, size, limit, jsonfile.DefaultChunk)
//	for first := true; ; first = false {
//		name, more, err := c.Key(first) // the Cursor is behind a '{'
//		if err != nil || !more {
//			return err
//		}
//		text, err := c.Value(name) // or c.Skip() past other values
//		…
//	}
//
// Package jsonscan looks into the values.
package jsonfile
