package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/internal/web"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// failure is the data of an error page.
type failure struct {
	Status int
	What   string // one sentence
	Why    string // the error itself; may be empty
	Next   string // what to do
}

func (f failure) title() string { return f.What }

// badRequest is a request that cannot be understood.
type badRequest struct{ what, next string }

func (b *badRequest) Error() string { return b.what }

// absent is a gate or schedule that is not in the database.
type absent struct{ kind, name string }

func (a *absent) Error() string {
	return fmt.Sprintf("there is no %s %q; see the page of %[1]ss", a.kind, a.name)
}

// missing makes the error that says what is not there of one that says that something is not.
func missing(kind, name string, err error) error {
	if errors.Is(err, perdure.ErrNotFound) {
		return &absent{kind, name}
	}
	return err
}

// next says why it may be missing.
func (a *absent) next() string {
	if a.kind == "gate" {
		return "A gate is there from the first call on that names it."
	}
	return "It may be of another group, or was deleted."
}

// failed returns the data for the page of an error.
func (q *request) failed(err error) failure {
	f := failure{http.StatusInternalServerError, "The page cannot be shown", err.Error(), "Try again; the log of the program may say more."}
	var missing *absent
	var bad *badRequest
	var refused *view.RefusedError
	switch {
	case errors.As(err, &missing):
		f = failure{http.StatusNotFound, "There is no such " + missing.kind, err.Error(), missing.next()}
	case errors.Is(err, perdure.ErrNotFound):
		f = failure{http.StatusNotFound, "There is no such run", fmt.Sprintf("No run in this database has the ID %q.", human.Clip(q.URL.Query().Get("id"), 200)), "It may be of another group, or retention removed it. Search for it in the list of runs."}
	case errors.As(err, &bad):
		f = failure{http.StatusBadRequest, "The request cannot be understood", bad.what, bad.next}
	case web.Is[*param.Wrong](err), web.Is[*wrongField](err), web.Is[*retry.NotationError](err), web.Is[*schedule.SpecError](err):
		f = failure{http.StatusUnprocessableEntity, "A value cannot be used", err.Error(), "Go back, and change it in the form."}
	case errors.As(err, &refused):
		f = failure{http.StatusConflict, "It is refused", refused.Record.Note, "See the page of the run: its state may be another one now."}
	case web.Is[*view.LimitError](err):
		f = failure{http.StatusTooManyRequests, "A limit is reached", err.Error(), "Let the run work off what it has, or raise the limit in its program."}
	case errors.Is(err, perdure.ErrNotPending), errors.Is(err, perdure.ErrClosed), errors.Is(err, perdure.ErrNoCode), web.Is[*store.CodecError](err):
		f = failure{http.StatusConflict, "It is in no state for this", err.Error(), "See its page: its state may be another one now."}
	case errors.Is(err, perdure.ErrNoAnswer):
		f = failure{http.StatusGatewayTimeout, "No engine has answered in time", err.Error(), "See on the page of nodes whether one serves. The request is in the database, and is carried out when one does."}
	case errors.Is(err, perdure.ErrStopped):
		f = failure{http.StatusServiceUnavailable, "The program stops", err.Error(), "Try again, or at another server."}
	case web.Is[*view.InputError](err):
		f = failure{http.StatusBadRequest, "The request cannot be understood", err.Error(), "Change what was given, and try again."}
	case errors.Is(err, context.DeadlineExceeded) && q.answers():
		f = failure{http.StatusServiceUnavailable, "There is too much to read", "The database answers, but this page could not be read within " + human.Duration(limit) + ".",
			"Choose a shorter time or a narrower filter."}
		if command, _, _ := strings.Cut(q.command, ","); command != "" {
			f.Next += " The command has no such limit: perdure " + command + "."
		}
	case web.Is[*store.UnavailableError](err), errors.Is(err, context.DeadlineExceeded), q.engine.Health() != nil:
		f = failure{http.StatusServiceUnavailable, "The database does not answer", q.away(err),
			"Check that it runs and can be reached: " + q.engine.Location() + ". Nothing is lost: what is in the database continues when it is back. This page tries again by itself."}
	}
	f.Why = human.Clip(f.Why, 2000)
	q.status, q.page = f.Status, &page{path: q.path, under: q.under, title: q.title, file: "error"}
	return f
}

// answers reports whether the database answers a small question. A page that is not read in time
// may be too much for a database that is well.
func (q *request) answers() bool {
	ctx, cancel := context.WithTimeout(q.Context(), time.Second)
	defer cancel()
	_, err := q.engine.List(ctx, view.Filter{Limit: 1})
	return err == nil
}

// tooMuch reports whether part of a page was not read in the time that it has, though the database
// works.
func (q *request) tooMuch(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) && q.ctx.Err() == nil && q.engine.Health() == nil
}

// away says why the database does not respond. A page's timeout says less about that than
// what the engine last heard.
func (q *request) away(err error) string {
	if health := q.engine.Health(); health != nil && errors.Is(err, context.DeadlineExceeded) {
		err = health
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "It has said nothing for " + human.Duration(limit) + "."
	}
	return human.Sentence(err.Error())
}

// refuse shows why the guard refuses a request. It redirects a caller without a session to
// the login.
func (s *server) refuse(w http.ResponseWriter, r *http.Request, p *web.Problem) {
	q := s.request(r.Context(), w, r, &page{title: p.Title, file: "error", still: true})
	if p.Status == http.StatusUnauthorized && r.Method == http.MethodGet && s.guard.HasTokens() && !q.live() {
		w.Header().Set("Location", q.up()+string(link("login", "to", pageOf(strings.TrimPrefix(r.URL.RequestURI(), "/")))))
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	q.status, q.refused = p.Status, true
	f := failure{p.Status, strings.TrimSuffix(p.Title, "."), human.Clip(p.Detail, 2000), p.Next}
	if p.Code == web.NotFound.Code { // the guard's own advice is for API callers
		f.Next = "Choose a page in the menu."
	}
	q.write(w, f)
}
