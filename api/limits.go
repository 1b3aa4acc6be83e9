package api

import (
	"cmp"
	"slices"

	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/web"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

// subject returns the name that a request is about: of the workflow for a starter, of the queue
// for a worker. A role may be limited to names of that kind.
type subject func(c *call, body any) (string, error)

// also lets callers with another role use an endpoint. A caller whose role is limited may use it
// for the subjects to which it is limited.
func (e endpoint) also(role access.Role, of subject) endpoint {
	e.Also, e.of = append(slices.Clone(e.Also), role), of
	return e
}

// anyRole lets every caller with a role use an endpoint that is about nothing in particular.
func (e endpoint) anyRole() endpoint { return e.also(access.Starter, nil).also(access.Worker, nil) }

// limited returns a problem if the role of the caller is limited and the request is about
// something else.
func (c *call) limited(body any) error {
	if c.endpoint.of == nil || c.who.Role.May(c.endpoint.Role) || c.who.Role.Names() == nil {
		return nil
	}
	name, err := c.endpoint.of(c, body)
	if err != nil {
		return err
	}
	return c.concerns(name)
}

// concerns returns a problem if the role of the caller is limited to others than a name. It
// does not say the name, which the caller may not know.
func (c *call) concerns(name string) error {
	role := c.who.Role
	if role.May(c.endpoint.Role) || role.Names() == nil || role.May(role.Kind().Only(name)) {
		return nil
	}
	return web.TooLittle(c.who, c.endpoint.Needs(map[access.Role]string{
		access.Starter: " of its workflow", access.Worker: " of its queue",
	}[role.Kind()]))
}

// workflowOfBody is the workflow that a request starts.
func workflowOfBody(_ *call, body any) (string, error) { return body.(*command.Start).Workflow, nil }

// workflowOfRun is the workflow of the run that a request is about. What is sent goes to the run
// that has the workflow ID when it arrives, as it does for every caller.
func workflowOfRun(c *call, _ any) (string, error) {
	d, err := c.handle(ofRun{Run: c.URL.Query().Get("run")}).Describe(c.Context())
	if err != nil {
		return "", err
	}
	return definitionOf(d), nil
}

// definitionOf is the name to which a starter may be limited. The name of a flow file is not: who
// starts a file chooses it.
func definitionOf(d *view.Description) string { return cmp.Or(d.Definition, d.Workflow) }

// queueOfToken is the queue of the attempt of a token.
func queueOfToken(c *call, body any) (string, error) {
	a, err := ops.AttemptOf(c.Context(), c.e, body.(interface{ TokenOf() string }).TokenOf())
	return a.Queue, err
}
