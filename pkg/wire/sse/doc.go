// Package sse cuts a byte stream of server-sent events into frames and reads
// the fields of a frame.
//
// A frame holds the bytes of one event: its lines with their endings, up to and including
// the blank line that ends the event. Frames keep every byte that the server sent:
//
//	all frames of a stream, joined, then Rest  =  the stream
//
// Lines end in LF, CR LF or CR, in any mixture. The sizes of the reads do not change the
// frames.
//
//	var s sse.Splitter
//	for {
//		n, err := body.Read(buf)
//		stamp := now()
//		s.Feed(buf[:n])
//		for s.Next() {
//			use(stamp, sse.Parse(s.Frame()))
//		}
//		if err != nil {
//			break
//		}
//	}
//	tail := s.Rest() // bytes after the last complete frame
//
// The package keeps no "last event id", never reconnects and does not parse the data; see
// package openai for that.
package sse
