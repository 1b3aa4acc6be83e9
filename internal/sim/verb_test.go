package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/store"
)

// verb is a method of a store.
type verb int

const (
	vOpen verb = iota
	vJoin
	vRenew
	vLeave
	vClaim
	vRelease
	vMove
	vDissolve
	vCommit
	vGroup
	vSecret
	vCreate
	vPost
	vTake
	vSwitch
	vDelete
	vTransact
	vAttend
	vClaimTasks
	vSettleTasks
	vSeal
	lastWrite
	vDue
	vInbox
	vLoad
	vRead
	verbs
)

var verbNames = [verbs]string{
	vOpen: "open", vJoin: "join", vRenew: "renew", vLeave: "leave", vClaim: "claim", vRelease: "release", vMove: "move", vDissolve: "dissolve",
	vCommit: "commit", vGroup: "group", vSecret: "secret", vCreate: "create", vPost: "post", vTake: "take", vSwitch: "switch", vDelete: "delete",
	vTransact: "transact", vAttend: "attend", vClaimTasks: "grab", vSettleTasks: "settle", vSeal: "seal", vDue: "due", vInbox: "inbox", vLoad: "load", vRead: "read",
}

var errCrashed = errors.New("the process is dead")

// fault is what happens to one call of a verb.
type fault int

const (
	fine fault = iota
	failsBefore
	failsAfter // it did its work, and the answer is lost
	crashesBefore
	crashesAfter
)

// mostOfAVerb is more than what any process asks for in a world.
const mostOfAVerb = 200_000

// carry carries out a verb for a node: after a while, with what the world has in store for it.
// do is called at most once, at one moment; nothing else of the world happens meanwhile.
func carry[T any](ctx context.Context, n *node, v verb, about string, size int, do func() (T, error)) (T, error) {
	var none T
	number, d := n.next(v, about)
	if number > mostOfAVerb { // a test that hangs would not say in which world
		panic(fmt.Sprintf("node %d goes round in circles: it asks for %s, number %d; repeat it with\n    %s", n.number, verbNames[v], number, n.command()))
	}
	latency, f, slow := n.world.chance(n, v, d)
	if err := n.wait(ctx, latency+slow); err != nil {
		n.trace.add(n.number, verbNames[v], number, 0, "gives up")
		return none, err
	}
	switch {
	case f == crashesBefore && !n.isCalm():
		n.trace.add(n.number, verbNames[v], number, 0, "crashes before")
		n.die()
		return none, errCrashed
	case f == failsBefore || n.isCut():
		n.trace.add(n.number, verbNames[v], number, 0, "fails before")
		return none, unavailable(v, true)
	}
	answer, err := do()
	n.trace.add(n.number, verbNames[v], number, size, outcome(err))
	if f == crashesAfter && !n.isCalm() {
		n.die()
		return none, errCrashed
	}
	if v < lastWrite && d.of("back").oneIn(4) || slow > 0 || n.isFrozen() {
		if err := n.wait(ctx, time.Duration(d.of("back far").below(int(latency+slow/2)+1))); err != nil {
			return none, err
		}
	}
	if f == failsAfter || n.isCut() && v < lastWrite {
		n.trace.add(n.number, verbNames[v], number, 0, "loses the answer")
		return none, unavailable(v, false)
	}
	return answer, err
}

func outcome(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func unavailable(v verb, undone bool) error {
	return &store.UnavailableError{Op: verbNames[v], Err: errors.New("the world is against it"), Undone: undone}
}

// chance says how long a verb takes, and what happens to it.
func (w *world) chance(n *node, v verb, d dice) (latency time.Duration, f fault, slow time.Duration) {
	latency = time.Duration(20_000 + d.of("latency").below(400_000)) // ns
	if d.of("tail").oneIn(16) {
		latency *= 20
	}
	t := n.trouble()
	if t.oneIn == 0 || !d.of("fault").oneIn(t.oneIn) {
		return latency, fine, 0
	}
	switch d.of("which").below(8) {
	case 0, 1:
		f = failsBefore
	case 2, 3:
		f = failsAfter
	case 4:
		slow = time.Duration(d.of("slow").below(15_000)) * time.Millisecond
	case 5:
		slow = time.Duration(d.of("slow").below(900)) * time.Millisecond
	case 6:
		f = crashesBefore
	case 7:
		f = crashesAfter
	}
	if v == vOpen || v == vTake || (f >= crashesBefore && !t.deadly) {
		f = fine
	}
	return latency, f, slow
}
