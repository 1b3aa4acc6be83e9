package postgres

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// BinEnv names the environment variable that says where the programs of
// PostgreSQL are, if they are in an unusual place.
const BinEnv = "PERDURE_POSTGRES_BIN"

// binaries finds the directory of initdb and postgres: the one that BinEnv
// names, else that of the PATH, else the newest of Debian's.
func binaries() (string, error) {
	has := func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "initdb"))
		return err == nil
	}
	if dir := os.Getenv(BinEnv); dir != "" {
		if !has(dir) {
			return "", errors.New(BinEnv + " is " + dir + ", which has no initdb")
		}
		return dir, nil
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	found = slices.DeleteFunc(found, func(dir string) bool { return !has(dir) })
	if len(found) == 0 {
		return "", errors.New("PostgreSQL's programs were not found: install the server (Debian: postgresql), or name their directory in " + BinEnv)
	}
	return slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) }), nil
}

// version is the number in .../postgresql/15/bin.
func version(bin string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	return n
}
