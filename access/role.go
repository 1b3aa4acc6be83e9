package access

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Role is what a caller may do: one of the constants, or what Only makes of one. As text,
// in a file of tokens, a limited role is "starter:checkout,refund".
type Role string

// The roles. People are viewers and operators; programs that need less are starters and
// workers, which can be limited to some names with Only.
const (
	Viewer   Role = "viewer"   // reads, and asks queries
	Operator Role = "operator" // reads and changes; may do what the others may
	Starter  Role = "starter"  // starts workflows, signals their runs, and reads their state and result
	Worker   Role = "worker"   // completes and fails external attempts, and sends their heartbeats
)

// roles are the kinds of roles, with what a limited one is limited to.
var roles = []struct {
	role Role
	of   string // empty: it cannot be limited
}{{Viewer, ""}, {Operator, ""}, {Starter, "workflows"}, {Worker, "queues"}}

// Only returns the role limited to names: a Starter to workflows of these names, a Worker
// to attempts in queues of these names, which leaves out those in no queue. The flow files
// of a group are one workflow, whose name is flow.
//
//	{Name: "shop", Role: access.Starter.Only("checkout", "refund"), Secret: secret}
func (r Role) Only(names ...string) Role {
	all := slices.Clone(names)
	for i, name := range all {
		all[i] = strings.ReplaceAll(url.PathEscape(name), ",", "%2C")
	}
	return r.Kind() + ":" + Role(strings.Join(all, ","))
}

// Kind returns the role without its limits: Viewer, Operator, Starter or Worker.
func (r Role) Kind() Role {
	kind, _, _ := strings.Cut(string(r), ":")
	return Role(kind)
}

// Names returns the names to which Only limits the role, nil if it is not limited.
func (r Role) Names() []string {
	_, list, limited := strings.Cut(string(r), ":")
	if !limited {
		return nil
	}
	names := strings.Split(list, ",")
	for i, name := range names {
		if text, err := url.PathUnescape(name); err == nil {
			names[i] = text
		}
	}
	return names
}

// May reports whether the role is sufficient where needed is required. The empty role is
// sufficient only where none is required. A limited role is sufficient where its kind is
// required; whether that holds for a name is asked with Only:
//
//	who.Role.May(access.Starter.Only(workflow))
func (r Role) May(needed Role) bool {
	kind, of := r.Kind(), needed.Kind()
	switch {
	case needed == "":
		return true
	case kind == Operator:
		return r == Operator
	case kind != of || r.check() != nil:
		return false
	}
	names := r.Names()
	return names == nil || !slices.ContainsFunc(needed.Names(), func(name string) bool { return !slices.Contains(names, name) })
}

// check returns what is wrong with the role, nil if nothing is.
func (r Role) check() error {
	var kinds []string
	for _, known := range roles {
		kinds = append(kinds, string(known.role))
		if known.role != r.Kind() {
			continue
		}
		_, list, limited := strings.Cut(string(r), ":")
		switch {
		case limited && known.of == "":
			return fmt.Errorf("cannot be limited; write %s", known.role)
		case limited && slices.Contains(strings.Split(list, ","), ""):
			return fmt.Errorf("names nothing to which it is limited; write as in %s:NAME,NAME, with names of %s, or %s for all", known.role, known.of, known.role)
		}
		if _, err := url.PathUnescape(list); err != nil {
			return errors.New("has a % that is no escape; write %25 for it, %2C for a comma and %20 for a space in a name")
		}
		return nil
	}
	last := len(kinds) - 1
	return fmt.Errorf("is none; use %s or %s", strings.Join(kinds[:last], ", "), kinds[last])
}
