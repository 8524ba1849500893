// Package regular opens files that must be regular ones: a named pipe would wait
// for its writer, and a device such as /dev/zero never ends.
//
//	f, err := regular.Open("image.png")
//	text, err := regular.ReadFile(ctx, "settings.yaml", 1<<20)
//
// [OpenStream] and [Interruptible] are for what may be a stream, and wait for one
// no longer than their context lasts. [ReadFile] also takes what the shell and the user hand over as a stream on
// purpose: /dev/stdin, and /dev/fd/63 of a process substitution, <(command).
package regular
