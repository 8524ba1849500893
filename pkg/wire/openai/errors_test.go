package openai

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseError(t *testing.T) {
	long := strings.Repeat("ü", 1000)
	for _, tt := range []struct {
		name        string
		status      int
		contentType string
		body        string
		want        string
	}{
		{"vLLM", 404, "application/json", `{"error":{"message":"The model x does not exist.","type":"NotFoundError","param":"model","code":404}}`, "The model x does not exist."},
		{"error text", 400, "application/json", `{"error":"bad"}`, "bad"},
		{"TGI", 422, "application/json", `{"error":"Input validation error: too long","error_type":"validation"}`, "Input validation error: too long"},
		{"detail", 404, "application/json", `{"detail":"Not Found"}`, "Not Found"},
		{"FastAPI list", 422, "application/json", `{"detail":[{"type":"json_invalid","loc":["body",76],"msg":"JSON decode error","input":{}}]}`, "body.76: JSON decode error"},
		{"detail of another shape", 422, "application/json", `{"detail":{"why":"x"}}`, `{"why":"x"}`},
		{"object error", 400, "application/json", `{"object":"error","message":"m","code":400}`, "m"},
		{"gateway", 403, "application/json", `{"message":"Forbidden"}`, "Forbidden"},
		{"type and code alone", 500, "application/json", `{"error":{"type":"overloaded","code":"busy"}}`, "overloaded busy"},
		{"JSON that says nothing", 500, "application/json", `{"status":"x"}`, `{"status":"x"}`},
		{"no JSON though it says so", 500, "application/json", "oops\n\tat line 1\n", "oops at line 1"},
		{"plain text", 500, "text/plain; charset=utf-8", "Internal Server Error", "Internal Server Error"},
		{"HTML title", 502, "text/html", "<html>\r\n<head><title>502 Bad\nGateway</title></head><body><h1>x</h1>", "502 Bad Gateway"},
		{"HTML heading", 503, "text/html", "<html><title></title><body><h1 class=a>Down</h1>", "Down"},
		{"HTML without either", 503, "text/html", "<p>x</p>", "Service Unavailable"},
		{"HTML without content type", 502, "", "<!DOCTYPE html><TITLE>x</TITLE>", "x"},
		{"HTML cut inside the title", 502, "text/html", "<title>x", "Bad Gateway"},
		{"empty", 429, "", " \n", "Too Many Requests"},
		{"empty, unknown status", 599, "", "", "no message"},
		{"control characters", 500, "text/plain", "a\x1b[31mb\x00c", "a [31mb c"},
		{"an event", 400, "text/event-stream", "event: error\ndata: {\"error\":{\"message\":\"m\"}}\n\ndata: [DONE]\n\n", "m"},
		{"long", 500, "text/plain", long, strings.Repeat("ü", 254) + "…"},
		{"long in JSON", 500, "application/json", `{"error":"` + long + `"}`, strings.Repeat("ü", 254) + "…"},
		{"not UTF-8", 500, "text/plain", "a\xffb", "a\ufffdb"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := ParseError(tt.status, tt.contentType, []byte(tt.body)); got != tt.want {
				t.Errorf("ParseError = %q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzParseError(f *testing.F) {
	f.Add("text/html", []byte("<title>x</title>"))
	f.Add("application/json", []byte(`{"error":{"message":"x"}}`))
	f.Add("", []byte("İ<html><title>\xff"))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		got := ParseError(500, contentType, body)
		if got == "" || len(got) > maxMessageBytes || !utf8.ValidString(got) || strings.ContainsAny(got, "\r\n\x00\x1b") {
			t.Errorf("ParseError(%q, %q) = %q: not a line of 1 to %d bytes", contentType, body, got, maxMessageBytes)
		}
	})
}
