package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// target is a system that binaries are built for.
type target struct{ os, arch string }

var targets = []target{
	{"linux", "amd64"}, {"linux", "arm64"},
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"},
}

func main() {
	out := flag.String("out", "dist", "the `directory` to write to; it must not exist")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := release(ctx, ".", *out, targets); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release builds a checkout for some systems.
func release(ctx context.Context, dir, out string, targets []target) error {
	version, when, err := tagged(ctx, dir)
	if err != nil {
		return err
	}
	if err := os.Mkdir(out, 0o777); err != nil {
		return err
	}
	var archives []string
	for _, t := range targets {
		binary, err := build(ctx, dir, t)
		if err != nil {
			return err
		}
		archive, err := pack(dir, out, version, t, binary, when)
		if err != nil {
			return err
		}
		fmt.Println(archive)
		archives = append(archives, archive)
	}
	return writeSums(out, archives)
}

// tagged returns the tag of the commit that is checked out, and the commit's time.
func tagged(ctx context.Context, dir string) (version string, when time.Time, err error) {
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	if changed, err := git("status", "--porcelain"); err != nil || changed != "" {
		return "", when, fmt.Errorf("the checkout has changes, so its tag would not build this release again; commit or stash them:\n%s", changed)
	}
	tags, err := git("tag", "--points-at", "HEAD", "v*")
	if err != nil || tags == "" || strings.Contains(tags, "\n") {
		return "", when, fmt.Errorf("a release is of one tag, such as v0.1.0, and the commit has %q; tag it first: git tag v0.1.0", tags)
	}
	seconds, err := git("log", "-1", "--format=%ct")
	if err != nil {
		return "", when, err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	return tags, time.Unix(unix, 0).UTC(), err
}

// build compiles the command and returns its bytes.
func build(ctx context.Context, dir string, t target) ([]byte, error) {
	tmp, err := os.MkdirTemp("", "release")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	binary := filepath.Join(tmp, "perdure")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w -buildid=", "-o", binary, "./cmd/perdure")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+t.os, "GOARCH="+t.arch, "GOAMD64=v1")
	if log, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building for %s/%s: %w\n%s", t.os, t.arch, err, log)
	}
	return os.ReadFile(binary)
}
