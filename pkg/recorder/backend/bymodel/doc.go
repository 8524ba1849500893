// Package bymodel sends requests to several models of one kind of server: one
// [backend.Backend] made of one for each model.
//
//	b, err := bymodel.New([]bymodel.Target{
//		{Model: "small", Backend: small},
//		{Model: "large", Backend: large},
//	})
//
// Which model a request goes to its entry says (workload.Entry.Model; see
// workload.Models for how entries get one). Models need not take the same inputs.
// Each slot has a sender for each model. A model that keeps state is refused: its
// sequences are made of all entries, whatever their models.
//
// It is for servers whose model is in the address of a request, as Triton's.
// Where it is in the body, package openai takes care of it.
//
// # Connections
//
// Connection c of the model with index i is number c·n + i of the run, so numbers
// stay unique.
package bymodel
