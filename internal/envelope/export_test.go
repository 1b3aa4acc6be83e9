package envelope

// Known reports whether a field has a place in the table, or is left out on purpose.
func Known(name string) bool {
	_, is := classes[name]
	return is || leftOut[name]
}

// Opened reports whether the fields of a field are looked at, each by itself. Others are kept
// or left out with all that is in them.
func Opened(name string) bool { return classes[name] == opened }

// leftOut lists the fields that hold a user's content, or nothing useful without the rest.
var leftOut = map[string]bool{
	"data": true, "inputs": true, "headers": true, "first": true, "seen": true, "seen_at": true, "asked_at": true, "mismatch": true,
	"crc": true, "json": true, "encoding": true, "bytes": true, "locked": true,
}
