package engine

import "time"

// TallySpan is the span of time for which calls are counted together. It is part
// of the format: counters of another span would stand beside those there are.
const TallySpan = time.Hour
