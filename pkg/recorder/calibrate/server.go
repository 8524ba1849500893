package calibrate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// A Simulator starts a simulated server in another process and reads its ledger.
type Simulator struct {
	// Command returns the command that starts the server. The server streams tokens with
	// plan.Gap between them, prints "OpenAI: URL" and "Triton gRPC: ADDRESS" on standard
	// output, and ends when its standard input ends.
	Command func(ctx context.Context, plan Plan) (*exec.Cmd, error)
	// ReadLedger reads the server's answer to GET /ledger?wait=true&since=INDEX: the
	// requests from INDEX on. It calls each for every request, with the request's index
	// and id.
	ReadLedger func(r io.Reader, each func(index uint64, id string, t *Truth)) error
}

// A server is a simulated server in another process.
type server struct {
	cmd          *exec.Cmd
	stdin        io.Closer // the server ends when it is closed, also by the end of this process
	stderr       *bytes.Buffer
	openAI, grpc string
	next         uint64 // index of the first request of the next turn
	readLedger   func(io.Reader, func(uint64, string, *Truth)) error
}

// serverPatience is how long the server may take to start, and to end.
const serverPatience = 10 * time.Second

// start starts the server and waits until it listens.
func (m Simulator) start(ctx context.Context, plan Plan) (*server, error) {
	cmd, err := m.Command(ctx, plan)
	if err != nil {
		return nil, fmt.Errorf("start the simulated server: %w", err)
	}
	s := &server{cmd: cmd, stderr: new(bytes.Buffer), readLedger: m.ReadLedger}
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
func (s *server) stop() error {
	_ = s.stdin.Close()                    // it is closed already if the server is gone
	_ = s.cmd.Process.Signal(os.Interrupt) // without such a signal, the end of its input suffices
	slow := time.AfterFunc(serverPatience, func() { _ = s.cmd.Process.Kill() })
	defer slow.Stop()
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("the simulated server: %w: %s", err, bytes.TrimSpace(s.stderr.Bytes()))
	}
	return nil
}

// truths returns the server's times of the requests since the last call, by their ids.
func (s *server) truths(ctx context.Context) (map[string]*Truth, error) {
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
	all := map[string]*Truth{}
	err = s.readLedger(resp.Body, func(index uint64, id string, t *Truth) {
		s.next = max(s.next, index+1)
		all[id] = t
	})
	if err != nil {
		return nil, fmt.Errorf("read what the simulated server sent: %w", err)
	}
	return all, nil
}
