package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// entry is a file of an archive.
type entry struct {
	name string
	mode int64
	text []byte
}

// pack writes an archive of a binary, the licence and the README, and returns its name:
// a zip for Windows, a tarball for others.
func pack(dir, out, version string, t target, binary []byte, when time.Time) (string, error) {
	base := fmt.Sprintf("perdure_%s_%s_%s", strings.TrimPrefix(version, "v"), t.os, t.arch)
	name, write, program := base+".tar.gz", writeTar, "perdure"
	if t.os == "windows" {
		name, write, program = base+".zip", writeZip, "perdure.exe"
	}
	entries := []entry{{base + "/" + program, 0o755, binary}}
	for _, doc := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		text, err := os.ReadFile(filepath.Join(dir, doc))
		if err != nil {
			return "", err
		}
		entries = append(entries, entry{base + "/" + doc, 0o644, text})
	}
	file, err := os.Create(filepath.Join(out, name))
	if err != nil {
		return "", err
	}
	return name, errors.Join(write(file, entries, when), file.Close())
}

func writeTar(w io.Writer, entries []entry, when time.Time) error {
	zipped := gzip.NewWriter(w)
	archive := tar.NewWriter(zipped)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.text)), ModTime: when, Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(e.text); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), zipped.Close())
}

func writeZip(w io.Writer, entries []entry, when time.Time) error {
	archive := zip.NewWriter(w)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: when}
		header.SetMode(os.FileMode(e.mode))
		part, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := part.Write(e.text); err != nil {
			return err
		}
	}
	return archive.Close()
}

// writeSums writes SHA256SUMS as sha256sum -c reads it.
func writeSums(out string, archives []string) error {
	var sums strings.Builder
	for _, name := range archives {
		text, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), name)
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()), 0o666)
}
