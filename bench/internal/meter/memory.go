package meter

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
)

// Memory is what the process holds.
type Memory struct {
	Resident int64 // bytes of RAM, caches of databases in this process included
	Go       int64 // bytes of live objects and of stacks
}

// Settled collects garbage, gives free memory back and reads what remains.
func Settled() (Memory, error) {
	runtime.GC()
	debug.FreeOSMemory() // collects once more: what finalizers let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	held, err := resident()
	return Memory{Resident: held, Go: int64(m.HeapAlloc + m.StackInuse)}, err
}

// resident reads how much RAM the process holds, in bytes.
func resident() (int64, error) {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(raw), &size, &pages); err != nil {
		return 0, fmt.Errorf("/proc/self/statm is %q: %w", raw, err)
	}
	return pages * int64(os.Getpagesize()), nil
}
