package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/calibrate"
	"github.com/pa-tools/pa/pkg/sim"
	"github.com/pa-tools/pa/pkg/sim/ledger"
)

// A calibrationServer is "pa-record sim" in a process of its own.
type calibrationServer struct {
	cmd          *exec.Cmd
	stdin        io.Closer // the server ends with it, and so with this process
	stderr       *bytes.Buffer
	openAI, grpc string
	next         uint64 // index of the first request of the next turn
}

// serverPatience is how long the server may take to start, and to end.
const serverPatience = 10 * time.Second

// startCalibrationServer starts this program again as a server. The streams'
// first tokens come at random times, so that the streams do not keep step.
func startCalibrationServer(ctx context.Context, plan calibrate.Plan) (*calibrationServer, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start the simulated server: %w", err)
	}
	spread := min(plan.Gap, 100*time.Millisecond)
	cmd := exec.CommandContext(ctx, program, "sim", "--stop-at-eof", //nolint:gosec // G204: the program is this one
		"--openai-addr", sim.DefaultAddr, "--triton-grpc-addr", sim.DefaultAddr, "--triton-http-addr", sim.Off,
		"--kernel-sends", "--ledger-content", "times",
		"--ttft", fmt.Sprintf("normal:%v,%v", 4*spread, spread), "--itl", plan.Gap.String())
	cmd.Args[0] = "pa-record"
	// Variables that set flags are meant for this process.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PA_RECORD_") })
	s := &calibrationServer{cmd: cmd, stderr: new(bytes.Buffer)}
	cmd.Stderr = s.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the simulated server: %w", err)
	}
	s.stdin = stdin
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the simulated server: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the simulated server: %w", err)
	}
	slow := time.AfterFunc(serverPatience, func() { _ = cmd.Process.Kill() })
	for lines := bufio.NewScanner(stdout); (s.openAI == "" || s.grpc == "") && lines.Scan(); {
		switch what, addr, _ := strings.Cut(lines.Text(), ": "); what {
		case "OpenAI":
			s.openAI = addr
		case "Triton gRPC":
			s.grpc = addr
		}
	}
	slow.Stop()
	if s.openAI == "" || s.grpc == "" {
		return nil, errors.Join(errors.New("the simulated server did not say where it listens"), s.stop())
	}
	return s, nil
}

// stop ends the server and waits for it.
func (s *calibrationServer) stop() error {
	_ = s.stdin.Close()                    // it is closed already if the server is gone
	_ = s.cmd.Process.Signal(os.Interrupt) // where there is no such thing the end of its input does
	slow := time.AfterFunc(serverPatience, func() { _ = s.cmd.Process.Kill() })
	defer slow.Stop()
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("the simulated server: %w: %s", err, bytes.TrimSpace(s.stderr.Bytes()))
	}
	return nil
}

// truths returns what the server knows of the requests since it was asked last,
// by id.
func (s *calibrationServer) truths(ctx context.Context) (map[string]*calibrate.Truth, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.openAI+"/ledger?wait=true&since="+strconv.FormatUint(s.next, 10), nil)
	if err != nil {
		return nil, err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the simulated server what it sent: %w", err)
	}
	defer resp.Body.Close()
	all := map[string]*calibrate.Truth{}
	for dec := json.NewDecoder(resp.Body); ; {
		var e ledger.Entry
		if err := dec.Decode(&e); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("read what the simulated server sent: %w", err)
		}
		s.next = max(s.next, e.Index+1)
		all[e.ID] = truthOf(&e)
	}
}

// truthOf returns a ledger entry as the calibration wants it.
func truthOf(e *ledger.Entry) *calibrate.Truth {
	t := &calibrate.Truth{ReceivedNS: e.ReceivedKernelNS}
	for _, w := range e.Writes {
		for range w.Events { // one, but where a fault joins several
			t.Events = append(t.Events, calibrate.Event{KernelNS: w.KernelNS, UserNS: w.SentNS, Tokens: w.Tokens})
		}
	}
	return t
}

var idMember = regexp.MustCompile(`"id": ?"([^"]+)"`)

// completionID returns the id in an event of a completion, "" if there is none.
func completionID(event []byte) string {
	if m := idMember.FindSubmatch(event); m != nil {
		return string(m[1])
	}
	return ""
}
