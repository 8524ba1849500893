package backend

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// MetLocalLimit finds the text of localLimit in the message of a request.
func TestLocalLimit(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		is   bool
	}{
		{"no descriptor", os.NewSyscallError("socket", syscall.EMFILE), true},
		{"no file on the machine", fmt.Errorf("dial: %w", syscall.ENFILE), true},
		{"no port", os.NewSyscallError("connect", syscall.EADDRNOTAVAIL), true},
		{"refused", os.NewSyscallError("connect", syscall.ECONNREFUSED), false},
		{"another error", errors.New("too many open files; raise ulimit"), false},
		{"none", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := localLimit(tt.err)
			if got := text != ""; got != tt.is {
				t.Errorf("localLimit = %q", text)
			}
			r := &export.Request{Status: export.StatusConnectError, Message: "http://host: " + text}
			if got := MetLocalLimit(r); got != tt.is {
				t.Errorf("MetLocalLimit of %q = %v, want %v", r.Message, got, tt.is)
			}
			r.Status = export.StatusHTTPError // a server's words
			if MetLocalLimit(r) {
				t.Errorf("MetLocalLimit of an answer = true")
			}
		})
	}
}
