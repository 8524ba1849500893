// Package stamptest tells tests whether the kernel stamps the sockets here.
package stamptest
