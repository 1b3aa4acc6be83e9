package codec_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/sqlitetest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/store/storetest"
)

// key is the key of a name for tests.
func key(name string) []byte { return bytes.Repeat([]byte(name[len(name)-1:]), 32) }

func keys(t testing.TB, write string, others ...string) codec.Codec {
	t.Helper()
	all := map[string][]byte{write: key(write)}
	for _, name := range others {
		all[name] = key(name)
	}
	c, err := codec.AES(write, all)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func blobs(t testing.TB) codec.Blobs {
	t.Helper()
	b, err := codec.Directory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// over is every codec of the package, used for every document.
func over(t testing.TB, blobs codec.Blobs) []codec.Codec {
	return []codec.Codec{codec.Compress(1), keys(t, "2026-11"), codec.Offload(1, blobs)}
}

// heap keeps blobs in memory, by name: what the contract of stores asks of codecs does not wait for a
// disk then.
type heap struct{ sync.Map }

func (h *heap) Put(_ context.Context, name string, data []byte) error {
	h.Store(name, bytes.Clone(data))
	return nil
}

func (h *heap) Get(_ context.Context, name string) ([]byte, error) {
	data, there := h.Load(name)
	if !there {
		return nil, codec.ErrNoBlob
	}
	return bytes.Clone(data.([]byte)), nil
}

func (*heap) Names(context.Context, time.Time, func(string) error) error {
	return errors.ErrUnsupported
}
func (*heap) Delete(context.Context, string, time.Time) error { return errors.ErrUnsupported }

// TestE65_AStoreOverCodecsIsAStore: it keeps the contract of stores, so the engine cannot
// tell it from one.
func TestE65_AStoreOverCodecsIsAStore(t *testing.T) {
	extent.NotInShort(t, "the whole contract of stores")
	t.Run("memory", func(t *testing.T) {
		shared := extent.AtNight(func() codec.Blobs { return &heap{} }, func() codec.Blobs { return blobs(t) })() // copies name the same blobs
		storetest.Run(t, func(t *testing.T) store.Opener {
			return codec.Over(memory.New(), over(t, shared)...)
		})
	})
	t.Run("sqlite", func(t *testing.T) {
		extent.OnlyAtNight(t, "what codecs do is the same above a disk as above memory")
		storetest.Run(t, func(t *testing.T) store.Opener {
			path := filepath.Join(t.TempDir(), "test.db")
			sqlitetest.File(t, path)
			return codec.Over(sqlite.File(path), keys(t, "2026-11"))
		})
	})
}
