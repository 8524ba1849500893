// Package roundrobin spreads requests over several servers of one kind in
// turn: one [backend.Backend] made of several.
//
//	b, err := roundrobin.New([]roundrobin.Target{
//		{Name: "http://a:8000", Backend: a},
//		{Name: "http://b:8000", Backend: b},
//	}, 1)
//
// The request with the id i goes to target (i − 1)/m mod n, where m is the number
// of models that requests go to in turn. Ids are given out in
// the order in which requests are issued, from 1; so the servers get equal
// numbers, whatever slot sends, and each slot has a sender for each server.
//
// Payloads that can share their bytes do, as those of package kserve; those of
// package openai hold the server's name in one piece with the body, so each
// server has its own.
//
// All servers must be asked the same: the model has to have one name, and the
// inputs of a payload to be equal. They are not asked whether they would give
// the same answers.
//
// # Connections
//
// Connection c of target t (from 0) is number c·n + t of the run, so numbers
// stay unique and the target is the number mod n. As backends number their
// connections from 1, the run's begin with n.
package roundrobin
