// Package journal records a run so that the recording survives the end of the process,
// and writes the exports from the recording.
//
// During a run, a [Writer] appends the requests to a file, the journal. When the run is
// over, the Writer completes the journal, writes each [Export] from it, and removes it.
// If the process is killed first, the journal stays, and [Recover] writes the exports.
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
// A journal is a sequence of frames in the format of package recordlog: one for each request,
// which the request enters when it ends. A few buffers of 256 KiB change places between the
// recorder, which fills them, and a goroutine, which writes them.
//
//   - Killed process: the requests of all frames in the file survive. The recorder
//     flushes a few times a second. A last frame that was cut is left out.
//   - Crashed machine: what was on the disk survives. A goroutine has the file written to the
//     disk every second while requests come, and Close once more.
//   - Slow disk: no call waits for the disk. The buffers queue up in memory, and there are
//     more of them then. The recorder calls [Writer.Backlog], drops outputs when the queue is
//     nearly full, and ends the run when it is full.
//   - Damaged file: the exports have the requests before the damage, and the journal stays.
//   - Full disk: the journal moves to Config.SpillDir, once, and the run goes on. If that
//     fails, too, the end of the journal still fits, because Open reserves room for it. The
//     exports get the requests that are in memory. If no export can be written, the error and
//     the end of the journal count them as lost.
//   - Too few file descriptors: Open reserves what the journal and the exports need.
//   - Another program removes the journal: it moves to Config.SpillDir.
//   - Another program cuts the journal: it moves, without the requests that were cut. A note
//     in the journal, a warning in the exports and the error of Close count them.
//
// A link leads from the first place of a journal that moved to the second one. Only the
// owner may read a journal in Config.SpillDir, which other users may share.
//
// A lock on the journal keeps other processes from writing, recovering or replacing it as
// long as its Writer lives. The lock ends with the process. Systems other than Unix have
// no such lock; there an open file cannot be removed.
//
// The package prints nothing and knows no flags. A *[FileError] names the file and the
// reason; the program adds the advice for its user.
package journal
