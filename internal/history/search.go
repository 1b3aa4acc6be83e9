package history

// Search reports whether match accepts err or any error that it wraps. It is for errors of
// users, whose methods may panic and which may wrap themselves: errors.Is and errors.As
// would follow those for ever.
func Search(err error, match func(error) bool) bool {
	left := maxNodes
	return search(err, match, maxDepth, &left)
}

func search(err error, match func(error) bool, depth int, left *int) bool {
	if *left--; err == nil || *left < 0 {
		return false
	}
	if match(err) {
		return true
	}
	if depth == 0 {
		return false
	}
	for _, cause := range causesOf(err) {
		if search(cause, match, depth-1, left) {
			return true
		}
	}
	return false
}

// causesOf is unwrap for errors whose methods may panic.
func causesOf(err error) (causes []error) {
	defer func() { _ = recover() }()
	return unwrap(err)
}
