//go:build !linux && !darwin

package openai

import "net"

// alive returns true: this system does not show whether an idle connection is closed. A
// request on a closed one is sent again if nothing of it could be written.
func alive(net.Conn, bool) bool { return true }
