package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/workflow"
)

// TestE114_TheCommandReadsWithTheCodecsOfAFile: without them it shows placeholders and ends
// well, with them values; a file that is wrong is an error that says what to do.
func TestE114_TheCommandReadsWithTheCodecsOfAFile(t *testing.T) {
	dir := t.TempDir()
	db, file := filepath.Join(dir, "shop.db"), filepath.Join(dir, "codec.json")
	if err := os.WriteFile(file, []byte(`{"write": "2026-11", "keys": {"2026-11": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	codecs, err := codec.File(file)
	if err != nil {
		t.Fatal(err)
	}
	eng, err := perdure.Open(t.Context(), codec.Over(sqlite.File(db), codecs...))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := perdure.Start(t.Context(), eng, workflow.Declare[string, string]("checkout"), "order-17", "4111 1111"); err != nil {
		t.Fatal(err)
	}
	if err := eng.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		words []string
		want  string
		fails bool
	}{
		{[]string{"show", "order-17"}, "(encrypted, key 2026-11, 11 bytes)", false},
		{[]string{"history", "order-17"}, "(encrypted, key 2026-11, 11 bytes)", false},
		{[]string{"show", "order-17", "-o", "json"}, `"locked":"encrypted, key 2026-11, 11 bytes"`, false},
		{[]string{"list"}, "order-17", false},
		{[]string{"show", "order-17", "--codec", file}, "4111 1111", false},
		{[]string{"show", "order-17", "--codec", file + "x"}, "docs/codec.md", true},
	} {
		out, complaint, code := command(t, db, c.words...)
		if text := strings.ReplaceAll(out+complaint, `": "`, `":"`); !strings.Contains(text, c.want) || (code != 0) != c.fails {
			t.Errorf("%q: %d\n%s", c.words, code, text)
		}
	}
}
