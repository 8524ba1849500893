// Package world says which of several processes this one is, and which part of a run's
// load it sends.
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
//	w, err := world.Find(os.Getenv, world.Flags{})
//	share := w.Share()
//	for k := range share.Count(100) {
//		send(share.Number(k)) // request number share.Number(k) of the level's 100
//	}
//
// The package neither starts nor connects ranks: see package barrier.
package world
