// Package genaibench reads the result files of genai-bench, one for each load level, with the requests and their statistics.
package genaibench
