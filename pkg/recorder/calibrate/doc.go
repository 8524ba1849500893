// Package calibrate computes how far recorded times are from the truth: it
// holds what the recorder noted of a simulated server against what that server
// and its kernel noted.
//
// The caller records the same load in turns with the kernel's stamps and with
// user-space ones, and says what the server knows:
//
//	kernel := calibrate.NewRecording("kernel")
//	for each request of a round {
//		kernel.Add(&request, &truth) // truth nil: the server knows nothing of it
//	}
//	… // the same for "user"
//	result.Recordings = []export.CalibratedRecording{kernel.Result(), user.Result()}
//
// # Terms
//
// A receive error is the recorded time of a response with output tokens minus
// the time at which the server's kernel let the write go that holds its last
// byte; where that is not known, minus the server's own clock right before the
// write (see [Event]). Responses without tokens (a role, [DONE]) are not judged:
// they leave together with a token, and nobody measures by them.
//
// A start error is the recorded start of a request minus the kernel's time of
// its arrival at the server. That belongs to the request's last byte, the start
// to its first, so that requests must be small: of one segment.
//
// Errors are nanoseconds. Both processes must be on one machine: then their
// clock is the same, and the only thing between the two times is the machine.
//
// # What it does not do
//
// It starts no server and sends no load (pa-record calibrate does), and knows
// nothing of networks: see [Limits].
package calibrate
