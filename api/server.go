package api

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/web"
	"github.com/perdure/perdure/view"
)

func serverEndpoints() []endpoint {
	database := &pulse{}
	live := define("GET /healthz", "live", "Whether only a restart of the server would help: 200 or 503. It says nothing else and asks no database.", "-it is about the server itself", func(c *call, _, _ none) (health, error) {
		return health{c.e.Live() == nil}, nil
	}).public()
	ready := define("GET /readyz", "ready", "Whether requests should come here: 200, or 503 while the database is away or the server stops.", "-it is about the server itself", func(c *call, _, _ none) (health, error) {
		return health{database.ready(c) == nil}, nil
	}).public()
	live.AnyHost, ready.AnyHost = true, true
	document := define("GET /api/openapi.json", "openapi", "This document.", "-it describes the addresses", func(*call, none, none) (*Document, error) {
		return OpenAPI(), nil
	}).public()
	return []endpoint{
		live, ready, document,
		define("GET /api/problems", "listProblems", "List the kinds of problems, with their codes.", "-it explains answers", func(*call, none, none) (problemList, error) {
			return problemList{kindsOf("")}, nil
		}).public(),
		define("GET /api/problems/{code}", "describeProblem", "Explain a kind of problem.", "-it explains answers", describeProblem).public(),
		define("GET /api/whoami", "whoami", "Who asks, by the token, and what they may do.", "-the command line asks with the rights of the database's user", whoami).anyRole(),
	}
}

// pulse asks the database whether it works. An engine that was opened and not started learns of
// an outage only from what it is asked. Whoever asks, the database is asked once in a while.
type pulse struct {
	mu    sync.Mutex
	asked time.Time
	err   error
}

const (
	pulseEvery   = 2 * time.Second
	pulseTimeout = 2 * time.Second
)

func (p *pulse) ready(c *call) error {
	if err := c.e.Ready(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.asked) >= pulseEvery {
		// The answer is for all who ask, so it does not depend on how long this one waits.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), pulseTimeout)
		defer cancel()
		_, p.err = c.e.List(ctx, view.Filter{Limit: 1})
		p.asked = time.Now()
	}
	return p.err
}

// health hides details from callers without a token.
type health struct {
	OK bool `json:"ok" doc:"true with status 200, false with 503"`
}

type problemKind struct {
	Code   string `json:"code" doc:"a word for programs that stays the same"`
	Type   string `json:"type" doc:"path of this description"`
	Status int    `json:"status" doc:"of the response"`
	Title  string `json:"title" doc:"what it means"`
	Next   string `json:"next" doc:"what to do, unless a problem says it better"`
}

type problemList struct {
	Problems []problemKind `json:"problems" doc:"all that the API responds with"`
}

func kindsOf(code string) []problemKind {
	all := []problemKind{}
	for _, k := range kinds {
		if code == "" || k.Code == code {
			all = append(all, problemKind{k.Code, web.ProblemPath + k.Code, k.Status, k.Title, k.Next})
		}
	}
	return all
}

func describeProblem(c *call, _, _ none) (problemKind, error) {
	found := kindsOf(c.PathValue("code"))
	if len(found) == 0 {
		return problemKind{}, notFound.Of(human.Sentence("there is no kind of problem " + strconv.Quote(c.PathValue("code"))))
	}
	return found[0], nil
}

type identity struct {
	Name     string      `json:"name" doc:"of the token, as the audit has it"`
	Role     access.Role `json:"role" doc:"viewer reads; operator reads and changes; starter starts runs, sends them signals and reads how they end; worker ends external attempts"`
	Only     []string    `json:"only,omitempty" doc:"the workflows of a starter, the queues of a worker; absent for all"`
	ReadOnly bool        `json:"read_only" doc:"the server refuses all that changes something"`
}

func whoami(c *call, _, _ none) (identity, error) {
	return identity{c.who.Name, c.who.Role.Kind(), c.who.Role.Names(), c.g.ReadOnly()}, nil
}
