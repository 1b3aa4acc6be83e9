package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/internal/web"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// Problems in addition to those of the guard.
var (
	notFound      = web.Kind{Code: "not-found", Status: http.StatusNotFound, Title: "What the request names is not there.", Next: "List what there is, and check the database and group of the server."}
	runClosed     = web.Kind{Code: "run-closed", Status: http.StatusConflict, Title: "The run has ended.", Next: "Describe the run to see how it ended; start a new one with new_after."}
	idInUse       = web.Kind{Code: "id-in-use", Status: http.StatusConflict, Title: "The workflow ID belongs to another run.", Next: "Use another workflow_id, or new_after if that run is closed."}
	notPending    = web.Kind{Code: "not-pending", Status: http.StatusConflict, Title: "No such call is pending.", Next: "Describe the run: pending has the calls that are open."}
	refused       = web.Kind{Code: "refused", Status: http.StatusConflict, Title: "It is in no state for this.", Next: "Describe the run to see its state."}
	changed       = web.Kind{Code: "changed", Status: http.StatusConflict, Title: "Somebody else has changed it.", Next: "Read it again, and change it as it is now."}
	limitReached  = web.Kind{Code: "limit", Status: http.StatusTooManyRequests, Title: "A limit is reached.", Next: "Let the run work off what it has, or raise the limit in its program."}
	unanswered    = web.Kind{Code: "unanswered", Status: http.StatusGatewayTimeout, Title: "No engine has answered in time.", Next: "See whether one serves: GET /api/nodes. A query may be repeated."}
	noHandler     = web.Kind{Code: "no-handler", Status: http.StatusConflict, Title: "The run has no handler of that name.", Next: "Check the name, and that the code of the run sets the handler before it waits."}
	noCode        = web.Kind{Code: "no-code", Status: http.StatusConflict, Title: "No engine has code that fits the run.", Next: "Start an engine with the code of the workflow."}
	noCodec       = web.Kind{Code: "no-codec", Status: http.StatusConflict, Title: "The server does not have the codecs of the database.", Next: "Ask a server whose program opens the database with them."}
	rejected      = web.Kind{Code: "rejected", Status: http.StatusUnprocessableEntity, Title: "The code of the run rejects it.", Next: "Nothing has changed; send what the validator accepts."}
	handlerFailed = web.Kind{Code: "handler-failed", Status: http.StatusUnprocessableEntity, Title: "The handler in the run's code failed.", Next: "The detail is its error."}
	unfinished    = web.Kind{Code: "unfinished", Status: http.StatusConflict, Title: "The run ended before the update was done.", Next: "How far it came is not known; see the history of the run."}
	invalidToken  = web.Kind{Code: "invalid-token", Status: http.StatusBadRequest, Title: "The token is of no attempt in this database.", Next: "Check that the token is complete, and the server's database."}
	staleToken    = web.Kind{Code: "stale-token", Status: http.StatusConflict, Title: "The attempt of the token is over.", Next: "A later attempt has another token."}
	databaseAway  = web.Kind{Code: "database-away", Status: http.StatusServiceUnavailable, Title: "The database does not answer.", Next: "Ask again; with the same Idempotency-Key nothing happens twice."}
	stopping      = web.Kind{Code: "stopping", Status: http.StatusServiceUnavailable, Title: "The server stops.", Next: "Ask again, or another server."}
	tookTooLong   = web.Kind{Code: "took-too-long", Status: http.StatusGatewayTimeout, Title: "It took too long.", Next: "Ask for less, with filters or a smaller limit, or again later."}
	internalError = web.Kind{Code: "internal", Status: http.StatusInternalServerError, Title: "Something is wrong with the server or its database.", Next: "See perdure doctor, and the log of the engine."}
)

// kinds are all kinds of problems.
var kinds = append([]web.Kind{
	notFound, runClosed, idInUse, notPending, refused, changed, limitReached, unanswered, noHandler, noCode, noCodec, rejected, handlerFailed,
	unfinished, invalidToken, staleToken, databaseAway, stopping, tookTooLong, internalError,
}, web.Kinds...)

// known are the errors that callers can distinguish, most specific first.
var known = []struct {
	err  error
	kind web.Kind
}{
	{perdure.ErrNotPending, notPending}, {perdure.ErrNoAnswer, unanswered}, {perdure.ErrUnanswered, unanswered},
	{perdure.ErrNoHandler, noHandler}, {perdure.ErrNoCode, noCode}, {perdure.ErrParked, noCode},
	{perdure.ErrUpdateUnfinished, unfinished}, {perdure.ErrInvalidToken, invalidToken}, {perdure.ErrStaleToken, staleToken},
	{perdure.ErrNotFound, notFound}, {perdure.ErrClosed, runClosed}, {perdure.ErrStopped, stopping},
}

// problemOf converts an error to the problem for the caller.
func problemOf(c *call, err error) *web.Problem {
	if p, ok := errors.AsType[*web.Problem](err); ok {
		return p
	}
	p := kindOf(c.Context(), err).Of(human.Sentence(err.Error()))
	if p.Status == http.StatusServiceUnavailable {
		p.RetryAfter = 5
	}
	if p.Status >= http.StatusInternalServerError && c.key != "" {
		p.Request = c.key
		p.Next += " What of the request was done is not done twice: send it again with the header Idempotency-Key: " + c.key
	}
	return p
}

func kindOf(ctx context.Context, err error) web.Kind {
	switch {
	case web.Is[*view.InputError](err), web.Is[*param.Wrong](err), web.Is[*schedule.SpecError](err), web.Is[*retry.NotationError](err):
		return web.BadRequest
	case web.Is[*view.LimitError](err):
		return limitReached
	case web.Is[*view.IDInUseError](err):
		return idInUse
	case web.Is[*view.RefusedError](err):
		return refused
	case web.Is[*view.ChangedError](err):
		return changed
	case web.Is[*store.CodecError](err):
		return noCodec
	case web.Is[*workflow.RejectedError](err):
		return rejected
	}
	for _, k := range known {
		if errors.Is(err, k.err) {
			return k.kind
		}
	}
	switch {
	case store.Unavailable(err):
		return databaseAway
	case errors.Is(err, context.DeadlineExceeded), ctx.Err() != nil:
		return tookTooLong
	}
	return internalError
}
