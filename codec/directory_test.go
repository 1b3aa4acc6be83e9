package codec_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/codec"
)

// TestE65_FilesOfOthersAreLeftAlone: what is no blob is neither listed nor removed, and a
// blob whose name a sweep has taken away for a moment is still there.
func TestE65_FilesOfOthersAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	where, err := codec.Directory(dir)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("ab", 16)
	if err := where.Put(t.Context(), name, []byte("blob")); err != nil {
		t.Fatal(err)
	}
	others := []string{
		"README", ".nfs0001", "partly-mine", filepath.Join("ab", "notes.txt"), filepath.Join("ab", "swept-notes"),
		filepath.Join("lost+found", "abcdef"), filepath.Join("other", "partly-x"), filepath.Join("cd", name),
	}
	for _, other := range others {
		path := filepath.Join(dir, other)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	var listed []string
	later := time.Now().Add(time.Hour)
	err = where.Names(t.Context(), later, func(name string) error {
		listed = append(listed, name)
		return where.Delete(t.Context(), "ff"+name, later)
	})
	if err != nil || !slices.Equal(listed, []string{name}) {
		t.Errorf("listed are %q, %v", listed, err)
	}
	for _, other := range others {
		if _, err := os.Stat(filepath.Join(dir, other)); err != nil {
			t.Error(err)
		}
	}
	path := filepath.Join(dir, "ab", name)
	if err := os.Rename(path, filepath.Join(dir, "ab", "swept-"+name)); err != nil {
		t.Fatal(err)
	}
	if data, err := where.Get(t.Context(), name); err != nil || string(data) != "blob" {
		t.Errorf("in the moment between its names: %q, %v", data, err)
	}
	if _, err := where.Get(t.Context(), "abab"); !errors.Is(err, codec.ErrNoBlob) {
		t.Error(err)
	}
}
