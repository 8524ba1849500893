package sim

import (
	"context"

	"google.golang.org/grpc/status"

	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/pkg/wire/kserve"
)

// This file serves metadata, configuration and statistics. The HTTP API renders these gRPC
// messages as JSON.

// ServerLive always reports true.
func (g *grpcServer) ServerLive(context.Context, *pb.ServerLiveRequest) (*pb.ServerLiveResponse, error) {
	return &pb.ServerLiveResponse{Live: true}, nil
}

// ServerReady always reports true.
func (g *grpcServer) ServerReady(context.Context, *pb.ServerReadyRequest) (*pb.ServerReadyResponse, error) {
	return &pb.ServerReadyResponse{Ready: true}, nil
}

// ModelReady reports whether the model exists.
func (g *grpcServer) ModelReady(_ context.Context, q *pb.ModelReadyRequest) (*pb.ModelReadyResponse, error) {
	_, terr := g.s.model(q.GetName(), q.GetVersion())
	return &pb.ModelReadyResponse{Ready: terr == nil}, nil
}

// ServerMetadata names the server and its extensions.
func (g *grpcServer) ServerMetadata(context.Context, *pb.ServerMetadataRequest) (*pb.ServerMetadataResponse, error) {
	return &pb.ServerMetadataResponse{
		Name: "pa-sim", Version: "1",
		Extensions: []string{"binary_tensor_data", "generate", "model_configuration", "model_repository", "parameters", "sequence", "statistics", "system_shared_memory", "trace"},
	}, nil
}

// ModelMetadata names a model's tensors.
func (g *grpcServer) ModelMetadata(_ context.Context, q *pb.ModelMetadataRequest) (*pb.ModelMetadataResponse, error) {
	m, terr := g.s.model(q.GetName(), q.GetVersion())
	if terr != nil {
		return nil, status.Error(terr.code, terr.message)
	}
	spec := m.Interface.spec()
	list := func(tensors []tensorSpec) []*pb.ModelMetadataResponse_TensorMetadata {
		var all []*pb.ModelMetadataResponse_TensorMetadata
		for _, t := range tensors {
			all = append(all, &pb.ModelMetadataResponse_TensorMetadata{
				Name: t.name, Datatype: string(t.datatype), Shape: spec.shape(t),
			})
		}
		return all
	}
	return &pb.ModelMetadataResponse{
		Name: m.Name, Versions: []string{modelVersion}, Platform: "sim",
		Inputs: list(spec.inputs), Outputs: list(spec.outputs),
	}, nil
}

// configTypes maps data types to the types of model configurations.
var configTypes = map[kserve.Datatype]pb.DataType{
	kserve.BYTES: pb.DataType_TYPE_STRING, kserve.BOOL: pb.DataType_TYPE_BOOL, kserve.INT32: pb.DataType_TYPE_INT32,
	kserve.UINT32: pb.DataType_TYPE_UINT32, kserve.UINT64: pb.DataType_TYPE_UINT64, kserve.FP32: pb.DataType_TYPE_FP32,
}

// ModelConfig returns a model's configuration.
func (g *grpcServer) ModelConfig(_ context.Context, q *pb.ModelConfigRequest) (*pb.ModelConfigResponse, error) {
	m, terr := g.s.model(q.GetName(), q.GetVersion())
	if terr != nil {
		return nil, status.Error(terr.code, terr.message)
	}
	spec := m.Interface.spec()
	c := &pb.ModelConfig{
		Name: m.Name, Backend: "sim", MaxBatchSize: int32(spec.maxBatch),
		ModelTransactionPolicy: &pb.ModelTransactionPolicy{Decoupled: spec.decoupled},
	}
	if spec.stateful {
		c.SchedulingChoice = &pb.ModelConfig_SequenceBatching{SequenceBatching: &pb.ModelSequenceBatching{MaxSequenceIdleMicroseconds: 5_000_000}}
	}
	for _, t := range spec.inputs {
		c.Input = append(c.Input, &pb.ModelInput{Name: t.name, DataType: configTypes[t.datatype], Dims: t.dims, Optional: t.optional})
	}
	for _, t := range spec.outputs {
		c.Output = append(c.Output, &pb.ModelOutput{Name: t.name, DataType: configTypes[t.datatype], Dims: t.dims})
	}
	return &pb.ModelConfigResponse{Config: c}, nil
}

// RepositoryIndex lists the models.
func (g *grpcServer) RepositoryIndex(context.Context, *pb.RepositoryIndexRequest) (*pb.RepositoryIndexResponse, error) {
	r := &pb.RepositoryIndexResponse{}
	for _, m := range g.s.config.TritonModels {
		r.Models = append(r.Models, &pb.RepositoryIndexResponse_ModelIndex{Name: m.Name, Version: modelVersion, State: "READY"})
	}
	return r, nil
}

// ModelStatistics returns the statistics of a model, or of all models for an empty name. The
// time from the start to the end of a request counts as compute_infer.
func (g *grpcServer) ModelStatistics(_ context.Context, q *pb.ModelStatisticsRequest) (*pb.ModelStatisticsResponse, error) {
	models := g.s.config.TritonModels
	if q.GetName() != "" {
		m, terr := g.s.model(q.GetName(), q.GetVersion())
		if terr != nil {
			return nil, status.Error(terr.code, terr.message)
		}
		models = []TritonModel{m}
	}
	r := &pb.ModelStatisticsResponse{}
	for _, m := range models {
		r.ModelStats = append(r.ModelStats, g.s.stats[m.Name].message(m.Name))
	}
	return r, nil
}
