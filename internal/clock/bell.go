package clock

// Bell wakes a goroutine that receives from it. Rings while nobody listens count as one.
type Bell chan struct{}

// NewBell returns a bell that was not rung.
func NewBell() Bell { return make(Bell, 1) }

// Ring wakes who listens, now or when it listens next. It does not block.
func (b Bell) Ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}
