// Package inputs opens the data that a run sends: files, folders, standard input,
// datasets of Hugging Face, made-up prompts, built-in prompts or random tensors. It takes
// the checked [settings.Settings] and asks no inference server.
//
//	data, err := inputs.Open(ctx, s, os.Getenv, os.Stdin)
//	defer data.Close()
//	… // hand data.Source and data.Streams to the recorder, print data.Notes
//
// An entry is one request before it is encoded. [WriteRequests] writes entries in the
// form of perf_analyzer's input data.
package inputs
