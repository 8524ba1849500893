package ranks

import "fmt"

// LauncherFlags is World.Launcher of a rank and a size from the command line.
const LauncherFlags = "flags"

// A World is the place of this process among the ranks of a run. The zero value records
// alone.
type World struct {
	Rank int // from 0
	Size int // number of ranks; 0 means 1
	// Launcher names the source of rank and size: "openmpi", "pmi", "pmix", "slurm",
	// "torchrun", "kubernetes" or [LauncherFlags]; "" for a process that records alone.
	Launcher string
	// LocalSize is the number of ranks on this machine; 0 if unknown.
	LocalSize int
}

// Several reports whether the run has more than one rank.
func (w World) Several() bool { return w.Size > 1 }

// Share returns the rank's share of a load that all ranks send.
func (w World) Share() Share { return Share{Rank: w.Rank, Size: w.Size} }

// String returns "rank 2 of 4".
func (w World) String() string { return fmt.Sprintf("rank %d of %d", w.Rank, max(w.Size, 1)) }
