package access

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/see"
)

// Identity is the caller of a request. The zero value has no rights.
type Identity struct {
	Name string // in the audit
	Role Role
}

// Token is a secret that identifies a caller.
type Token struct {
	Name   string // in the audit, different for each token; at most 200 bytes
	Role   Role
	Secret string // at least MinSecret bytes, random
}

// MinSecret is the minimum length of the secret of a token, in bytes.
const MinSecret = 20

// The defaults of Rules.
const (
	DefaultBodyTimeout = 15 * time.Second
	DefaultSession     = 12 * time.Hour
)

// Rules say who may use a handler and from where. The zero value refuses all requests,
// and Validate refuses it.
type Rules struct {
	Tokens []Token
	// Identify returns the caller of a request without a token, by means of the program
	// that the handler is part of, such as its own sessions. An Identity without a role
	// has no rights. While a stream lasts, Identify is called repeatedly with the request
	// that began it. It may be nil, and is called concurrently.
	Identify func(*http.Request) Identity
	// Anonymous is the caller of a request without a token. It applies only to requests
	// from this machine to a loopback name such as localhost that show no sign of a
	// proxy. A proxy may leave no sign: behind one, use Tokens. Without a role such
	// requests are refused.
	Anonymous Identity

	// Hosts are the host names of the server, without ports. A request for another host
	// is refused, because a page of another site could reach the server by DNS rebinding.
	// Empty means the loopback names, such as localhost. "*" allows any name, for servers
	// behind a proxy that checks it; it cannot be combined with Anonymous.
	Hosts []string
	// ReadOnly refuses all changes, from every caller.
	ReadOnly bool

	BodyTimeout time.Duration // in which a body must arrive; 0: DefaultBodyTimeout
	Session     time.Duration // after which a login expires; 0: DefaultSession
}

// Validate returns an error if the rules are invalid.
func (r Rules) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("access: "+format, args...)) }
	if len(r.Tokens) == 0 && r.Identify == nil && r.Anonymous.Role == "" {
		fault("the rules let no one in; set Tokens, Identify, or Anonymous for use on one machine")
	}
	names, secrets := map[string]bool{}, map[string]bool{}
	for i, t := range r.Tokens {
		switch {
		case t.Name == "" || len(t.Name) > 200:
			fault("token %d has a name of %d bytes; give it one of 1 to 200", i+1, len(t.Name))
		case names[t.Name]:
			fault("two tokens are named %q; give each a name of its own", t.Name)
		case secrets[t.Secret]:
			fault("token %q has the secret of another one; give each a secret of its own", t.Name)
		}
		if len(t.Secret) < MinSecret {
			fault("the secret of token %q has %d bytes; use at least %d random ones", t.Name, len(t.Secret), MinSecret)
		}
		if err := t.Role.check(); err != nil {
			fault("the role %q of token %q %w", string(t.Role), t.Name, err)
		}
		names[t.Name], secrets[t.Secret] = true, true
	}
	if role := r.Anonymous.Role; role != "" {
		if err := role.check(); err != nil {
			fault("the role %q of Anonymous %w", string(role), err)
		}
	}
	if slices.Contains(r.Hosts, "*") && r.Anonymous.Role != "" {
		fault(`Hosts has "*" and Anonymous is set, which would let any web page in; name the hosts, or leave Anonymous out`)
	}
	for _, host := range r.Hosts {
		if host == "" || strings.ContainsAny(host, "/ @") {
			fault("the host %q is no name; write it without scheme, port and path", host)
		}
	}
	if r.BodyTimeout < 0 || r.Session < 0 {
		fault("BodyTimeout is %v and Session %v; use times that are not negative", r.BodyTimeout, r.Session)
	}
	return errors.Join(faults...)
}

// ForListen returns the rules for a server that listens on an address, or an error if
// they are insufficient there: a server that other machines can reach needs tokens and
// host names, which default to the address. ForListen then removes Anonymous.
func (r Rules) ForListen(address string) (Rules, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return r, fmt.Errorf("access: %q is not an address to listen on: %w; write it as in 127.0.0.1:7460", address, err)
	}
	if IsLoopback(host) {
		return r, r.Validate()
	}
	if len(r.Tokens) == 0 && r.Identify == nil {
		return r, fmt.Errorf("access: %q can be reached from other machines, and no token is needed; set tokens, or listen on 127.0.0.1 %s", address, see.Access)
	}
	r.Anonymous = Identity{}
	if len(r.Hosts) == 0 {
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			return r, fmt.Errorf("access: %q is every address of this machine; name the hosts by which it is reached", address)
		}
		r.Hosts = []string{host}
	}
	return r, r.Validate()
}

// IsLoopback reports whether a host of an address is the loopback interface of this
// machine.
func IsLoopback(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}
