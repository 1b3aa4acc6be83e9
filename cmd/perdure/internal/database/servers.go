package database

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Server is a PostgreSQL server that a name leads to.
type Server struct {
	host string
	port uint16
	ways []*tls.Config // to try one after the other; nil without encryption
	now  bool          // encryption begins without a request
}

// Servers returns the servers that the database may be on, in the order in which they are tried,
// and how its name is by other ways to each of them: by addresses on this machine that lead
// there without encryption. The names have the password.
func (n Name) Servers() (all []*Server, via func(addresses []*net.TCPAddr) Name, err error) {
	config, err := pgx.ParseConfig(n.url.DSN(true))
	if err != nil {
		return nil, nil, err
	}
	ways := append([]*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}}, config.Fallbacks...)
	for _, w := range ways {
		i := slices.IndexFunc(all, func(s *Server) bool { return s.host == w.Host && s.port == w.Port })
		if i < 0 {
			i = len(all)
			all = append(all, &Server{host: w.Host, port: w.Port, now: config.SSLNegotiation == "direct"})
		}
		all[i].ways = append(all[i].ways, w.TLSConfig)
	}
	via = func(addresses []*net.TCPAddr) Name {
		var hosts []string
		for _, a := range addresses {
			hosts = append(hosts, a.String())
		}
		return Name{url: n.url.Via(config.User, config.Password, cmp.Or(config.Database, config.User), hosts)}
	}
	return all, via, nil
}

// dialing is how long it may take to reach a server.
const dialing = 5 * time.Second

// Dial makes a connection on which a client without encryption can speak with the server.
func (s *Server) Dial() (net.Conn, error) {
	var last error
	for _, way := range s.ways {
		c, err := s.dial(way)
		if err == nil {
			return c, nil
		}
		last = err
	}
	return nil, last
}

func (s *Server) dial(way *tls.Config) (net.Conn, error) {
	network, address := pgconn.NetworkAddress(s.host, s.port)
	c, err := net.DialTimeout(network, address, dialing)
	if err != nil || way == nil || network == "unix" {
		return c, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialing)
	defer cancel()
	encrypted := tls.Client(c, way)
	if !s.now {
		err = requestTLS(c)
	}
	if err == nil {
		err = encrypted.HandshakeContext(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return encrypted, nil
}

// requestTLS asks a server to speak encrypted from here on.
func requestTLS(c net.Conn) error {
	if err := c.SetDeadline(time.Now().Add(dialing)); err != nil {
		return err
	}
	defer c.SetDeadline(time.Time{})
	if _, err := c.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47}); err != nil { // SSLRequest, see the manual's "Message Formats"
		return err
	}
	answer := make([]byte, 1)
	if _, err := io.ReadFull(c, answer); err != nil {
		return err
	}
	if answer[0] != 'S' {
		return errors.New("the server speaks without encryption only")
	}
	return nil
}
