//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// A server is a simulated server in a process of its own.
type server struct {
	cmd                *exec.Cmd
	openAI, tritonGRPC string
}

// serve starts a server that sends a token every gap, with the time of sending in its text.
// The first tokens are spread over some hundred ms, so that the streams do not run in step, unless flags
// say otherwise.
func (s *suite) serve(ctx context.Context, flags ...string) (*server, error) {
	args := []string{
		"sim", "--openai-addr", "127.0.0.1:0", "--triton-grpc-addr", "127.0.0.1:0", "--triton-http-addr", "off",
		"--itl", gap.String(), "--vocabulary", "stamp",
	}
	for _, usual := range [][]string{{"--ttft", "normal:200ms,60ms"}, {"--ledger-content", "times"}} {
		if !slices.Contains(flags, usual[0]) { // a flag that is given twice makes a note
			args = append(args, usual...)
		}
	}
	cmd := exec.CommandContext(ctx, s.record, append(args, flags...)...)
	cmd.Stderr = s.log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	srv := &server{cmd: cmd}
	sc := bufio.NewScanner(out)
	for srv.openAI == "" || srv.tritonGRPC == "" {
		if !sc.Scan() {
			return nil, errors.Join(errors.New("the simulated server did not say where it listens"), srv.close())
		}
		switch what, addr, _ := strings.Cut(sc.Text(), ": "); what {
		case "OpenAI":
			srv.openAI = addr
		case "Triton gRPC":
			srv.tritonGRPC = addr
		}
	}
	return srv, nil
}

func (v *server) close() error {
	if err := v.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return v.cmd.Wait()
}

// An entry holds the used members of a line of the server's ledger.
type entry struct {
	ID         string `json:"id"`
	ReceivedNS uint64 `json:"received_kernel_ns"`
	Writes     []struct {
		KernelNS uint64 `json:"kernel_ns"`
		Events   int    `json:"events"`
	} `json:"writes"`
}

// ledger returns the entries of the server's ledger by id.
func (v *server) ledger(ctx context.Context) (map[string]entry, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.openAI+"/ledger?wait=true", nil)
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	entries := map[string]entry{}
	for dec := json.NewDecoder(resp.Body); ; {
		var e entry
		switch err := dec.Decode(&e); {
		case errors.Is(err, io.EOF):
			return entries, nil
		case err != nil:
			return nil, fmt.Errorf("ledger: %w", err)
		}
		entries[e.ID] = e
	}
}
