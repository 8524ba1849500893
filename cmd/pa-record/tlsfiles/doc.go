// Package tlsfiles reads the certificates and keys that flags name, and says which parts of a server's
// certificate to verify.
//
// Certificates are PEM or DER. Private keys are PKCS #8, PKCS #1 or SEC 1, and are not encrypted. Each error names the
// flag and its file, what was expected there, and for an encrypted key how to decrypt it.
package tlsfiles
