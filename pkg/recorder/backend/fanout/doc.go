// Package fanout makes one [backend.Backend] of several: one per model of a server
// ([ByModel]) or one per server ([RoundRobin]).
//
//	b, err := fanout.RoundRobin([]fanout.Target{
//		{Name: "http://a:8000", Backend: a},
//		{Name: "http://b:8000", Backend: b},
//	}, 1)
//
// Each slot has a sender for each target.
//
// # Models
//
// ByModel sends a request to the model of its entry (workload.Entry.Model; see
// workload.Models for how entries get one). The models may take different inputs. A
// model that keeps state is refused, because its sequences would contain entries of all
// models. ByModel is for servers whose model is in the address of a request, such as
// Triton; package openai puts the model into the body.
//
// # Servers
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
// # Connections
//
// Connection c of target t (from 0) is number c·n + t of the run, so numbers stay unique
// and the target is the number mod n. Backends number their connections from 1, so the
// run's numbers begin at n.
package fanout
