// Package calibrate measures how far recorded times are from the truth. It compares the
// times that the recorder took of a simulated server's answers with the times that the
// server and its kernel took of the same bytes.
//
// A [Runner] does all of it, with the simulated server that the caller provides:
//
//	r := calibrate.Runner{Services: []string{calibrate.OpenAI}, Simulator: simulator, Tool: "my-tool 1.0"}
//	result, err := r.Run(ctx)
//	err = calibrate.WriteTable(os.Stdout, result)
//
// The comparison alone is a [Recording] for each kind of times:
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
// It has no simulated server of its own, and knows nothing of networks: see [Limits].
package calibrate
