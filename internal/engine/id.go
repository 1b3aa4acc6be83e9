package engine

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"hash/fnv"
)

// newRunID makes a UUID of version 7: run IDs sort by creation time.
func newRunID(now int64) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	ms := uint64(now / 1e6)
	hi := ms<<16 | 7<<12 | uint64(b[6]&0x0f)<<8 | uint64(b[7])
	lo := binary.BigEndian.Uint64(b[8:])&^(3<<62) | 2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&0xffffffffffff)
}

// newToken makes a random word.
func newToken() string {
	var b [12]byte
	_, _ = rand.Read(b[:])
	return fmt.Sprintf("%x", b)
}

// newCommitID makes a random positive number.
func newCommitID() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return int64(binary.BigEndian.Uint64(b[:])>>1) | 1
}

// slot places a workflow ID among n partitions. It must never change: it says
// where the runs of an existing database are.
func slot(workflowID string, n int) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(workflowID))
	return int(h.Sum64() % uint64(n))
}
