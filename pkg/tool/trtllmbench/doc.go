// Package trtllmbench reads the reports that trtllm-bench of TensorRT-LLM writes with --report_json. They hold figures and no requests.
package trtllmbench
