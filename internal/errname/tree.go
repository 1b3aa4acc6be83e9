package errname

// First returns the first error of a recorded tree that the function accepts, nil if there
// is none: an error before what it wraps, and that in order.
func First[E any](e *E, causes func(*E) []*E, is func(*E) bool) *E {
	if e == nil || is(e) {
		return e
	}
	for _, c := range causes(e) {
		if found := First(c, causes, is); found != nil {
			return found
		}
	}
	return nil
}
