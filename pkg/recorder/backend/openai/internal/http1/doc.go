// Package http1 parses HTTP/1 responses that arrive in pieces.
//
// It serves callers that are called when bytes arrive and cannot wait for more. Where
// http.ReadResponse reads, here the caller feeds a [Parser], which returns the events in
// the bytes. The boundaries of the pieces only decide where pieces of the body are cut.
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
// The parser accepts the responses that net/http accepts, and reads heads with it; a
// test compares the two. In addition, heads, lines of chunk sizes and trailers are
// bounded.
//
// A head costs the allocations of an [http.Response]. A body costs none: its pieces are
// parts of the bytes fed.
//
// The package knows no requests, no connections and no time.
package http1
