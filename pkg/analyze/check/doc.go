// Package check decides how far a recorded run can be trusted.
//
// [Validate] checks the file against what every correct recorder writes: times in order, counts that agree,
// counters that do not fall. Each problem is a [Violation] with the experiment and the request that it is
// about. Validate computes no figures of the requests.
//
// [Run] goes through a list of conditions that make a benchmark run trustworthy, and certifies its
// percentiles as MLPerf does, with the number of independent requests in place of all requests. The
// conditions follow the checklist of "On Evaluating Performance of LLM Inference Serving
// Systems" (arXiv 2507.09019) as far as a recording can show them: warm-up, duration, number of
// samples, kind of load, coordinated omission, saturation of the client, error of the clock,
// source of token counts, failures, steady state, arrivals. Each [Item] passes, fails, or is n/a with the
// reason, and holds the number behind its result. The thresholds are in [Profile]; mlPerfServer has the
// thresholds of MLPerf's server scenario.
//
// Both read a file once. Run keeps up to 56 bytes for each request besides the memory of package
// analyze.
package check
