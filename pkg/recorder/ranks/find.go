package ranks

import (
	"fmt"
	"strconv"
)

// SizeVariable is the environment variable with the number of ranks for launchers that
// do not set one: Kubernetes, and PMIx alone.
const SizeVariable = "PA_RECORD_WORLD_SIZE"

// maxSize bounds the number of ranks, so that a typing error is reported.
const maxSize = 1 << 20

// Flags are rank and size from the command line. They win over the environment.
type Flags struct {
	Rank *int // nil: not given
	Size *int
}

// A source is the place in which a launcher puts rank and size.
type source struct {
	launcher string
	rank     string   // variable
	sizes    []string // the first that is set counts
	local    string   // variable with the number of ranks on this machine; "" if there is none
	// present must be set for the source to count; "" means rank.
	present string
}

// sources lists the launchers in the order in which they are asked. A process that an inner
// launcher started also has the variables of an outer launcher: mpirun in a Slurm step starts
// a daemon on each node as Slurm's task, and its processes inherit that task's rank.
var sources = []source{
	{launcher: "torchrun", rank: "RANK", sizes: []string{"WORLD_SIZE"}, local: "LOCAL_WORLD_SIZE", present: "TORCHELASTIC_RUN_ID"},
	{launcher: "openmpi", rank: "OMPI_COMM_WORLD_RANK", sizes: []string{"OMPI_COMM_WORLD_SIZE"}, local: "OMPI_COMM_WORLD_LOCAL_SIZE"},
	{launcher: "pmi", rank: "PMI_RANK", sizes: []string{"PMI_SIZE"}, local: "MPI_LOCALNRANKS"},
	// The batch script of a job has SLURM_PROCID=0 and SLURM_NTASKS=n although it is one
	// process; only srun sets SLURM_STEP_ID.
	{launcher: "slurm", rank: "SLURM_PROCID", sizes: []string{"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, present: "SLURM_STEP_ID"},
	{launcher: "pmix", rank: "PMIX_RANK", sizes: []string{SizeVariable}},
	{launcher: "torchrun", rank: "RANK", sizes: []string{"WORLD_SIZE"}, local: "LOCAL_WORLD_SIZE", present: "WORLD_SIZE"},
	{launcher: "kubernetes", rank: "JOB_COMPLETION_INDEX", sizes: []string{SizeVariable}},
}

// Find returns the place of this process from the flags, or else from the variables of
// the launcher that started it; the zero World if there is neither. getenv is
// [os.Getenv].
//
// The launchers, and the variables for rank and size, in the order in which they count:
//
//	torchrun         RANK                  WORLD_SIZE             if TORCHELASTIC_RUN_ID is set
//	Open MPI         OMPI_COMM_WORLD_RANK  OMPI_COMM_WORLD_SIZE
//	MPICH, srun's pmi2  PMI_RANK           PMI_SIZE
//	Slurm            SLURM_PROCID          SLURM_STEP_NUM_TASKS, else SLURM_NTASKS; if SLURM_STEP_ID is set
//	PMIx             PMIX_RANK             PA_RECORD_WORLD_SIZE
//	others           RANK                  WORLD_SIZE
//	Kubernetes       JOB_COMPLETION_INDEX  PA_RECORD_WORLD_SIZE
//
// A rank whose launcher does not tell the size records alone, unless --world-size or
// PA_RECORD_WORLD_SIZE says how many there are: an Indexed Job may also start
// independent runs.
//
// The error names a mistake of the user: a rank without a size, a rank that is not below
// the size, a text that is no number, or variables that contradict each other.
func Find(getenv func(string) string, flags Flags) (World, error) {
	w, size, err := fromEnvironment(getenv)
	if flags.Rank != nil {
		if flags.Size == nil {
			return World{}, fmt.Errorf("--rank %d needs --world-size, the number of ranks", *flags.Rank)
		}
		w = World{Rank: *flags.Rank, Size: *flags.Size, Launcher: LauncherFlags}
		if w.Size < 1 || w.Size > maxSize {
			return World{}, fmt.Errorf("--world-size %d: must be 1 to %d", w.Size, maxSize)
		}
		return w, w.check("--rank", "--world-size")
	}
	if err != nil {
		return World{}, err
	}
	if flags.Size != nil {
		n := *flags.Size
		switch {
		case n < 1 || n > maxSize:
			return World{}, fmt.Errorf("--world-size %d: must be 1 to %d", n, maxSize)
		case n == 1: // each process records alone
			return World{Size: 1, Launcher: LauncherFlags}, nil
		case w.Launcher == "":
			return World{}, fmt.Errorf("--world-size %d needs --rank: no launcher has set this process's rank", n)
		case w.Size != 0 && w.Size != n:
			return World{}, fmt.Errorf("--world-size %d contradicts %s=%d; drop it, or give --rank as well", n, size, w.Size)
		}
		w.Size, size = n, "--world-size"
	}
	if w.Size == 0 { // the rank of something else than a run
		return World{}, nil
	}
	return w, w.check("the rank of "+w.Launcher, size)
}

// check refuses a rank that is not in the world. rank and size name their sources.
func (w World) check(rank, size string) error {
	if w.Rank < 0 || w.Rank >= w.Size {
		return fmt.Errorf("%s is %d, but %s is %d; ranks count from 0 to %d", rank, w.Rank, size, w.Size, w.Size-1)
	}
	return nil
}

// fromEnvironment returns rank and size by the first launcher, with a Size of 0 if that
// launcher sets none. sizeName is the variable that holds the size. Later launchers in the
// list must agree with it, except for outer launchers: Slurm, Kubernetes, any around torchrun.
func fromEnvironment(getenv func(string) string) (w World, sizeName string, err error) {
	var first *source
	for i := range sources {
		s := &sources[i]
		found, name, err := s.read(getenv)
		switch {
		case err != nil:
			return World{}, "", err
		case found == nil:
		case first == nil:
			first, w, sizeName = s, *found, name
		case s.launcher == first.launcher, s.launcher == "slurm", first.launcher == "torchrun", s.launcher == "kubernetes":
			// Outer launchers: their tasks are whole machines.
		case found.Rank != w.Rank || found.Size != 0 && w.Size != 0 && found.Size != w.Size:
			return World{}, "", fmt.Errorf("%s=%d contradicts %s=%d; give --rank and --world-size", first.rank, w.Rank, s.rank, found.Rank)
		case w.Size == 0:
			w.Size, sizeName = found.Size, name
		}
	}
	return w, sizeName, nil
}

// read returns what the variables of the source say; nil if they are not set.
func (s *source) read(getenv func(string) string) (w *World, sizeName string, err error) {
	text := getenv(s.rank)
	if text == "" || s.present != "" && getenv(s.present) == "" {
		return nil, "", nil
	}
	w = &World{Launcher: s.launcher}
	if w.Rank, err = number(s.rank, text); err != nil {
		return nil, "", err
	}
	for _, name := range s.sizes {
		text := getenv(name)
		if text == "" {
			continue
		}
		if w.Size, err = number(name, text); err != nil {
			return nil, "", err
		}
		if w.Size < 1 {
			return nil, "", fmt.Errorf("%s=%s: a world has at least one rank", name, text)
		}
		sizeName = name
		break
	}
	if w.Size == 0 && s.sizes[0] != SizeVariable {
		return nil, "", fmt.Errorf("%s=%s is set, but %s is not; set it, or give --rank and --world-size", s.rank, text, s.sizes[0])
	}
	if local := getenv(s.local); s.local != "" && local != "" {
		if w.LocalSize, err = number(s.local, local); err != nil {
			return nil, "", err
		}
	}
	return w, sizeName, nil
}

// number parses the value of a variable.
func number(name, text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxSize {
		return 0, fmt.Errorf("%s=%.40q: expected a number from 0 to %d", name, text, maxSize)
	}
	return n, nil
}
