package ranks_test

import (
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/recorder/ranks"
)

// The environments are what the launchers set, as far as it matters here: Open MPI 4.1.4,
// Slurm 22.05.8, and the documented variables of the others.
func TestFind(t *testing.T) {
	for _, tt := range []struct {
		name  string
		env   string // NAME=value, separated by spaces
		flags ranks.Flags
		want  ranks.World
		err   string // part of the error; "" means none
	}{
		{name: "alone"},
		{
			name: "mpirun", env: "OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=2 OMPI_COMM_WORLD_LOCAL_SIZE=4 PMIX_RANK=2",
			want: ranks.World{Rank: 2, Size: 4, Launcher: "openmpi", LocalSize: 4},
		},
		{
			name: "mpirun in a step of Slurm: the daemon's task is not the rank", env: "OMPI_COMM_WORLD_RANK=7 OMPI_COMM_WORLD_SIZE=8 PMIX_RANK=7 SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2",
			want: ranks.World{Rank: 7, Size: 8, Launcher: "openmpi"},
		},
		{name: "MPICH", env: "PMI_RANK=0 PMI_SIZE=3 MPI_LOCALNRANKS=3", want: ranks.World{Size: 3, Launcher: "pmi", LocalSize: 3}},
		{name: "srun --mpi=pmi2", env: "PMI_RANK=1 PMI_SIZE=2 SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_NTASKS=2", want: ranks.World{Rank: 1, Size: 2, Launcher: "pmi"}},
		{name: "srun", env: "SLURM_STEP_ID=0 SLURM_PROCID=3 SLURM_NTASKS=4 SLURM_STEP_NUM_TASKS=4", want: ranks.World{Rank: 3, Size: 4, Launcher: "slurm"}},
		{name: "srun within salloc: the allocation's tasks do not count", env: "SLURM_STEP_ID=1 SLURM_PROCID=1 SLURM_NTASKS=8 SLURM_STEP_NUM_TASKS=2", want: ranks.World{Rank: 1, Size: 2, Launcher: "slurm"}},
		{name: "srun --mpi=pmix", env: "SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 PMIX_RANK=1", want: ranks.World{Rank: 1, Size: 2, Launcher: "slurm"}},
		{name: "a batch script is one process", env: "SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_JOB_ID=7"},
		{name: "PMIx with a size", env: "PMIX_RANK=1 PA_RECORD_WORLD_SIZE=2", want: ranks.World{Rank: 1, Size: 2, Launcher: "pmix"}},
		{
			name: "torchrun on nodes of Slurm", env: "RANK=5 WORLD_SIZE=8 LOCAL_WORLD_SIZE=4 TORCHELASTIC_RUN_ID=x SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2",
			want: ranks.World{Rank: 5, Size: 8, Launcher: "torchrun", LocalSize: 4},
		},
		{name: "RANK and WORLD_SIZE by hand", env: "RANK=1 WORLD_SIZE=2", want: ranks.World{Rank: 1, Size: 2, Launcher: "torchrun"}},
		{name: "RANK alone is something else's", env: "RANK=1"},
		{name: "Kubernetes", env: "JOB_COMPLETION_INDEX=3 PA_RECORD_WORLD_SIZE=5", want: ranks.World{Rank: 3, Size: 5, Launcher: "kubernetes"}},
		{name: "Kubernetes with --world-size", env: "JOB_COMPLETION_INDEX=3", flags: ranks.Flags{Size: new(5)}, want: ranks.World{Rank: 3, Size: 5, Launcher: "kubernetes"}},
		{name: "independent pods", env: "JOB_COMPLETION_INDEX=3"},
		{name: "one rank", env: "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1", want: ranks.World{Size: 1, Launcher: "openmpi"}},
		{name: "flags", flags: ranks.Flags{Rank: new(0), Size: new(2)}, want: ranks.World{Size: 2, Launcher: "flags"}},
		{name: "flags win", env: "OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4", flags: ranks.Flags{Rank: new(1), Size: new(2)}, want: ranks.World{Rank: 1, Size: 2, Launcher: "flags"}},
		{name: "flags win over nonsense", env: "OMPI_COMM_WORLD_RANK=x", flags: ranks.Flags{Rank: new(1), Size: new(2)}, want: ranks.World{Rank: 1, Size: 2, Launcher: "flags"}},
		{name: "alone in spite of a launcher", env: "OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4", flags: ranks.Flags{Size: new(1)}, want: ranks.World{Size: 1, Launcher: "flags"}},

		{name: "rank without size", flags: ranks.Flags{Rank: new(1)}, err: "--rank 1 needs --world-size"},
		{name: "size without rank", flags: ranks.Flags{Size: new(2)}, err: "--world-size 2 needs --rank"},
		{name: "rank beyond", flags: ranks.Flags{Rank: new(2), Size: new(2)}, err: "--rank is 2, but --world-size is 2; ranks count from 0 to 1"},
		{name: "negative rank", flags: ranks.Flags{Rank: new(-1), Size: new(2)}, err: "--rank is -1"},
		{name: "no ranks", flags: ranks.Flags{Rank: new(0), Size: new(0)}, err: "--world-size 0: must be"},
		{name: "other size", env: "OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4", flags: ranks.Flags{Size: new(8)}, err: "--world-size 8 contradicts OMPI_COMM_WORLD_SIZE=4"},
		{name: "rank beyond the launcher's size", env: "PMI_RANK=4 PMI_SIZE=4", err: "the rank of pmi is 4, but PMI_SIZE is 4"},
		{name: "no number", env: "PMI_RANK=a PMI_SIZE=4", err: `PMI_RANK="a"`},
		{name: "huge", env: "PMI_RANK=99999999999999999999 PMI_SIZE=4", err: "PMI_RANK="},
		{name: "size missing", env: "PMI_RANK=1", err: "PMI_SIZE is not"},
		{name: "size 0", env: "PMI_RANK=0 PMI_SIZE=0", err: "at least one rank"},
		{name: "two launchers disagree", env: "OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 RANK=1 WORLD_SIZE=4", err: "OMPI_COMM_WORLD_RANK=2 contradicts RANK=1"},
		{name: "PMIx disagrees", env: "OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 PMIX_RANK=1", err: "contradicts PMIX_RANK=1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{}
			for _, f := range strings.Fields(tt.env) {
				name, value, _ := strings.Cut(f, "=")
				env[name] = value
			}
			got, err := ranks.Find(func(name string) string { return env[name] }, tt.flags)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want one with %q", err, tt.err)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("got %+v, error %v; want %+v", got, err, tt.want)
			}
		})
	}
}
