package kserve

import (
	"cmp"
	"context"

	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/observe"
)

// Statistics returns a client for the statistics of the server's models, with its own
// connection. The caller must close it.
func (b *Backend) Statistics() (observe.StatisticsClient, error) {
	return b.newControl()
}

// Protocol implements observe.StatisticsClient.
func (*grpcControl) Protocol() string { return GRPC.String() }

// Model implements observe.StatisticsClient.
func (c *grpcControl) Model(ctx context.Context, name, version string) (export.ServerModel, []observe.ModelRef, error) {
	return serverModel(ctx, c, name, version)
}

// serverModel returns the facts of a model that explain its statistics, and the models of an ensemble.
func serverModel(ctx context.Context, c control, name, version string) (export.ServerModel, []observe.ModelRef, error) {
	m := export.ServerModel{Name: name, Version: version}
	cfg, err := c.config(ctx, name, version)
	if err != nil {
		return m, nil, err
	}
	m.Platform = cmp.Or(cfg.Platform, cfg.Backend)
	m.ResponseCache, m.DynamicBatching, m.SequenceBatching = cfg.Cache.Enable, cfg.Dynamic != nil, cfg.Sequence != nil
	m.Decoupled, m.MaxBatchSize = cfg.Policy.Decoupled, cfg.MaxBatch
	var steps []observe.ModelRef
	for _, step := range cfg.Ensemble.Step {
		steps = append(steps, observe.ModelRef{Name: step.Model, Version: string(step.Version)})
	}
	return m, steps, nil
}

// Stats implements observe.StatisticsClient.
func (c *grpcControl) Stats(ctx context.Context, name, version string) ([]export.ModelStats, error) {
	r, err := c.rpc.ModelStatistics(c.b.outgoing(ctx), &pb.ModelStatisticsRequest{Name: name, Version: version})
	if err != nil {
		return nil, c.wrap("the model", err)
	}
	var all []export.ModelStats
	for _, x := range r.GetModelStats() {
		i := x.GetInferenceStats()
		m := export.ModelStats{
			Name: x.GetName(), Version: x.GetVersion(), LastInference: x.GetLastInference(),
			InferenceCount: x.GetInferenceCount(), ExecutionCount: x.GetExecutionCount(),
			InferenceStats: export.InferenceStats{
				Success: countNS(i.GetSuccess()), Fail: countNS(i.GetFail()), Queue: countNS(i.GetQueue()),
				ComputeInput: countNS(i.GetComputeInput()), ComputeInfer: countNS(i.GetComputeInfer()), ComputeOutput: countNS(i.GetComputeOutput()),
				CacheHit: countNS(i.GetCacheHit()), CacheMiss: countNS(i.GetCacheMiss()),
			},
		}
		for _, b := range x.GetBatchStats() {
			m.BatchStats = append(m.BatchStats, export.BatchStats{
				BatchSize: b.GetBatchSize(), ComputeInput: countNS(b.GetComputeInput()), ComputeInfer: countNS(b.GetComputeInfer()), ComputeOutput: countNS(b.GetComputeOutput()),
			})
		}
		all = append(all, m)
	}
	return all, nil
}

func countNS(d *pb.StatisticDuration) export.CountNS {
	return export.CountNS{Count: d.GetCount(), NS: d.GetNs()}
}

// Protocol implements observe.StatisticsClient.
func (*httpControl) Protocol() string { return HTTP.String() }

// Model implements observe.StatisticsClient.
func (c *httpControl) Model(ctx context.Context, name, version string) (export.ServerModel, []observe.ModelRef, error) {
	return serverModel(ctx, c, name, version)
}

// Stats implements observe.StatisticsClient.
func (c *httpControl) Stats(ctx context.Context, name, version string) ([]export.ModelStats, error) {
	var r struct {
		Stats []export.ModelStats `json:"model_stats"`
	}
	if err := c.getJSON(ctx, pathOf(name, version)+"/stats", &r); err != nil {
		return nil, err
	}
	return r.Stats, nil
}
