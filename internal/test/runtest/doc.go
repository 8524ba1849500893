// Package runtest reads runs of package memrun as tests compare them: as a side of a comparison, and as a report. It also
// compares the reports of merged and whole runs, and has the common parts of the tests of other tools' reports: it opens
// their files and the tokenizers of the recorded reports, and fuzzes the writers of their result files.
package runtest
