package backend

import (
	"net/http/httptrace"
	"testing"
	"testing/synctest"
	"time"
)

func TestTraceLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, took := TraceLookup(t.Context())
		if d := took(); d != 0 {
			t.Errorf("%v without a lookup, want 0", d)
		}
		resolver := httptrace.ContextClientTrace(ctx)
		time.Sleep(time.Second)
		resolver.DNSStart(httptrace.DNSStartInfo{Host: "h"})
		time.Sleep(30 * time.Millisecond)
		if d := took(); d != 0 {
			t.Errorf("%v for a lookup that is not over, want 0", d)
		}
		resolver.DNSDone(httptrace.DNSDoneInfo{})
		time.Sleep(time.Second)
		if d := took(); d != 30*time.Millisecond {
			t.Errorf("%v, want 30ms", d)
		}
	})
}
