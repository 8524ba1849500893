// Package realtime is the backend for v1/realtime, speech that is transcribed while it is spoken, over WebSocket.
//
// A request is one utterance in a session, and a connection, of its own. The sender connects, waits for the session,
// configures it, and sends the audio in chunks at the pace of speech: chunk i is due i intervals after the first one. At the same
// time it records each message of the server until the last one of the transcription. [Dialect] says which messages
// that are.
//
// The times of a request are:
//
//   - StartNS is when the first byte of the first chunk left, and SentNS when the message left that says that the
//     audio has ended. What came before, the handshake and the configuration of the session, is in none of the
//     latencies;
//   - a message has the kernel's stamp of the read that completed it. WebSocket's reader asks the socket for bytes only
//     when it needs them to complete a message, so the last read is the one that brought the last byte;
//   - the input audio_sent of the export holds when each chunk left: see [openai.RealtimeSent].
//
// Messages are recorded as lines of JSON, as they came; line breaks within one are removed. The session's
// first messages are not recorded, unless they are errors.
package realtime
