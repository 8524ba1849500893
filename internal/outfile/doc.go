// Package outfile writes the files that a command line names. A reader sees a whole file or
// none, and an existing file is kept unless the user allows to replace it.
//
// [Check] and [Open] find out before the work whether an output can be written; [Write] and
// [File.Write] write it. These rules hold for every output:
//
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
package outfile
