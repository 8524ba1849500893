package memrun

import (
	"fmt"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
)

// Typical returns a request with n server-sent events of about 230 bytes.
func Typical(n int) *export.Request {
	r := &export.Request{
		ID: 1, StartNS: 1700000000000000000, SentNS: 1700000000000001000, Status: export.StatusOK, Phase: export.PhaseMeasured, HasMeta: true,
		Inputs: export.Fields{{Name: "payload", Value: export.Text(strings.Repeat(`{"prompt":"x"}`, 40))}},
	}
	for i := range n {
		text := fmt.Sprintf(`data: {"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1700000000,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"content":" token%d"},"logprobs":null,"finish_reason":null}]}`+"\n\n", i)
		r.Responses = append(r.Responses, export.Response{
			RecvNS: 1700000000000000000 + uint64(i)*10_000_000 + uint64(i*i%7919), Source: export.SourceKernel, Read: uint32(i), Final: i == n-1,
			Outputs: export.Fields{{Name: "response", Value: export.Text(text)}},
		})
	}
	return r
}
