// Package tlsfiles makes the TLS configuration of a client from the files that flags
// name: certificates of authorities, the client's certificate and its private key.
//
//	f := tlsfiles.Files{CA: tlsfiles.File{Flag: "ca-file", Path: "ca.pem"}}
//	cfg, err := f.Config() // the error names --ca-file and ca.pem
//
// Certificates are PEM or DER. Private keys are PKCS #8, PKCS #1 or SEC 1, and are not
// encrypted. [Checks] verifies a part of a server's certificate only, as perf_analyzer
// can.
package tlsfiles
