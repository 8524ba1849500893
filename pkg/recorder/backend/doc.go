// Package backend is the contract between the recorder and a server protocol: how a
// workload entry is encoded and sent, and how its responses are stamped and decoded. Each
// protocol is a subpackage (openai, kserve); the example is a whole backend.
//
// During the load, Sender.Send runs in one goroutine per slot. It stamps and keeps bytes
// and decodes nothing. Decode runs later, in the goroutine that writes the export.
//
// Instants are Unix nanoseconds of the run's clock (package rxclock).
//
// # Several models or servers
//
// [ByModel] and [RoundRobin] make one Backend of several: one per model of a server, or one per server.
//
//	b, err := backend.RoundRobin([]backend.Target{
//		{Name: "http://a:8000", Backend: a},
//		{Name: "http://b:8000", Backend: b},
//	}, 1)
//
// Each slot has a sender for each target.
//
// ByModel sends a request to the model of its entry (workload.Entry.Model; see
// workload.Models for how entries get one). The models may take different inputs. A
// model that keeps state is refused, because its sequences would contain entries of all
// models. ByModel is for servers whose model is in the address of a request, such as
// Triton; package openai puts the model into the body.
//
// RoundRobin sends the request with ID i to server (i − 1)/m mod n, where m is the number
// of models that requests go to in turn. IDs start at 1 and follow the order in which
// requests are issued, so servers get equal numbers of requests, whichever slot sends.
// Requests of a sequence stay with one server.
//
// The servers must have the same model and get equal inputs; whether they would give the
// same responses is not checked. Payloads of package kserve share their bytes between
// servers. Payloads of package openai contain the server's name, so each server has its
// own.
//
// Connection c of target t (from 0) is number c·n + t of the run, so numbers stay unique
// and the target is the number mod n. Backends number their connections from 1, so the
// run's numbers begin at n.
package backend
