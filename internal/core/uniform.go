package core

// Uniform maps a run, a call and an attempt to a number in [0, 1). It is uniform and
// deterministic: FNV-1a over the run and both numbers, mixed by the finalizer of SplitMix64
// (Steele, Lea, Flood 2014).
func Uniform(run string, call int64, attempt int) float64 {
	const prime = 1099511628211
	h := uint64(14695981039346656037)
	for i := range len(run) {
		h = (h ^ uint64(run[i])) * prime
	}
	for _, n := range [...]uint64{uint64(call), uint64(attempt)} {
		for range 8 {
			h = (h ^ n&0xff) * prime
			n >>= 8
		}
	}
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	h ^= h >> 31
	return float64(h>>11) / (1 << 53)
}
