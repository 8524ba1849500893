// Package disk opens the files that a command line names: inputs that are regular files or
// streams with a writer, and outputs that a reader sees whole or not at all.
//
//	f, err := disk.Open("image.png")
//	text, err := disk.ReadFile(ctx, "settings.yaml", 1<<20)
//	err = disk.Write(ctx, "report.csv", disk.Options{Perm: disk.Figures}, table)
//
// Opening a named pipe would wait for its writer, and a device such as /dev/zero never ends:
// [Open] and [ReadFile] refuse them. [OpenStream] and [Interruptible] also accept streams, and
// wait for one no longer than their context lasts. [ReadFile] accepts the streams that a shell
// passes on purpose: /dev/stdin, and /dev/fd/63 of a process substitution, <(command).
//
// [CheckOutput] and [OpenOutput] find out before the work whether an output can be written;
// [Write] and [Output.Write] write it. These rules hold for every output:
//
//   - An existing file is kept unless the user allows to replace it.
//   - A file is written as NAME.pa-partial beside its place and renamed when it is complete.
//     The next write of the same path removes what a killed process left of it. A lock tells
//     such a file from one that is being written.
//   - A symbolic link is an existing file, also if it leads to nothing. Overwriting it
//     replaces the file that it leads to; the link stays.
//   - A replaced file keeps its mode. A new one has Options.Perm.
//   - Pipes and devices are written in place, and so are /dev/stdout and other descriptors of
//     this process, also if they are files. A pipe that no process reads is an error,
//     [ErrNoReader].
//   - When its context ends, a call no longer waits for a reader, or for a disk to take what is
//     written.
package disk
