package sim

// writeTritonMetrics writes the counters of ModelStatistics as metrics under Triton's names.
// As in Triton, times are whole microseconds.
func (s *Server) writeTritonMetrics(t *metricsText) {
	models := make([]modelCounts, len(s.config.TritonModels))
	for i, m := range s.config.TritonModels {
		models[i] = s.stats[m.Name].counts()
	}
	labels := func(i int) string {
		return metricLabel("model", s.config.TritonModels[i].Name) + "," + metricLabel("version", modelVersion)
	}
	counter := func(name, help string, of func(*modelCounts) uint64) {
		t.family(name, "counter", help)
		for i := range models {
			t.sample(name, labels(i), float64(of(&models[i])))
		}
	}
	counter("nv_inference_request_success", "Requests that were answered.", func(c *modelCounts) uint64 { return c.success })
	t.family("nv_inference_request_failure", "counter", "Requests that were not.")
	for i := range models {
		c := &models[i]
		t.sample("nv_inference_request_failure", labels(i)+","+metricLabel("reason", "CANCELED"), float64(c.cancelled))
		t.sample("nv_inference_request_failure", labels(i)+","+metricLabel("reason", "OTHER"), float64(c.fail-c.cancelled))
	}
	counter("nv_inference_count", "Inferences: of each request its batch.", func(c *modelCounts) uint64 { return c.inferences })
	counter("nv_inference_exec_count", "Executions.", func(c *modelCounts) uint64 { return c.success })
	counter("nv_inference_request_duration_us", "Time of the requests in all.", func(c *modelCounts) uint64 { return uint64((c.queue + c.compute).Microseconds()) })
	counter("nv_inference_queue_duration_us", "Time that requests waited.", func(c *modelCounts) uint64 { return uint64(c.queue.Microseconds()) })
	counter("nv_inference_compute_input_duration_us", "Time of their inputs.", func(*modelCounts) uint64 { return 0 })
	counter("nv_inference_compute_infer_duration_us", "Time of their inference.", func(c *modelCounts) uint64 { return uint64(c.compute.Microseconds()) })
	counter("nv_inference_compute_output_duration_us", "Time of their outputs.", func(*modelCounts) uint64 { return 0 })
}
