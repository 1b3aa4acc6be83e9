package gates

import "time"

// maxDoublings keeps a patience from overflowing; the waits of slots are shorter.
const maxDoublings = 16

// Patience is for how long a call that needs several gates keeps slots that it was
// granted while another gate makes it wait. Then it gives them back (Return), keeps its
// places in line, and waits for that other gate alone. When that one grants, it asks the
// ones that it gave back again, where no later call is before it.
//
// A call is in order if it lacks no gate that comes before one it holds, by name. Calls
// that wait for each other in a circle cannot all be in order, and one that is not never
// waits longer than unit: so no circle lasts. A call in order waits twice as long each
// time that it had to give back: so in the end it waits longer than it takes for the next
// slot to come free, and starts, however busy the gates are.
func Patience(unit time.Duration, inOrder bool, returns int) time.Duration {
	if !inOrder {
		return unit
	}
	return unit << min(returns, maxDoublings)
}
