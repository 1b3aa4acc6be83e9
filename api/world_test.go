package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/api"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/web/webtest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/postgres"
	"github.com/perdure/perdure/store/sqlite"
)

// onDisk runs a test on each database that is on disk.
func onDisk(t *testing.T, test func(t *testing.T, db store.Opener)) {
	t.Run("sqlite", func(t *testing.T) { test(t, sqlite.File(filepath.Join(t.TempDir(), "api.db"))) })
	t.Run("postgres", func(t *testing.T) { test(t, postgres.URL(pgtest.Database(t))) })
}

// serveOn opens an engine that works on a database, behind a server. Both end with the
// test, or before by the function.
func serveOn(t *testing.T, db store.Opener, options ...perdure.Option) (*client, *perdure.Engine, func()) {
	t.Helper()
	e, err := perdure.Open(t.Context(), db, options...)
	if err == nil {
		err = e.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	rules := webtest.Rules()
	rules.Hosts = nil
	h, err := api.Handler(e, rules)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	ended := false
	end := func() {
		if ended {
			return
		}
		ended = true
		server.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(end)
	return &client{t, server, webtest.OperatorSecret}, e, end
}

// until asks again until what is on record is as it will be: a request of a moment ago may
// not have been carried out. The test's own time ends a wait for what never comes.
func (c *client) until(path string, is func(a answer) bool) answer {
	c.t.Helper()
	for {
		if a := c.ask(http.MethodGet, path, nil); a.Status == http.StatusOK && is(a) {
			return a
		}
		if c.t.Context().Err() != nil {
			c.t.Fatal(context.Cause(c.t.Context()))
		}
	}
}

// at is a part of an answer: by the names of fields and the numbers of elements.
func at(v any, way ...any) any {
	for _, step := range way {
		switch k := step.(type) {
		case string:
			o, _ := v.(object)
			v = o[k]
		case int:
			l, _ := v.([]any)
			if k >= len(l) {
				return nil
			}
			v = l[k]
		}
	}
	return v
}

// count is how many elements a part of an answer has.
func count(v any, way ...any) int {
	l, _ := at(v, way...).([]any)
	return len(l)
}
