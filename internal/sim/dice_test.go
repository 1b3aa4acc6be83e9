package sim

// dice decides what happens by chance in a world. The same question gets the same answer,
// whatever else was asked before: so a world from which something is taken away stays the same
// otherwise, and a failing one can be made smaller.
type dice uint64

// of returns the dice of something: of a node, a call, a moment.
func (d dice) of(what string, n ...int) dice {
	h := uint64(d)
	for i := range len(what) {
		h = (h ^ uint64(what[i])) * 0x100000001b3
	}
	for _, v := range n {
		h = mix(h + uint64(v))
	}
	return dice(mix(h))
}

// mix is the finalizer of SplitMix64, by Steele, Lea and Flood (2014).
func mix(h uint64) uint64 {
	h += 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// below returns a number from 0 to n-1.
func (d dice) below(n int) int { return int(uint64(d) >> 1 % uint64(n)) }

// oneIn reports whether something happens that happens once in n times.
func (d dice) oneIn(n int) bool { return d.below(n) == 0 }
