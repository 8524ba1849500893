// Package earlystop computes percentiles as MLPerf's LoadGen certifies them: a value that
// the true percentile does not exceed, at a confidence of 99 %.
//
// Of n values, let t be the largest whole number ≥ 1 with
//
//	P(Binomial(n, 1 − p) ≤ t) < 1 − 0.99
//
// If the true quantile p were above some bound, at least a share of 1 − p of the values would
// exceed the bound, and t or fewer of n would do so with a probability below 1 %. The certified
// percentile is the t-th highest value. Fewer than [Floor] values certify no percentile.
//
// Source: MLPerf Inference, loadgen/early_stopping.cc and results.cc (estimate of the single
// stream scenario, tolerance 0); mlcommons/endpoints (page "Early stopping — design").
package earlystop
