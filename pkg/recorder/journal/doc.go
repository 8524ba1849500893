// Package journal records a run in a way that survives the end of the process, and
// writes the exports from that recording.
//
// While a run is on, a [Writer] appends its requests to a file, the journal. When the
// run is over, the Writer completes the journal, writes each [Export] from it, and
// removes it. If the process is killed first, the journal stays, and [Recover] writes
// the exports.
//
//	exp, err := journal.NewExport("run.json", false)
//	…
//	w, err := journal.NewWriter(journal.Config{Exports: []*journal.Export{exp}})
//	…
//	if err := w.Open(ctx, &header); err != nil { … }
//	res, err := recorder.Run(ctx, recorder.Config{Writer: w, Run: header, …})
//	if res == nil { // nothing was sent
//		w.Discard()
//	}
//
// The example of the package is a program that is killed, and recovers.
//
// # What survives what
//
// A journal is a sequence of whole batches in the format of [columnar.Journal].
//
//   - Killed process: the requests in all batches that are in the file survive. The
//     recorder flushes a few times a second. A cut last batch is left out.
//   - Crashed machine: the system writes the file to the disk when it sees fit; only
//     Close waits for that.
//   - Slow disk: no call waits for the disk. One goroutine writes; the batches queue
//     up in memory. The recorder asks [Writer.Backlog], drops outputs when the queue
//     is full, and then ends the run.
//   - Full disk, or too few file descriptors: Open reserves what the end of the
//     journal and the exports need. What is in the journal is kept.
//   - Another program removes the journal: Close writes it again from the open file.
//
// A lock on the journal keeps other processes from writing, recovering or replacing
// it as long as its Writer lives. The lock ends with the process. Systems other than
// Unix have no such lock; there an open file cannot be removed.
//
// The package prints nothing. It knows no flags: a *[FileError] says which file is in
// the way and why, and the program adds what its user can do.
package journal
