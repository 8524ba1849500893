package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/grpcconn"
	"github.com/pa-tools/pa/pkg/recorder/observe"
	"github.com/pa-tools/pa/pkg/wire/kserve"
)

// tritonFlags returns the flags that apply only to Triton.
func (s *settings) tritonFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "grpc-compression-algorithm", Category: catTriton, Usage: "compress what is sent over gRPC: `HOW` is none, gzip or deflate", Value: none},
		&cli.StringFlag{Name: "bls-composing-models", Category: catTriton, Usage: "also report the statistics of `MODELS` that the model calls: name:version,name; the models of an ensemble need no flag", Destination: &s.BLS},
		&cli.StringFlag{Name: "input-tensor-format", Category: catTriton, Usage: "send tensors over HTTP as `HOW`: binary, or json", Value: tensorsBinary},
		&cli.StringFlag{Name: "output-tensor-format", Category: catTriton, Usage: "ask for tensors over HTTP as `HOW`: binary, or json", Value: tensorsBinary},
		&cli.StringFlag{Name: "shared-memory", Category: catTriton, Usage: "send tensors through `WHICH` memory, not in requests: none, or system, for a server on this host", Value: none},
		&cli.IntFlag{Name: "output-shared-memory-size", Category: catTriton, Usage: "reserve `BYTES` of shared memory for each output", Value: kserve.DefaultOutputSharedBytes},
		&cli.StringSliceFlag{Name: "trace-level", Category: catTriton, Usage: "let the server trace the model's requests during the run: `LEVEL` is OFF, TIMESTAMPS or TENSORS (repeatable); it needs a trace file of its own"},
		&cli.IntFlag{Name: "trace-rate", Category: catTriton, Usage: "trace one of `N` requests", DefaultText: "as the server has it"},
		&cli.IntFlag{Name: "trace-count", Category: catTriton, Usage: "trace at most `N` requests; -1: all", DefaultText: "as the server has it"},
		&cli.IntFlag{Name: "log-frequency", Category: catTriton, Usage: "write a trace file for each `N` traces; 0: one file", DefaultText: "as the server has it"},
	}
}

// Forms of tensors over HTTP.
const (
	tensorsBinary = "binary"
	tensorsJSON   = "json"
)

// none is the value of flags that turn something off.
const none = "none"

// tritonSettings are checked, and shown in the export where they were given.
type tritonSettings struct {
	BLS          string   `json:"bls_composing_models,omitempty"`
	Compression  string   `json:"grpc_compression_algorithm,omitempty"`
	JSONInputs   bool     `json:"json_inputs,omitempty"`
	JSONOutputs  bool     `json:"json_outputs,omitempty"`
	SharedMemory bool     `json:"shared_memory,omitempty"`
	OutputShared int64    `json:"output_shared_memory_size,omitempty"`
	TraceLevels  []string `json:"trace_level,omitempty"`
	TraceRate    string   `json:"trace_rate,omitempty"`
	TraceCount   string   `json:"trace_count,omitempty"`
	LogFrequency string   `json:"log_frequency,omitempty"`

	blsModels []observe.ModelRef
}

// tritonOnly reads the flags that only Triton servers have, and refuses them for OpenAI servers.
func (p *parser) tritonOnly(s *settings) {
	c, t := p.c, &s.tritonSettings
	for _, f := range s.tritonFlags() {
		if name := f.Names()[0]; s.ServiceKind == kindOpenAI && c.IsSet(name) {
			p.errorf("--%s belongs to --service-kind triton", name)
		}
	}
	if t.BLS != "" {
		for one := range strings.SplitSeq(t.BLS, ",") {
			name, version, _ := strings.Cut(strings.TrimSpace(one), ":")
			if name == "" {
				p.errorf("--bls-composing-models %s: a model has no name; expected NAME:VERSION,NAME", t.BLS)
				break
			}
			t.blsModels = append(t.blsModels, observe.ModelRef{Name: name, Version: version})
		}
	}
	switch algorithm := strings.ToLower(c.String("grpc-compression-algorithm")); algorithm {
	case none:
	default:
		t.Compression = algorithm
		if err := grpcconn.CheckCompression(algorithm); err != nil {
			p.errorf("--grpc-compression-algorithm %s: expected none, gzip or deflate", algorithm)
		}
		p.refuse(s.Protocol != protocolGRPC, "--grpc-compression-algorithm needs -i grpc")
		p.refuse(s.simulated(), "--grpc-compression-algorithm: a simulated server in this process takes no compressed requests; start pa-record sim")
	}
	t.JSONInputs, t.JSONOutputs = p.tensorFormat(s, "input-tensor-format"), p.tensorFormat(s, "output-tensor-format")
	switch kind := c.String("shared-memory"); kind {
	case none:
	case "system":
		t.SharedMemory = true
		t.OutputShared = int64(p.positive("output-shared-memory-size", c.Int("output-shared-memory-size")))
	case "cuda":
		p.errorf("--shared-memory cuda: pa-record does not use GPUs; use system")
	default:
		p.errorf("--shared-memory %s: expected none or system", kind)
	}
	for _, level := range c.StringSlice("trace-level") {
		if !slices.Contains([]string{"OFF", "TIMESTAMPS", "TENSORS"}, level) {
			p.errorf("--trace-level %s: expected OFF, TIMESTAMPS or TENSORS", level)
		}
		t.TraceLevels = append(t.TraceLevels, level)
	}
	for _, f := range []struct {
		name  string
		least int
		to    *string
	}{{"trace-rate", 1, &t.TraceRate}, {"trace-count", -1, &t.TraceCount}, {"log-frequency", 0, &t.LogFrequency}} {
		if !c.IsSet(f.name) {
			continue
		}
		n := c.Int(f.name)
		p.refuse(n < f.least, "--%s %d: must be at least %d", f.name, n, f.least)
		*f.to = strconv.Itoa(n)
	}
}

// tensorFormat reports whether a flag says that tensors are JSON.
func (p *parser) tensorFormat(s *settings, flag string) bool {
	switch format := p.c.String(flag); {
	case format == tensorsBinary:
	case format != tensorsJSON:
		p.errorf("--%s %s: expected binary or json", flag, format)
	case s.Protocol == protocolGRPC:
		p.errorf("--%s json needs HTTP; drop -i grpc", flag)
	default:
		return true
	}
	return false
}
