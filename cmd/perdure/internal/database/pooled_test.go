package database

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

// TestE81_CommandsGoThroughAPooler: with pooled=true in the URL a command sets nothing that a
// pooler in transaction mode refuses, and without it the refusal says what to add.
func TestE81_CommandsGoThroughAPooler(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := make(chan string, 8)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r, size := bufio.NewReader(c), make([]byte, 4)
			if _, err := io.ReadFull(r, size); err == nil {
				rest := make([]byte, binary.BigEndian.Uint32(size)-4)
				if _, err := io.ReadFull(r, rest); err == nil {
					asked <- string(rest)
				}
			}
			body := "SFATAL\x00VFATAL\x00C08P01\x00Munsupported startup parameter: jit\x00\x00"
			c.Write(append(binary.BigEndian.AppendUint32([]byte{'E'}, uint32(len(body)+4)), body...))
			c.Close()
		}
	}()
	for parameter, want := range map[string]struct {
		set  bool
		hint string
	}{"": {true, "?pooled=true"}, "&pooled=true": {false, "ignore_startup_parameters"}} {
		n, err := Parse(fmt.Sprintf("postgres://me@%s/x?sslmode=disable%s", l.Addr(), parameter))
		if err != nil {
			t.Fatal(err)
		}
		refusal, ok := n.Find(t.Context(), "").(*Error)
		if !ok || !strings.Contains(refusal.Hint, want.hint) {
			t.Errorf("%q: %v", parameter, refusal)
		}
		if said := <-asked; strings.Contains(said, "jit") != want.set {
			t.Errorf("%q: it asked for %q", parameter, said)
		}
	}
}
