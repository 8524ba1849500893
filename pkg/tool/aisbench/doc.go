// Package aisbench reads the figures that AISBench (ais_bench --mode perf) writes: DATASET.json has the figures of the run, and
// DATASET.csv beside it the statistics of the requests. The times of single requests are in a database.
package aisbench
