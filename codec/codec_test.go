package codec_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
	"pgregory.net/rapid"
)

// TestE65_EachCodecGivesBackWhatItGot, in its place only if it encrypts.
func TestE65_EachCodecGivesBackWhatItGot(t *testing.T) {
	aes := keys(t, "2026-11")
	codecs := []codec.Codec{codec.Compress(1), aes}
	rapid.Check(t, func(t *rapid.T) {
		ctx, at := context.Background(), codec.Place{Kind: codec.KindTurn, Run: rapid.String().Draw(t, "run"), Item: rapid.String().Draw(t, "item")}
		data := []byte(strings.Repeat(rapid.String().Draw(t, "text"), rapid.IntRange(0, 50).Draw(t, "times")))
		for _, c := range codecs {
			e, err := c.Encode(ctx, at, data)
			if err != nil {
				t.Fatal(err)
			}
			if e.Data == nil {
				continue
			}
			if got, err := c.Decode(ctx, at, e); err != nil || !bytes.Equal(got, data) {
				t.Fatalf("%s: %q became %q, %v", c.Name(), data, got, err)
			}
			elsewhere := at
			elsewhere.Item += "x"
			if got, err := c.Decode(ctx, elsewhere, e); c == aes && err == nil {
				t.Fatalf("it decrypts elsewhere, as %q", got)
			}
		}
	})
}

func FuzzE65_DamagedDocuments(f *testing.F) {
	aes, compress := keys(f, "k"), codec.Compress(1)
	at := codec.Place{Kind: codec.KindState, Run: "r"}
	for _, c := range []codec.Codec{aes, compress} {
		e, err := c.Encode(f.Context(), at, bytes.Repeat([]byte("text "), 20))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(e.Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := aes.Decode(t.Context(), at, codec.Encoded{Data: data, Label: "k"}); err != nil && !strings.Contains(err.Error(), "restore") {
			t.Errorf("the error does not say what to do: %v", err)
		}
		if _, err := compress.Decode(t.Context(), at, codec.Encoded{Data: data}); err != nil && !strings.Contains(err.Error(), "restore") {
			t.Errorf("the error does not say what to do: %v", err)
		}
	})
}

// moody panics where it is told to.
type moody struct{ decoding bool }

func (moody) Name() string { return "moody" }
func (m moody) Encode(_ context.Context, _ codec.Place, data []byte) (codec.Encoded, error) {
	if !m.decoding {
		panic("no mood")
	}
	return codec.Encoded{Data: data, Shown: "moody"}, nil
}
func (m moody) Decode(context.Context, codec.Place, codec.Encoded) ([]byte, error) { panic("no mood") }

// TestE115_ACodecThatPanicsIsNamed: to whoever starts a run, and in the reason of one that is
// parked.
func TestE115_ACodecThatPanicsIsNamed(t *testing.T) {
	s := newShop(t)
	s.with(func(ctx context.Context, eng *perdure.Engine) {
		_, err := perdure.Start(ctx, eng, patient, "a", "in ")
		if err == nil || !strings.Contains(err.Error(), `"moody"`) || !strings.Contains(err.Error(), "no mood") {
			t.Error(err)
		}
	}, moody{})
	s.with(func(ctx context.Context, eng *perdure.Engine) {
		_, err := perdure.Start(ctx, eng, patient, "b", "in ")
		s.must(err)
		d, err := eng.Workflow("b").Describe(ctx)
		if s.must(err); d.Damage == nil || !strings.Contains(d.Damage.Problem, `"moody"`) || !strings.Contains(d.Damage.Problem, "no mood") {
			t.Errorf("%+v", d.Damage)
		}
	}, moody{decoding: true})
}

// TestE65_WhatNobodyNeedsIsSwept: a blob of a deleted run goes, those of others and what was
// put lately stay.
func TestE65_WhatNobodyNeedsIsSwept(t *testing.T) {
	s := newShop(t)
	dir := t.TempDir()
	where, err := codec.Directory(dir)
	s.must(err)
	codecs := []codec.Codec{keys(t, "2026-11"), codec.Offload(1, where)}
	s.start(codecs...)("gone", "stays")
	sweep := func(want bool) codec.Swept {
		t.Helper()
		out, err := codec.Sweep(t.Context(), sqlite.File(s.path), where, 24*time.Hour)
		if s.must(err); (out.Removed > 0) != want {
			t.Errorf("%+v", out)
		}
		return out
	}
	s.with(func(ctx context.Context, eng *perdure.Engine) {
		s.finish(ctx, eng, "gone", "in on")
	}, codecs...)
	sweep(false) // all of them are new
	age(t, dir)
	s.with(func(ctx context.Context, eng *perdure.Engine) {
		_, err := ops.Sweep(ctx, eng, view.Retention{Completed: time.Nanosecond})
		s.must(err)
	}, codecs...)
	if out := sweep(true); out.Kept == 0 {
		t.Errorf("%+v", out)
	}
	s.with(func(ctx context.Context, eng *perdure.Engine) { s.finish(ctx, eng, "stays", "in on") }, codecs...)
	if _, err := codec.Sweep(t.Context(), sqlite.File(s.path), where, time.Minute); err == nil {
		t.Error("blobs of turns on their way would go")
	}
}

