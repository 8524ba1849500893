// Package calibrate measures how far recorded times are from the truth. It compares the
// times that the recorder took of a simulated server's answers with the times that the
// server and its kernel took of the same bytes.
//
// A [Runner] performs a calibration, with the simulated server that the caller provides:
//
//	r := calibrate.Runner{Services: []string{calibrate.OpenAI}, Simulator: simulator, Tool: "my-tool 1.0"}
//	result, err := r.Run(ctx)
//	err = calibrate.WriteTable(os.Stdout, result)
//
// A [Recording] has the errors of one kind of times: kernel times or process times.
//
// # Terms
//
// A receive error is the recorded time of a response with output tokens minus its true
// time: the time at which the server's kernel sent the write with the last byte or, if
// that is unknown, the server's own clock right before the write (see [Event]). Responses
// without tokens (a role, [DONE]) are left out, because they leave together with a token
// and no metric uses them.
//
// A start error is the recorded start of a request minus the kernel's time of its arrival
// at the server. The arrival belongs to the request's last byte and the start to its
// first, so requests must fit in one segment.
//
// Errors are nanoseconds. Both processes must be on one machine, so that they read the
// same clock.
//
// # Limits
//
// The package has no simulated server, and a calibration says nothing about networks: see
// [Limits].
package calibrate
