// Package httpstatus holds the reason phrases of HTTP's status codes.
//
// Package net/http has them too, but whoever analyzes recordings needs no HTTP client, no
// server and no TLS: programs and tests without them are smaller and link faster.
package httpstatus
