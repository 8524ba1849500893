package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
	"github.com/pa-tools/pa/pkg/export/shards"
	"github.com/pa-tools/pa/pkg/sim"
	"github.com/pa-tools/pa/pkg/sim/plan"
)

// Two ranks in two networks, whose packets take 5 ms ± 2 ms and whose clocks differ by
// hours, meet at the barrier of rank 0. Their exports hold the difference of the clocks
// within its bound, and the merged run has one clock.
func TestRanksBetweenNetworks(t *testing.T) {
	t.Parallel()
	nettest.Within(t, func() {
		const requests = 60
		link := nettest.NewLink(t, func(int, []byte) time.Duration {
			return 3*time.Millisecond + rand.N(4*time.Millisecond)
		})
		var srv *sim.Server
		var err error
		link.In(0, func() {
			srv, err = sim.Start(context.Background(), sim.Config{OpenAIAddr: link.Addr(0) + ":18000", TTFT: plan.ConstantDelay(10 * time.Millisecond), ITL: plan.ConstantDelay(10 * time.Millisecond), OutputTokens: plan.ConstantLength(8)})
		})
		if err != nil {
			t.Fatal(err)
		}
		defer srv.Close()
		dir := t.TempDir()
		ahead := []time.Duration{-2 * time.Hour, 37*time.Minute + 5*time.Millisecond}
		cmds, outs := make([]*exec.Cmd, 2), make([]strings.Builder, 2)
		for rank := range cmds {
			cmd := exec.Command(os.Args[0], "--service-kind", "openai", "-u", srv.OpenAIURL(), "--streaming", "--concurrency-range", "6", "--request-count", fmt.Sprint(requests),
				"--rank", fmt.Sprint(rank), "--world-size", "2", "--barrier", link.Addr(0)+":17788", "--barrier-timeout", "30s", "--profile-export-file", "run.json")
			cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &outs[rank], &outs[rank]
			cmd.Env = append(os.Environ(), childEnv+"=1", aheadEnv+"="+ahead[rank].String(), "PA_RECORD_BARRIER_SECRET=between networks")
			cmds[rank] = cmd
			link.In(rank, func() { err = cmd.Start() })
			if err != nil {
				t.Fatal(err)
			}
			timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
			defer timer.Stop()
		}
		for rank, cmd := range cmds {
			if err := cmd.Wait(); err != nil {
				t.Errorf("rank %d: %v", rank, err)
			}
		}
		if t.Failed() {
			t.Fatalf("rank 0:\n%s\nrank 1:\n%s", &outs[0], &outs[1])
		}

		// The server's clock is the machine's.
		received, hosts := map[string]uint64{}, map[string]string{}
		for _, e := range srv.Ledger() {
			host, _, _ := net.SplitHostPort(e.Remote)
			received[e.ID], hosts[e.ID] = e.ReceivedNS, host
		}
		var all []shards.Shard
		for rank := range cmds {
			path := filepath.Join(dir, fmt.Sprintf("run.rank%d.json", rank))
			run, sent := exporttest.Read(t, path)
			checkOK(t, sent, requests/2)
			for i := range sent {
				id, ok := exporttest.AnswerID(&sent[i])
				if !ok || hosts[id] != link.Addr(rank) {
					t.Errorf("rank %d: request %d came from %q, want %s", rank, sent[i].ID, hosts[id], link.Addr(rank))
				}
				if off := time.Duration(sent[i].StartNS-received[id]) - ahead[rank]; off.Abs() > time.Second {
					t.Errorf("rank %d: request %d is %v off its rank's clock", rank, sent[i].ID, off)
				}
			}
			begin := run.Experiments[0].Meta.Share.BeginNS
			if off := time.Duration(begin-sent[0].StartNS) + ahead[rank] - ahead[0]; off.Abs() > 10*time.Second {
				t.Errorf("rank %d: its level begins %v off its first request, on the clock of rank 0", rank, off)
			}
			if rank == 1 {
				for when, o := range map[string]*export.ClockOffset{"before": run.Meta.Shard.OffsetBefore, "after": run.Meta.Shard.OffsetAfter} {
					if o == nil {
						t.Errorf("no offset %s the run", when)
						continue
					}
					off, bound := time.Duration(o.OffsetNS)-(ahead[0]-ahead[1]), time.Duration(o.BoundNS)
					t.Logf("%s the run: off by %v, bound %v", when, off, bound)
					if off.Abs() > bound || bound < 3*time.Millisecond {
						t.Errorf("%s the run: off by %v, bound %v; want it within the bound, which is at least the shortest way, 3 ms", when, off, bound)
					}
				}
			}
			r, err := (&export.Opener{Formats: formats.Readers()}).Open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, shards.Shard{Name: path, Reader: r})
		}
		merged, err := shards.Merge(all)
		if err != nil {
			t.Fatal(err)
		}
		defer merged.Close()
		if err := merged.Missing(); err != nil {
			t.Error(err)
		}
		n, first, last := 0, ^uint64(0), uint64(0)
		for merged.Next() {
			q := merged.Request()
			n, first, last = n+1, min(first, q.StartNS), max(last, q.FailedNS)
		}
		if err := merged.Err(); err != nil {
			t.Fatal(err)
		}
		if span := time.Duration(last - first); n != requests || span > time.Minute {
			t.Errorf("merged: %d requests within %v, want %d within a minute", n, span, requests)
		}
	})
}
