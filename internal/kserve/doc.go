// Package kserve is generated gRPC code of the KServe v2 inference protocol with Triton's extensions, from
// kserve.proto. With protoc 35.1, protoc-gen-go v1.36.12 and protoc-gen-go-grpc v1.6.2, in this folder:
//
//	protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative kserve.proto
package kserve
