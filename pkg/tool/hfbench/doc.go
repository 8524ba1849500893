// Package hfbench reads the results of Hugging Face's inference-benchmarker, which hold figures only.
package hfbench
