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
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return Memory{}, err
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(raw), &size, &resident); err != nil {
		return Memory{}, fmt.Errorf("/proc/self/statm is %q: %w", raw, err)
	}
	return Memory{Resident: resident * int64(os.Getpagesize()), Go: int64(m.HeapAlloc + m.StackInuse)}, nil
}
