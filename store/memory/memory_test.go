package memory_test

import (
	"testing"

	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/store/storetest"
)

func TestContract(t *testing.T) {
	for name, partitions := range map[string]int{"OnePartition": 1, "SeveralPartitions": 3} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(*testing.T) store.Opener { return memory.New(memory.Partitions(partitions)) })
		})
	}
}

func TestClockNeverGoesBack(t *testing.T) {
	storetest.Clock(t, func(_ *testing.T, clock func() int64) store.Opener { return memory.New(memory.Clock(clock)) })
}
