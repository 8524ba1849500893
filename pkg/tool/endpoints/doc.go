// Package endpoints reads the events of mlcommons/endpoints.
package endpoints
