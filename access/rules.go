package access

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Role is what a caller may do.
type Role string

// The roles. An operator may do what a viewer may.
const (
	Viewer   Role = "viewer"   // reads
	Operator Role = "operator" // reads and changes
)

// May reports whether the role suffices where another one is needed. No role, the empty
// one, suffices only where none is needed.
func (r Role) May(needed Role) bool {
	return needed == "" || r == needed && r != "" || r == Operator && needed == Viewer
}

// Identity is who makes a request. The zero value has no rights.
type Identity struct {
	Name string // in the audit
	Role Role
}

// Token is a secret that stands for an identity.
type Token struct {
	Name   string // in the audit, different for each token; at most 200 bytes
	Role   Role
	Secret string // at least MinSecret bytes, random
}

// MinSecret is how long the secret of a token is at least, in bytes.
const MinSecret = 20

// The defaults of Rules.
const (
	DefaultBodyTimeout = 15 * time.Second
	DefaultSession     = 12 * time.Hour
)

// Rules say who may use a handler and from where. The zero value refuses all requests and is
// refused by Validate.
type Rules struct {
	Tokens []Token
	// Identify says who makes a request by the means of the program that the handler is
	// part of, its own sessions for example. It is asked about requests without a token;
	// an Identity without a role has no rights. While a stream lasts it is asked again about
	// the request that began it. It may be nil, and is called concurrently.
	Identify func(*http.Request) Identity
	// Anonymous is who makes a request without a token. It holds for requests from this
	// machine only, by a name of this machine for itself such as localhost, which show no
	// sign of a proxy. A proxy may leave none: set Tokens behind one. Without a role there
	// is none.
	Anonymous Identity

	// Hosts are the names by which the server is reached, without ports: a request for
	// another host is refused, since a page of another site could have been led here by its
	// DNS. Empty: the names of this machine for itself, such as localhost. "*" is any name,
	// for servers behind something that checks it; it goes with no Anonymous.
	Hosts []string
	// ReadOnly refuses everything that changes something, from every caller.
	ReadOnly bool

	BodyTimeout time.Duration // in which a body must arrive; 0: DefaultBodyTimeout
	Session     time.Duration // after which a login expires; 0: DefaultSession
}

// Validate returns what is wrong with the rules, nil if nothing is.
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
		if t.Role != Viewer && t.Role != Operator {
			fault("token %q has the role %q; use %q or %q", t.Name, t.Role, Viewer, Operator)
		}
		names[t.Name], secrets[t.Secret] = true, true
	}
	if role := r.Anonymous.Role; role != "" && role != Viewer && role != Operator {
		fault("Anonymous has the role %q; use %q or %q", role, Viewer, Operator)
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

// ForListen returns the rules for a server that listens on an address, or why they do not
// suffice there: what can be reached from other machines needs tokens and the names by
// which it is reached, which default to the address. Anonymous holds on this machine only
// and is left out.
func (r Rules) ForListen(address string) (Rules, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return r, fmt.Errorf("access: %q is no address to listen on: %w; write it as in 127.0.0.1:7460", address, err)
	}
	if IsLoopback(host) {
		return r, r.Validate()
	}
	if len(r.Tokens) == 0 && r.Identify == nil {
		return r, fmt.Errorf("access: %q can be reached from other machines, and no token is needed; set tokens, or listen on 127.0.0.1", address)
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

// IsLoopback reports whether a host, as in an address, is this machine for itself.
func IsLoopback(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}
