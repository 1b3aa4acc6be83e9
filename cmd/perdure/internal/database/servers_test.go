package database

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"
)

// listening is a server that speaks as PostgreSQL does until it is clear whether it is spoken to
// encrypted, and then tells what it hears.
func listening(t *testing.T, encrypts bool) (port int, heard <-chan string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, made, made, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	said := make(chan string, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			first := make([]byte, 8)
			_, _ = io.ReadFull(c, first)
			how := "plain: "
			if string(first) == "\x00\x00\x00\x08\x04\xd2\x16\x2f" {
				if !encrypts {
					_, _ = c.Write([]byte("N"))
					c.Close()
					continue
				}
				_, _ = c.Write([]byte("S"))
				c, how, first = tls.Server(c, config), "encrypted: ", nil
			}
			rest, _ := io.ReadAll(c)
			said <- how + string(first) + string(rest)
		}
	}()
	return l.Addr().(*net.TCPAddr).Port, said
}

// TestP5_ANetworkInBetweenSpeaksAsTheURLSays: what stands between a process and the server is
// spoken to in clear on this machine, and speaks to the server encrypted, or not, as the URL
// says. The name by way of it has the user, the password and what else the URL says.
func TestP5_ANetworkInBetweenSpeaksAsTheURLSays(t *testing.T) {
	for _, c := range []struct {
		mode     string
		encrypts bool
		hears    string // nothing: there is no connection
	}{
		{"require", true, "encrypted: hello, server"},
		{"require", false, ""},
		{"prefer", true, "encrypted: hello, server"},
		{"prefer", false, "plain: hello, server"},
		{"disable", true, "plain: hello, server"},
		{"verify-full", true, ""}, // nobody knows its certificate
	} {
		port, heard := listening(t, c.encrypts)
		name, err := Parse(fmt.Sprintf("postgres://me%%40here:pass%%2Fword@127.0.0.1:%d/shop?sslmode=%s&target_session_attrs=read-write&pooled=true", port, c.mode))
		if err != nil {
			t.Fatal(err)
		}
		servers, via, err := name.Servers()
		if err != nil || len(servers) != 1 {
			t.Fatalf("the servers are %v, %v", servers, err)
		}
		conn, err := servers[0].Dial()
		if (err == nil) != (c.hears != "") {
			t.Errorf("%s: %v", c.mode, err)
		}
		if err == nil {
			_, _ = conn.Write([]byte("hello, server"))
			conn.Close()
			if got := <-heard; got != c.hears {
				t.Errorf("%s: the server hears %q, want %q", c.mode, got, c.hears)
			}
		}
		got := via([]*net.TCPAddr{{IP: net.IPv4(127, 0, 0, 1), Port: 1}}).Secret()
		if want := "postgres://me%40here:pass%2Fword@127.0.0.1:1/shop?target_session_attrs=read-write&sslmode=disable&pooled=true"; got != want {
			t.Errorf("by way of a network the name is %s, want %s", got, want)
		}
	}
	name, err := Parse("postgres://me@a,b:5433,[::1]/shop")
	if err != nil {
		t.Fatal(err)
	}
	servers, via, err := name.Servers()
	if err != nil || len(servers) != 3 {
		t.Fatalf("of three hosts: %v, %v", servers, err)
	}
	at := net.IPv4(127, 0, 0, 1)
	if got := via([]*net.TCPAddr{{IP: at, Port: 1}, {IP: at, Port: 2}, {IP: at, Port: 3}}).Secret(); !strings.Contains(got, "@127.0.0.1:1,127.0.0.1:2,127.0.0.1:3/shop") {
		t.Errorf("by way of three networks the name is %s", got)
	}
}
