package term

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// pseudoTerminal opens a terminal of 72 columns.
func pseudoTerminal(t *testing.T) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there are no pseudo terminals here: ", err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 72}); err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no pseudo terminals here: ", err)
	}
	t.Cleanup(func() { slave.Close() })
	return slave
}

func TestF2_TerminalsAreRecognisedAndTheirOwnersRespected(t *testing.T) {
	tty := pseudoTerminal(t)
	for _, test := range []struct {
		env            map[string]string
		colours, moves bool
	}{
		{nil, true, true},
		{map[string]string{"TERM": "xterm-256color"}, true, true},
		{map[string]string{"NO_COLOR": "1"}, false, true},
		{map[string]string{"CI": "true"}, false, true},
		{map[string]string{"TERM": "dumb"}, false, false},
	} {
		got := Detect(tty, func(name string) string { return test.env[name] })
		if got.Colours != test.colours || got.Moves != test.moves || got.Width() != 72 {
			t.Errorf("with %v: colours %v, moves %v, %d columns", test.env, got.Colours, got.Moves, got.Width())
		}
	}
}
