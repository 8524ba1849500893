// Package regular opens files that must be regular files: opening a named pipe
// would wait for its writer, and a device such as /dev/zero never ends.
//
//	f, err := regular.Open("image.png")
//	text, err := regular.ReadFile(ctx, "settings.yaml", 1<<20)
//
// [OpenStream] and [Interruptible] also accept streams, and wait for one no longer
// than their context lasts. [ReadFile] accepts the streams that a shell passes on
// purpose: /dev/stdin, and /dev/fd/63 of a process substitution, <(command).
//
// [CheckFolder] checks the folder in which a file will be written.
package regular
