package place

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"
)

// File systems that are memory: syncing them costs nothing, and a benchmark of
// durability on them would lie.
var inMemory = []int64{0x01021994 /* tmpfs */, 0x858458f6 /* ramfs */}

func onDisk(dir string) error {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if slices.Contains(inMemory, int64(fs.Type)) {
		return fmt.Errorf("%s is in memory (tmpfs): name a directory on a disk with -dir", dir)
	}
	return nil
}

// SyncTimes measures how long the disk takes to make 4 KiB at the end of a file
// durable, n times.
func (p *Places) SyncTimes(n int) ([]time.Duration, error) {
	f, err := os.CreateTemp(p.dir, "sync-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	block := make([]byte, 4096)
	times := make([]time.Duration, n)
	for i := range times {
		begin := time.Now()
		if _, err := f.Write(block); err != nil {
			return nil, err
		}
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			return nil, err
		}
		times[i] = time.Since(begin)
	}
	return times, nil
}
