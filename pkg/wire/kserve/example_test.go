package kserve_test

import (
	"fmt"

	"github.com/pa-tools/pa/pkg/wire/kserve"
)

// A tensor of an input-data file goes out in a request; the server's answer
// comes back as what the export shows.
func Example() {
	in, err := kserve.ParseInput([]byte(`["Hello, my name is"]`), kserve.BYTES)
	if err != nil {
		fmt.Println(err)
		return
	}
	req := kserve.Request{Model: "vllm", Inputs: []kserve.Tensor{
		{Name: "text_input", Datatype: kserve.BYTES, Shape: []int64{1}, Data: in.Data},
	}}
	msg := kserve.AppendID(req.AppendProto(nil), "17")

	var seen kserve.Request
	if err := seen.ParseProto(msg); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %s %q\n", seen.Model, seen.ID, seen.Inputs[0].Data)

	answer := kserve.Response{ID: seen.ID, Outputs: []kserve.Tensor{
		{Name: "text_output", Datatype: kserve.BYTES, Shape: []int64{1}, Data: kserve.AppendBytes(nil, " John")},
	}}
	fields, err := answer.Fields([]string{"text_output", "finish_reason"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range fields {
		fmt.Printf("%s %q\n", f.Name, f.Value.Data)
	}
	// Output:
	// vllm 17 "\x11\x00\x00\x00Hello, my name is"
	// text_output " John"
	// finish_reason ""
}

func ExampleParseParam() {
	p, err := kserve.ParseParam("max_tokens:16:int")
	fmt.Printf("%s %T %v %v\n", p.Name, p.Value, p.Value, err)
	// Output: max_tokens int64 16 <nil>
}
