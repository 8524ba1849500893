package drive

import "testing"

// Slot S sends requests 0 and 2, U sends 1 and T sends 3. T looks before U
// does: the decision on request 0 is not T's to take, and U still sees it.
func TestAdmissionOrder(t *testing.T) {
	t.Parallel()
	var order admissionOrder
	isOpen := func(before <-chan struct{}) bool {
		select {
		case <-before:
			return true
		default:
			return false
		}
	}
	before0, s0 := order.next()
	if before0 != nil {
		t.Error("the first request waits for another")
	}
	before1, u1 := order.next()
	close(s0)
	before2, s2 := order.next()
	before3, t3 := order.next()
	if isOpen(before3) {
		t.Error("request 3 passes before request 2")
	}
	if isOpen(before2) {
		t.Error("request 2 passes before request 1")
	}
	if !isOpen(before1) {
		t.Error("request 1 waits though request 0 has passed")
	}
	close(u1)
	if !isOpen(before2) {
		t.Error("request 2 waits though request 1 has passed")
	}
	close(s2)
	if !isOpen(before3) {
		t.Error("request 3 waits though request 2 has passed")
	}
	close(t3)
}
