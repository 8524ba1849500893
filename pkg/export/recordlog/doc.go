// Package recordlog writes and reads a run as a log of records: the journal that pa-record
// writes while it records.
//
//	w, err := recordlog.NewWriter(recordlog.To(f), run)
//	…
//	err = w.Flush() // what was written so far can be read now
//
// [Format] makes an [export.Opener] read such a file, also while it grows.
//
// # Layout
//
//	file:    magic(8) frame…
//	magic:   "pajrnl\n" version(1)
//	frame:   kind(1) length(uvarint) payload(length) checksum(4, little-endian)
//
// The checksum of a frame is the CRC-32C of the magic and of all frames up to and with this
// one, without their checksums. A frame that is missing or in the wrong place is therefore
// damage as well. Kinds are bytes that UTF-8 never has, so a search for frames in a damaged
// file rarely meets others. Headers are the text of a profile_export.json without requests.
// schemas/journal.md lists the kinds and the parts of a request.
//
// A request is in its frame when WriteRequest returns: varints, times as differences, and
// outputs without the bytes that they share with the outputs before them. The events of a
// stream share most of their bytes.
//
// # Reading
//
// Opening a log checks all frames. The Reader keeps where each level has its first and last
// requests, and decodes one request at a time: first the requests of the level that count,
// then the others. Its memory does not grow with the number of requests.
//
// A log that ends too soon, as after a kill, gives the requests before that place and an
// *[export.CutError]. A damaged one gives the requests before the damage and a
// *[CorruptionError].
package recordlog
