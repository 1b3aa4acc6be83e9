package place

import (
	"context"

	"github.com/perdure/perdure/store/memory"
)

// InMemory is a perdure database without any durability: what remains of the
// cost of the engine without a disk.
type InMemory struct{ *memory.Database }

func newMemory() *InMemory { return &InMemory{memory.New()} }

// Location is empty: no other process can reach it.
func (*InMemory) Location() string { return "" }

// Cost is nothing that this process does not pay itself.
func (*InMemory) Cost(context.Context) (Cost, error) { return Cost{}, nil }

// Commits are not known here.
func (*InMemory) Commits(context.Context) (int64, bool, error) { return 0, false, nil }

// Size is zero: nothing is in files.
func (*InMemory) Size(context.Context) (int64, error) { return 0, nil }

// Tables are not known here.
func (*InMemory) Tables(context.Context) ([]Table, error) { return nil, nil }

// Drop does nothing.
func (*InMemory) Drop(context.Context) error { return nil }
