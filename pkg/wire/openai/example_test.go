package openai_test

import (
	"fmt"

	"github.com/pa-tools/pa/pkg/wire/openai"
)

func Example() {
	frames := []string{
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
		": keep-alive\n\n",
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"}}]}\n\n",
		"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1}}\n\n",
		"data: [DONE]\n\n",
	}
	var c openai.Chunk
	var st openai.Stream
	for _, f := range frames {
		if err := openai.ParseFrame([]byte(f), &c); err != nil {
			fmt.Println(err)
			return
		}
		st.Add(&c)
		if c.HasOutput() {
			fmt.Printf("choice %d: %s\n", c.Choices[0].Index, c.Choices[0].Content)
		}
	}
	fmt.Println("complete:", st.Complete(), "tokens:", st.Usage.CompletionTokens)
	// Output:
	// choice 0: Hello
	// complete: true tokens: 1
}

func ExampleMergeRequest() {
	body, err := openai.MergeRequest([]byte(`{ "messages": [], "stream": false }`), []byte(`{"stream":true,"model":"tiny"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", body)
	// Output: {"messages":[],"stream":true,"model":"tiny"}
}
