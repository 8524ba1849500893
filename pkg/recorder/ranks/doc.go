// Package ranks lets several processes record one run together: it finds out which of them this one is,
// which part of the load it sends, and when all begin.
//
// The processes that record one run together are its ranks, numbered from 0; they form
// a world of Size ranks. A launcher (mpirun, srun, a Kubernetes Indexed Job, torchrun)
// starts them and puts rank and size into their environments; [Find] reads them there.
//
// All ranks know the whole load: the same levels, seed and input data. Each keeps its
// [Share] by a rule that needs no communication:
//
//	request i of a level       belongs to rank i mod Size
//	a whole conversation       belongs to rank hash(session) mod Size
//	N slots of a closed loop   ⌈N/Size⌉ or ⌊N/Size⌋ for each rank, the larger parts first
//
// So the union of the shares is the load of one process, and no two shares overlap.
//
//	w, err := ranks.Find(os.Getenv, ranks.Flags{})
//	share := w.Share()
//	for k := range share.Count(100) {
//		send(share.Number(k)) // request number share.Number(k) of the level's 100
//	}
//
// # Barrier
//
// Rank 0 serves a barrier at a TCP address, so that the ranks begin each level at the same instant;
// the other ranks connect to it with [Join]. Before each level, and each stage of a level, all ranks
// call [Session.Meet]. It returns when all ranks have called it. Its result is the instant at which the load begins, on
// the rank's own clock. A rank that fails, or is interrupted, calls [Session.End], which ends the
// run of all. [Session.Finish] ends a run.
//
//	s, err := ranks.Join(ctx, ranks.Config{World: w, Addr: "node1:7788", Secret: secret})
//	defer s.Close()
//	begin, err := s.Meet(ctx, ranks.Meeting{Clock: clock, PlanSHA256: hash, Start: true})
//	wait until begin.LocalNS
//
// # Clocks
//
// The ranks' clocks differ. Meet compares the clock of each rank with the clock of rank
// 0 by exchanges of four timestamps: the rank sends at t0, rank 0 receives at t1 and
// answers at t2, the rank receives at t3. With θ the clock of rank 0 minus the clock of
// this rank, and delays of at least 0 in both directions,
//
//	t1 − t0 − θ ≥ 0 and t3 − t2 + θ ≥ 0
//	θ = ((t1 − t0) + (t2 − t3)) / 2   ± ((t3 − t0) − (t2 − t1)) / 2
//
// Half of the round trip bounds the error, whatever the network does. The exchange with
// the shortest round trip counts (D. Mills, RFC 5905, section 8).
//
// # Protocol
//
// A frame is the length of a JSON text (4 bytes, big endian; at most 4,096), the text,
// and after the handshake an HMAC-SHA-256 of direction, number and text. The three frames
// of the handshake prove to each side that the other side knows the secret, which is
// never sent:
//
//	server → rank  hello    {version, nonce}
//	rank → server  join     {version, rank, size, nonce, mac}
//	server → rank  welcome  {session, mac}, or refused {reason}
//
// A connection that does not send its proof within five seconds, or within one second while
// half of the slots are taken, is closed and counted as a stranger. If all slots are
// taken, a new connection gets the slot of the oldest one, and that rank connects again:
// silent connections cannot keep the ranks out. There are 256 slots, or two for each rank if these
// are more; a source may have half of the slots. The texts are not encrypted. They hold hashes,
// times, and the reason why a run ended, which can name the address of a server; they hold no
// credential.
package ranks
