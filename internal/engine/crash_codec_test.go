package engine_test

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/store"
)

// coded is a database in memory whose documents pass through codecs.
type coded struct {
	store.Opener
	bare store.Opener
}

func (c coded) Close() error {
	if closer, is := c.bare.(io.Closer); is {
		return closer.Close()
	}
	return nil
}

// underCodecs prepares databases whose documents are compressed and encrypted, large and
// small ones.
func underCodecs(t *testing.T, partitions int) maker {
	aes, err := codec.AES("2026-11", map[string][]byte{"2026-11": bytes.Repeat([]byte("k"), 32)})
	if err != nil {
		t.Fatal(err)
	}
	bare := memories(t, partitions)
	return func(clock func() int64) store.Opener {
		db := bare(clock)
		return coded{codec.Over(db, codec.Compress(200), aes), db}
	}
}

// TestE113_E41_EveryWriteUnderCodecs: what is encoded is never compared. Each shape (by
// day those that between them write in every way), let run once for each write that it makes and
// each way in which its process can die at that (by day
// one of the two, by turns), ends as it does without codecs: what the code asks for is that which is on record, and nothing
// that is durable runs again.
func TestE113_E41_EveryWriteUnderCodecs(t *testing.T) {
	extent.NotInShort(t, "crash points behind codecs")
	in := setting{name: "codecs-evicted", backend: backend{prepare: underCodecs, shared: true}}
	for i, s := range shapes {
		if !slices.Contains(onDisk, s.name) && !extent.Nightly() {
			continue // the others write in no other way
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			want := calm(t, s)
			crashes := blows[:2]
			if !extent.Nightly() {
				crashes = crashes[i%2:][:1]
			}
			for _, blow := range crashes {
				t.Run(blow.name, func(t *testing.T) {
					stage := newStage(t, in, s)
					perduretest.EveryWrite(t, blow.fault, func(t *testing.T, env *perduretest.Env) {
						got := stage.play(t, env, s)
						judge(t, got, want, stage.book, blow.slack)
						stage.alarms.judge(t, env, blow.fault)
					}, stage.options...)
				})
			}
		})
	}
}
