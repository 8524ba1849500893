package openai

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// everything is all text of an exchange, each piece on a line.
func everything(x *backend.Exchange) string {
	var b strings.Builder
	r := &x.Request
	fmt.Fprintf(&b, "%q\n%q\n", r.Message, r.ServerID)
	for i, raw := range x.Raw {
		fmt.Fprintf(&b, "%q\n", raw)
		for _, f := range r.Responses[i].Outputs {
			fmt.Fprintf(&b, "%q=%q\n", f.Name, f.Value.Data)
		}
	}
	return b.String()
}

// A server that repeats a credential in its answer does not get it into what
// is recorded, and the answer keeps its lengths and its meaning.
func TestDecodeHidesSecrets(t *testing.T) {
	for _, tt := range []struct {
		name, contentType string
		code              int
		body              func(auth string) string
		want              export.Status
	}{
		{"401", "application/json", 401, func(auth string) string {
			return fmt.Sprintf(`{"error":{"message":"no access with %s"}}`, auth)
		}, export.StatusHTTPError},
		{"401, long", "text/plain", 401, func(auth string) string {
			return strings.Repeat("x", 505) + auth // the message ends within it
		}, export.StatusHTTPError},
		{"200", "application/json", 200, func(auth string) string {
			return fmt.Sprintf(`{"id":%q,"choices":[{"index":0,"message":{"content":%q},"finish_reason":"stop"}]}`, auth, auth)
		}, export.StatusOK},
		{"200 with an error", "application/json", 200, func(auth string) string {
			return fmt.Sprintf(`{"error":{"message":%q}}`, auth)
		}, export.StatusRPCError},
		{"event", "text/event-stream", 200, func(auth string) string {
			return fmt.Sprintf("data: {\"id\":%q,\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\ndata: [DONE]\n\n", auth, auth)
		}, export.StatusOK},
		{"error event", "text/event-stream", 200, func(auth string) string {
			return fmt.Sprintf("data: {\"error\":{\"message\":%q}}\n\n", auth)
		}, export.StatusRPCError},
		{"garbage", "text/event-stream", 200, func(auth string) string {
			return "data: {" + auth + "\n\n"
		}, export.StatusProtocolError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var sent atomic.Int64 // bytes of the last answer
			srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", tt.contentType)
				w.WriteHeader(tt.code)
				body := tt.body(r.Header.Get("Authorization"))
				sent.Store(int64(len(body)))
				fmt.Fprint(w, body)
			})
			for _, tc := range []struct {
				name    string
				cfg     Config
				secrets []string
			}{
				{"bearer", Config{URL: srv.URL, Headers: []Header{{"Authorization", "Bearer sk-secret-1"}}}, []string{"sk-secret-1", "secret-1"}},
				{"URL", Config{URL: strings.Replace(srv.URL, "http://", "http://bob:topsecret2@", 1)}, []string{"topsecret2", "Ym9iOnRvcHNlY3JldDI="}},
			} {
				b := newBackend(t, tc.cfg)
				x := exchange(t.Context(), t, b, open(t, b), `{}`)
				got := everything(x)
				for _, secret := range tc.secrets {
					if strings.Contains(got, secret) {
						t.Errorf("%s: %q shows in\n%s", tc.name, secret, got)
					}
				}
				if x.Request.Status != tt.want || int64(len(joined(x))) != sent.Load() {
					t.Errorf("%s: status %v, %d bytes; want %v, %d\n%s", tc.name, x.Request.Status, len(joined(x)), tt.want, sent.Load(), got)
				}
				if tt.name == "401, long" && strings.Contains(got, "Bea") {
					t.Errorf("%s: a part of the credential shows in\n%s", tc.name, got)
				}
			}
		})
	}
}
