package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// oldest is the oldest major version that perdure supports.
const oldest = 14

const howToInstall = `this test needs the PostgreSQL server's programs (initdb and postgres, version %d or later). Install them:
    Debian, Ubuntu    apt-get install postgresql
    Fedora            dnf install postgresql-server
    macOS             brew install postgresql@17
They are looked for in /usr/lib/postgresql/*/bin and in $PATH, or in the directory that $PERDURE_POSTGRES names; no server needs to run`

// binaries finds the directory of the server's programs: that which a variable
// chose, to test with another version, or that of the newest version there is.
func binaries() (string, error) {
	if dir := os.Getenv("PERDURE_POSTGRES"); dir != "" {
		return dir, nil
	}
	found, version := "", 0
	candidates, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	for _, initdb := range candidates {
		dir := filepath.Dir(initdb)
		if v, err := strconv.Atoi(filepath.Base(filepath.Dir(dir))); err == nil && v > version && v >= oldest {
			found, version = dir, v
		}
	}
	if found != "" {
		return found, nil
	}
	if initdb, err := exec.LookPath("initdb"); err == nil {
		if initdb, err = filepath.EvalSymlinks(initdb); err == nil {
			return filepath.Dir(initdb), nil
		}
	}
	return "", fmt.Errorf(howToInstall, oldest)
}
