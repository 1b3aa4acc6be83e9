package workload

import (
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// book counts in memory that is a file, so that the counts survive kill -9 of
// the process that counts.
type book struct {
	begun, done *atomic.Int64
	memory      []byte
}

const bookSize = 16

func openBook(path string) (*book, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the mapping stays
	if err := f.Truncate(bookSize); err != nil {
		return nil, err
	}
	m, err := syscall.Mmap(int(f.Fd()), 0, bookSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &book{
		begun:  (*atomic.Int64)(unsafe.Pointer(&m[0])), // a mapping begins at a page, so it is aligned
		done:   (*atomic.Int64)(unsafe.Pointer(&m[8])),
		memory: m,
	}, nil
}

func (b *book) close() error { return syscall.Munmap(b.memory) }
