// Package serverfigures sums up what servers and GPUs said about themselves during the
// load levels of a run: the scrapes of their metrics, and Triton's ModelStatistics.
//
//	results, err := serverfigures.Read(ctx, r, levels)
//	for _, f := range results[0].Figures {
//		fmt.Println(f.Name, f.Of, f.Mean, f.Unit)
//	}
//
// A [Figure] is the mean of a time, a gauge, or the growth of a counter over the
// measurement of a level. Where the recorder measured the same quantity, the figure
// holds the client's mean too.
//
// The package knows the metrics of vLLM, SGLang, TensorRT-LLM, TGI, llama.cpp, Triton
// and the GPU exporters by name and ignores all others. It measures no requests and
// prints nothing.
package serverfigures
