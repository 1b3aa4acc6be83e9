package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", "..", "the `directory` of the repository")
	out := flag.String("out", "../site", "the `directory` to write to")
	flag.Parse()
	if err := generate(*root, *out); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// generate renders all documents below root into out.
func generate(root, out string) error {
	pages, err := read(root)
	if err != nil {
		return err
	}
	var faults []error
	for _, p := range pages {
		html, err := render(root, p, pages)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		path := filepath.Join(out, filepath.FromSlash(p.target))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, html, 0o666); err != nil {
			return err
		}
	}
	return errors.Join(append(faults, copyPictures(root, out))...)
}

// copyPictures puts the pictures that pages show where the pages look for them.
func copyPictures(root, out string) error {
	pictures, err := filepath.Glob(filepath.Join(root, "docs", "pictures", "*.[ps][nv]g"))
	if err != nil || len(pictures) == 0 {
		return err
	}
	dir := filepath.Join(out, "docs", "pictures")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, picture := range pictures {
		data, err := os.ReadFile(picture)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(picture)), data, 0o666); err != nil {
			return err
		}
	}
	return nil
}
