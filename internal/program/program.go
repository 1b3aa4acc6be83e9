package program

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"
)

// Build returns the version and the revision from which the program was built, else a hash of it.
var Build = sync.OnceValue(func() string {
	info, _ := debug.ReadBuildInfo()
	return buildOf(info, executableHash)
})

// buildOf returns the version of the main module and the revision it was built from. If there
// is no revision, or files were modified, a hash of the executable is appended.
func buildOf(info *debug.BuildInfo, hash func() string) string {
	var version, revision string
	var parts []string
	clean := false
	if info != nil {
		version = info.Main.Version
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				revision = s.Value[:min(12, len(s.Value))]
			case "vcs.modified":
				clean = s.Value == "false"
			}
		}
	}
	if version != "" && version != "(devel)" {
		parts = append(parts, version)
	}
	if revision != "" && !strings.Contains(version, revision) { // a pseudo-version contains it
		parts = append(parts, revision)
	}
	if revision == "" || !clean {
		parts = append(parts, hash())
	}
	return strings.Join(parts, "-")
}

// unhashed stands for the hash of an executable that cannot be read.
const unhashed = "unknown"

// Unknown reports whether a build from Build does not distinguish programs.
func Unknown(build string) bool {
	return build == unhashed || strings.HasSuffix(build, "-"+unhashed)
}

// executableHash returns a hash of the running executable, unhashed if it cannot be read.
func executableHash() string {
	path, err := os.Executable()
	if err != nil {
		return unhashed
	}
	f, err := os.Open(path)
	if err != nil {
		return unhashed
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return unhashed
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
