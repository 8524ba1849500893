package dialect

import "github.com/pa-tools/pa/internal/stat"

// A Memory bounds the bytes that the values of requests take in memory while they are
// analyzed. Values beyond the bound go to a temporary file; all figures stay the same. The
// analyses of several tools may share a Memory.
type Memory struct{ store *stat.Store }

// NewMemory returns a Memory of maxBytes; 0 keeps all values in memory. The temporary file
// is created in [os.TempDir] when it is needed.
//
// While AIPerf's figures are computed, sorting takes as many bytes again. Each request takes
// about 100 bytes besides for AIPerf, perf_analyzer and llm_perf together.
func NewMemory(maxBytes int64) *Memory { return &Memory{stat.NewStore(maxBytes, "")} }

// Full returns the error of the temporary file because of which values stay in memory beyond
// the bound; nil if there is none.
func (m *Memory) Full() error { return m.store.Full() }

// Close removes the temporary file. Reports of the analyses must not be used any more.
func (m *Memory) Close() error { return m.store.Close() }
