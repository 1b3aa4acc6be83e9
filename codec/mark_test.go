package codec_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/store/postgres"
	"github.com/perdure/perdure/store/sqlite"
)

// TestE136_AnEngineWithoutTheCodecsIsRefused: it does not serve a database that others encode,
// and says what to do. One that only looks, or only starts and signals, is let in. Codecs
// that only read are an answer, and so are those that were there and one more.
func TestE136_AnEngineWithoutTheCodecsIsRefused(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) store.Opener{
		"memory":   func(*testing.T) store.Opener { return memory.New() },
		"sqlite":   func(t *testing.T) store.Opener { return sqlite.File(t.TempDir() + "/shop.db") },
		"postgres": func(t *testing.T) store.Opener { return postgres.URL(pgtest.Database(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t)
			serve := func(codecs ...codec.Codec) error {
				t.Helper()
				opener := db
				if codecs != nil {
					opener = codec.Over(db, codecs...)
				}
				eng, err := perdure.Open(t.Context(), opener, perdure.Register(patient))
				if err != nil {
					t.Fatal(err)
				}
				return errors.Join(eng.Start(t.Context()), eng.Close())
			}
			serves := func(codecs ...codec.Codec) {
				t.Helper()
				if err := serve(codecs...); err != nil {
					t.Errorf("it does not serve: %v", err)
				}
			}
			refused := func(missing []string, codecs ...codec.Codec) {
				t.Helper()
				err := serve(codecs...)
				refusal, is := errors.AsType[*store.CodecError](err)
				if !is || !slices.Equal(refusal.Missing, missing) || !strings.Contains(err.Error(), refusal.Location) || !strings.Contains(err.Error(), "codec.Over") {
					t.Errorf("it got %v; want %q to be missing", err, missing)
				}
			}
			aes, zip := keys(t, "2026-11"), codec.Compress(1)
			serves()
			serves(codec.Reading(aes)) // which encodes nothing and marks nothing
			serves()
			opened, err := perdure.Open(t.Context(), codec.Over(db, aes)) // nor does one that only looks
			if err != nil {
				t.Fatal(err)
			}
			if err := opened.Close(); err != nil {
				t.Fatal(err)
			}
			serves()
			serves(aes)
			refused([]string{aes.Name()})
			refused([]string{aes.Name()}, zip)
			serves(zip, aes)
			refused([]string{zip.Name()}, aes)
			serves(codec.Reading(zip), codec.Reading(aes))
			refused([]string{aes.Name(), zip.Name()})

			looks, err := perdure.Open(t.Context(), db)
			if err != nil {
				t.Fatal(err)
			}
			defer looks.Close()
			if _, err := perdure.Start(context.WithoutCancel(t.Context()), looks, patient, "in-clear", "in "); err != nil {
				t.Error(err)
			}
			if d, err := looks.Workflow("in-clear").Describe(t.Context()); err != nil || d.WorkflowID != "in-clear" {
				t.Errorf("who looks finds %v, %v", d, err)
			}
		})
	}
}
