package firstlast

// Max is how many elements are kept.
const Max = 20

// Append appends v to list and keeps at most Max elements, the first half of all
// that were appended and the last half. Like append it may write to the array of
// list and returns the updated slice.
func Append[T any](list []T, v T) []T {
	if len(list) < Max {
		return append(list, v)
	}
	const half = Max / 2
	copy(list[half:], list[half+1:])
	list[len(list)-1] = v
	return list
}
