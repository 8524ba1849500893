// Package http1 reads HTTP/1 responses out of the pieces in which they come.
//
// It is for who is called when bytes are there and cannot wait for more, so it
// is the other way round than http.ReadResponse: a [Parser] is fed and says what
// the bytes came to. Which pieces they come in makes no difference to that, but
// for where body pieces are cut.
//
//	var p http1.Parser
//	p.Reset(http.MethodPost)
//	for {
//		n, err := read(buf)
//		p.Feed(buf[:n])
//		event := p.Next()
//		for ; event == http1.Head || event == http1.Data; event = p.Next() {
//			use(p.Response(), p.Data())
//		}
//		if event == http1.More && err != nil {
//			event = p.EOF() // may be the end, too
//		}
//		if event != http1.More {
//			break // http1.End, or http1.Failed because of p.Err()
//		}
//	}
//
// What is a response and what is not is decided as net/http does, which also
// reads the head; a test holds the parser to it. On top of that, heads, lines
// of chunk sizes and trailers are bounded.
//
// A head costs the allocations of an [http.Response]; a body costs none: its
// pieces are parts of what was fed.
//
// The package knows no requests, no connections and no time.
package http1