// TestE65_WhatATaskNeedsStays: the blob of an attempt that waits in a queue is one of its own,
// and is there when a worker claims it long after.
func TestE65_WhatATaskNeedsStays(t *testing.T) {
	s, dir := newShop(t), t.TempDir()
	where, err := codec.Directory(dir)
	s.must(err)
	shout := activity.New("shout", func(_ context.Context, in string) (string, error) { return in + "!", nil }, activity.Queue("gpu"))
	rendered := workflow.New("rendered", func(wf *workflow.Context, in string) (string, error) { return workflow.Call(wf, shout, in) })
	open := func(f func(ctx context.Context, eng *perdure.Engine), options ...perdure.Option) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // as something that hangs
		defer cancel()
		options = append(options, perdure.Register(rendered, shout), perdure.Logger(slog.New(slog.DiscardHandler)))
		eng, err := perdure.Open(ctx, codec.Over(sqlite.File(s.path), codec.Offload(1, where)), options...)
		s.must(err)
		s.must(eng.Start(ctx))
		f(ctx, eng)
		s.must(eng.Close())
	}
	open(func(ctx context.Context, eng *perdure.Engine) {
		_, err := perdure.Start(ctx, eng, rendered, "r", "hello")
		s.must(err)
		s.await(ctx, eng, "r", view.StatusRunning)
	})
	age(t, dir)
	_, err = codec.Sweep(t.Context(), sqlite.File(s.path), where, 24*time.Hour)
	s.must(err)
	open(func(ctx context.Context, eng *perdure.Engine) {
		out, err := perdure.Run(ctx, eng, rendered, "r", "hello") // which runs already
		if s.must(err); out != "hello!" {
			t.Error(out)
		}
	}, perdure.ServeQueue("gpu", 1))
}

// age lets the blobs of a directory be two days old.
func age(t *testing.T, dir string) {
	t.Helper()
	old := time.Now().Add(-48 * time.Hour)
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		return os.Chtimes(path, old, old)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestE65_Files(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		`{"compress": 100, "write": "a", "keys": {"a": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="}, "blobs": {"directory": "` + dir + `/b", "at_least": 10}}`: "",
		`{"keys": {"a": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="}}`:                                                                                         "",
		`{}`:                              "",
		`{"write": "b"}`:                  `"b"`,
		`{"keys": {"a": "YQ=="}}`:         "1 bytes",
		`{"key": {}}`:                     "unknown field",
		`{"keys": {"a": "not base64 !"}}`: "base64",
	} {
		path := filepath.Join(dir, "codec.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := codec.File(path)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := codec.File(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestE65_WhatCannotBeHonoredIsRefused(t *testing.T) {
	for name, db := range map[string]store.Opener{
		"no store":  codec.Over(nil),
		"is nil":    codec.Over(memory.New(), nil),
		"two":       codec.Over(memory.New(), keys(t, "a"), keys(t, "b")),
		"the limit": codec.Over(memory.New(), make([]codec.Codec, 17)...),
	} {
		if _, err := db.Open(t.Context()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := codec.AES("", nil); err == nil {
		t.Error("no key")
	}
	if _, err := codec.Directory(""); err == nil {
		t.Error("no directory")
	}
}

// BenchmarkRun compares a run without codecs and with them.
func BenchmarkRun(b *testing.B) {
	for name, db := range map[string]store.Opener{
		"plain": memory.New(), "aes": codec.Over(memory.New(), keys(b, "k")), "deflate+aes": codec.Over(memory.New(), codec.Compress(200), keys(b, "k")),
	} {
		b.Run(name, func(b *testing.B) {
			ctx := b.Context()
			child := newVault().child
			eng, err := perdure.Open(ctx, db, perdure.Register(child), perdure.Logger(slog.New(slog.DiscardHandler)))
			if err != nil {
				b.Fatal(err)
			}
			defer eng.Close()
			if err := eng.Start(ctx); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				if _, err := perdure.Run(ctx, eng, child, fmt.Sprint(n), "in"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What is written is encrypted; a program without the key sees that there is a value.
func ExampleOver() {
	ctx := context.Background()
	db := memory.New()
	aes, err := codec.AES("2026-11", map[string][]byte{"2026-11": []byte("thirty-two bytes that are secret")})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, over := range []store.Opener{codec.Over(db, codec.Compress(1024), aes), db} {
		eng, err := perdure.Open(ctx, over)
		if err != nil {
			fmt.Println(err)
			return
		}
		if _, err = perdure.Start(ctx, eng, patient, "order-1", "4111 1111", perdure.MustBeNew()); err != nil {
			fmt.Println(err != nil)
		}
		d, err := eng.Workflow("order-1").Describe(ctx)
		fmt.Println(d.Input, err)
		_ = eng.Close()
	}
	// Output:
	// "4111 1111" <nil>
	// true
	// (encrypted, key 2026-11, 11 bytes) <nil>
}
