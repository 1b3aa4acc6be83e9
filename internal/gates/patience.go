package gates

import "time"

// maxDoublings keeps Patience from overflowing. Slots are waited for less long than that.
const maxDoublings = 16

// Patience is how long a call that needs several gates keeps the slots that it was granted
// while another gate makes it wait. After that it gives them back (Return), keeps its
// places in line, and waits for that other gate alone. When that one grants, the call asks
// the gates that it gave back again, where later calls are still behind it.
//
// A call is in order if it lacks no gate whose name comes before that of one it holds.
// Calls that wait for each other in a circle cannot all be in order, and a call that is not
// in order waits at most unit, so no circle lasts. A call in order waits twice as long each
// time that it had to give back. In the end it waits longer than the next slot takes to
// become free, and starts, however busy the gates are.
func Patience(unit time.Duration, inOrder bool, returns int) time.Duration {
	if !inOrder {
		return unit
	}
	return unit << min(returns, maxDoublings)
}
