package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/pkg/wire/kserve"
)

// sharedDir is the folder of system shared memory on Linux.
const sharedDir = "/dev/shm"

// sharedRegions holds the regions of shared memory that clients registered.
type sharedRegions struct {
	mu     sync.Mutex
	byName map[string]*sharedRegion
	ever   int
}

// A sharedRegion is a part of a shared memory file.
type sharedRegion struct {
	file         *os.File
	offset, size int64
}

// SharedRegions returns the names of the registered regions, and the number of registrations
// so far.
func (s *Server) SharedRegions() (now []string, ever int) {
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	for name := range s.shared.byName {
		now = append(now, name)
	}
	slices.Sort(now)
	return now, s.shared.ever
}

// add registers a region.
func (r *sharedRegions) add(name, key string, offset, size int64) *tritonError {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.byName[name]; ok {
		return tritonErrorf(codes.AlreadyExists, "shared memory region '%s' is already registered", clip(name))
	}
	key = strings.TrimPrefix(key, "/")
	if key == "" || strings.ContainsAny(key, "/\x00") || key == ".." || size < 1 || offset < 0 {
		return tritonErrorf(codes.InvalidArgument, "shared memory region '%s': key, offset or size is wrong", clip(name))
	}
	f, err := os.OpenFile(filepath.Join(sharedDir, key), os.O_RDWR, 0)
	if err == nil {
		var info os.FileInfo
		if info, err = f.Stat(); err == nil && info.Size() < offset+size {
			err = fmt.Errorf("it has %d bytes, not %d", info.Size(), offset+size)
		}
	}
	if err != nil {
		if f != nil {
			_ = f.Close()
		}
		return tritonErrorf(codes.InvalidArgument, "shared memory region '%s': %s", clip(name), err)
	}
	if r.byName == nil {
		r.byName = map[string]*sharedRegion{}
	}
	r.byName[name] = &sharedRegion{f, offset, size}
	r.ever++
	return nil
}

// remove unregisters a region, or all regions for "".
func (r *sharedRegions) remove(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for n, region := range r.byName {
		if name == "" || n == name {
			errs = append(errs, region.file.Close())
			delete(r.byName, n)
		}
	}
	return errors.Join(errs...)
}

// transfer reads or writes the part of a region that at selects.
func (r *sharedRegions) transfer(at *kserve.Shared, move func(f *os.File, offset int64) error) *tritonError {
	r.mu.Lock()
	defer r.mu.Unlock()
	region, ok := r.byName[at.Region]
	switch {
	case !ok:
		return tritonErrorf(codes.InvalidArgument, "there is no shared memory region '%s'", clip(at.Region))
	case at.Offset < 0 || at.Bytes < 0 || at.Bytes > region.size || at.Offset > region.size-at.Bytes:
		return tritonErrorf(codes.InvalidArgument, "%d bytes at %d are outside of shared memory region '%s'", at.Bytes, at.Offset, clip(at.Region))
	}
	if err := move(region.file, region.offset+at.Offset); err != nil {
		return tritonErrorf(codes.Internal, "shared memory region '%s': %s", clip(at.Region), err)
	}
	return nil
}

func (r *sharedRegions) read(at *kserve.Shared) (data []byte, terr *tritonError) {
	terr = r.transfer(at, func(f *os.File, offset int64) error {
		data = make([]byte, at.Bytes)
		_, err := f.ReadAt(data, offset)
		return err
	})
	return data, terr
}

// share writes the outputs of a job that the client wants in shared memory. The outputs then
// have no data.
func (s *Server) share(j *job, asked []kserve.RequestedOutput) *tritonError {
	for _, o := range asked {
		if o.Shared == nil {
			continue
		}
		i := slices.IndexFunc(j.outputs, func(t kserve.Tensor) bool { return t.Name == o.Name })
		if i < 0 {
			return tritonErrorf(codes.InvalidArgument, "output '%s' cannot be put into shared memory", o.Name)
		}
		t := &j.outputs[i]
		if o.Shared.Bytes < int64(len(t.Data)) {
			return tritonErrorf(codes.InvalidArgument, "output '%s' has %d bytes, there is room for %d in shared memory", o.Name, len(t.Data), o.Shared.Bytes)
		}
		if terr := s.shared.transfer(o.Shared, func(f *os.File, offset int64) error {
			_, err := f.WriteAt(t.Data, offset)
			return err
		}); terr != nil {
			return terr
		}
		t.Shared, t.Data = o.Shared, nil
	}
	return nil
}

// SystemSharedMemoryRegister registers a region.
func (g *grpcServer) SystemSharedMemoryRegister(_ context.Context, q *pb.SystemSharedMemoryRegisterRequest) (*pb.SystemSharedMemoryRegisterResponse, error) {
	if terr := g.s.shared.add(q.GetName(), q.GetKey(), int64(q.GetOffset()), int64(q.GetByteSize())); terr != nil {
		return nil, status.Error(terr.code, terr.message)
	}
	return &pb.SystemSharedMemoryRegisterResponse{}, nil
}

// SystemSharedMemoryUnregister unregisters a region, or all regions.
func (g *grpcServer) SystemSharedMemoryUnregister(_ context.Context, q *pb.SystemSharedMemoryUnregisterRequest) (*pb.SystemSharedMemoryUnregisterResponse, error) {
	return &pb.SystemSharedMemoryUnregisterResponse{}, g.s.shared.remove(q.GetName())
}

// serveRegister is SystemSharedMemoryRegister over HTTP.
func (g *grpcServer) serveRegister(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Key    string
		Offset int64
		Bytes  int64 `json:"byte_size"`
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, g.s.config.MaxRequestBytes))
	if err == nil {
		err = json.Unmarshal(body, &q)
	}
	if err != nil {
		writeJSON(w, http.StatusBadRequest, plainErrorBody(0, err.Error()))
		return
	}
	if terr := g.s.shared.add(r.PathValue("region"), q.Key, q.Offset, q.Bytes); terr != nil {
		writeTritonError(w, terr)
	}
}

func (g *grpcServer) serveUnregister(w http.ResponseWriter, r *http.Request) {
	if err := g.s.shared.remove(r.PathValue("region")); err != nil {
		writeTritonError(w, tritonErrorf(codes.Internal, "%s", err))
	}
}

// sharedOf returns the location of a tensor in shared memory, from its parameters; nil if it
// is not there.
func sharedOf(params map[string]*pb.InferParameter) *kserve.Shared {
	name := params[kserve.ParamSharedRegion].GetStringParam()
	if name == "" {
		return nil
	}
	return &kserve.Shared{Region: name, Offset: params[kserve.ParamSharedOffset].GetInt64Param(), Bytes: params[kserve.ParamSharedBytes].GetInt64Param()}
}
