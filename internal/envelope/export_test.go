package envelope

// Known reports whether a field has a place in the table, or is left out on purpose.
func Known(name string) bool {
	_, is := classes[name]
	return is || leftOut[name]
}

// Opened reports whether the fields of a field are looked at, each by itself. Others are kept
// or left out with all that is in them.
func Opened(name string) bool { return classes[name] == opened }
