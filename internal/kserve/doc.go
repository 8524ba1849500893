// Package kserve is generated gRPC code of the KServe v2 inference protocol
// with Triton's extensions: GRPCInferenceService and the model configuration.
//
// The sources are protobuf/grpc_service.proto and protobuf/model_config.proto
// of triton-inference-server/common (revision 83adf7cf, 2026-07-23, BSD-3-Clause,
// notice kept at the head of each generated file). Put both files into an empty
// folder and regenerate with buf v1.73.0, protoc-gen-go v1.36.12 and
// protoc-gen-go-grpc v1.6.2:
//
//	# buf.yaml: "version: v2"; buf.gen.yaml:
//	version: v2
//	managed:
//	  enabled: true
//	  override:
//	    - {file_option: go_package, value: "github.com/pa-tools/pa/internal/kserve;kserve"}
//	plugins:
//	  - {local: protoc-gen-go, out: ., opt: module=github.com/pa-tools/pa}
//	  - {local: protoc-gen-go-grpc, out: ., opt: module=github.com/pa-tools/pa}
//
// Everything but this file is generated.
package kserve
