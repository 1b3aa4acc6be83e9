//go:build unix && !aix

package term

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// understands reports whether the terminal obeys escape sequences.
func understands(*os.File) bool { return true }

func width(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

// IsBrokenPipe reports whether a write failed because the reader is gone.
func IsBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
