package request

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// CompleteAttempt ends the attempt of a token with a result. When it returns nil, the
// result is durable; the owner of the run receives it as a message. The first of several
// ends counts. The error is ErrInvalidToken, ErrStaleToken, store.ErrNotFound if the run
// was deleted, an InputError if this program has the activity and the result is of another type,
// or an error of the database.
func (c *Client) CompleteAttempt(ctx context.Context, token string, result history.Payload) error {
	return c.intercept(ctx, complete("complete"), func(ctx context.Context) error {
		return c.endAttempt(ctx, token, core.Completed, message.Data{Value: result})
	})
}

// FailAttempt ends the attempt of a token with a failure, which the call's policy judges
// like any other. Otherwise it is like CompleteAttempt.
func (c *Client) FailAttempt(ctx context.Context, token string, f *history.Failure) error {
	return c.intercept(ctx, complete("fail"), func(ctx context.Context) error {
		return c.endAttempt(ctx, token, core.Failed, message.Data{Failure: f})
	})
}

// HeartbeatAttempt says that the attempt of a token is alive and how far it has come.
func (c *Client) HeartbeatAttempt(ctx context.Context, token string, details history.Payload) error {
	return c.intercept(ctx, complete("heartbeat"), func(ctx context.Context) error {
		a, err := c.attempt(ctx, token)
		if err != nil {
			return err
		}
		w, err := c.awaited(ctx, &a, "")
		if err != nil {
			return err
		}
		return c.tellAttempt(ctx, a, w.row.WorkflowID, message.Heartbeat, message.Data{Value: details})
	})
}

// AttemptOf returns which attempt a token is of, whether or not it has ended.
func (c *Client) AttemptOf(ctx context.Context, token string) (view.TokenAttempt, error) {
	a, err := c.attempt(ctx, token)
	if err != nil {
		return view.TokenAttempt{}, err
	}
	row, call, err := c.callOf(ctx, &a)
	if err != nil {
		return view.TokenAttempt{}, err
	}
	of := view.TokenAttempt{WorkflowID: row.WorkflowID, RunID: row.ID, Workflow: row.Type, Call: a.Call, Attempt: a.Number}
	if call != nil {
		of.Activity, of.Queue = call.Name, call.Queue
		return of, nil
	}
	of.Activity, of.Queue, err = c.read.CallMade(ctx, row, a.Call)
	return of, err
}

// old is how long the look at an attempt is true enough to end it without another: after an outage
// the attempt may have been lost with its process meanwhile.
const old = 100 * time.Millisecond

// endAttempt posts the end of an attempt, unless the end is already on record.
func (c *Client) endAttempt(ctx context.Context, token string, outcome core.Outcome, d message.Data) error {
	a, err := c.attempt(ctx, token)
	if err != nil {
		return err
	}
	w, err := c.awaited(ctx, &a, outcome)
	if err == nil && outcome == core.Completed && !w.known {
		err = c.misfit(ctx, a, w, d.Value)
	}
	if w.known || err != nil {
		return err
	}
	d.Outcome = outcome
	looked := time.Now()
	err = c.tellAttempt(ctx, a, w.row.WorkflowID, message.AttemptEnd, d)
	if stale := errors.Is(err, ErrStaleToken); stale || err == nil && time.Since(looked) > old {
		// The run, or the attempt, ended after the look at it, perhaps by this very outcome. What
		// is durable stays so if nobody can look now.
		if w, again := c.awaited(ctx, &a, outcome); w.known || stale && again != nil || errors.Is(again, ErrStaleToken) {
			return again
		}
	}
	return err
}

// news makes a message about an attempt.
type news func(g store.Group, workflowID, run string, d message.Data) (store.Message, error)

func (c *Client) tellAttempt(ctx context.Context, a Attempt, workflowID string, as news, d message.Data) error {
	if c.lacks != nil && (!d.Value.Absent() || d.Failure != nil) {
		return c.lacks
	}
	d.Call, d.Attempt = a.Call, a.Number
	m, err := as(c.group, workflowID, a.Run, d)
	if err != nil {
		return err
	}
	m.Partition = a.Partition // perhaps of another group
	err = c.post(ctx, m)
	if errors.Is(err, store.ErrClosed) {
		return fmt.Errorf("%w: its run has ended", ErrStaleToken)
	}
	return err
}

// attempt returns the attempt of a token.
func (c *Client) attempt(ctx context.Context, token string) (Attempt, error) {
	if err := c.check(ctx); err != nil {
		return Attempt{}, err
	}
	return verify(c.secret, token)
}

// runOf returns the run of an attempt. If it was copied from another database, after the token
// was made, it is in another partition, which runOf notes.
func (c *Client) runOf(ctx context.Context, a *Attempt) (*store.Run, error) {
	row, err := c.db.Find(ctx, a.Partition, "", a.Run)
	if !errors.Is(err, store.ErrNotFound) {
		return row, err
	}
	upTo, later := c.db.List(ctx, store.Filter{Before: ident.Above(a.Run), Limit: 1})
	if later != nil {
		return nil, later
	}
	if len(upTo) == 0 || upTo[0].ID != a.Run {
		return nil, err
	}
	a.Partition = upTo[0].Partition
	return &upTo[0], nil
}

// callOf returns the run of an attempt, and the row of its call or nil.
func (c *Client) callOf(ctx context.Context, a *Attempt) (*store.Run, *store.Call, error) {
	row, err := c.runOf(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	calls, err := c.db.Calls(ctx, row.Partition, row.ID)
	if at := slices.IndexFunc(calls, func(r store.Call) bool { return r.Has(a.Call) }); at >= 0 {
		return row, &calls[at], err
	}
	return row, nil, err
}

// wanted is an attempt whose end its run waits for or, if known, has received already.
type wanted struct {
	row   *store.Run
	name  string // of the activity or step
	known bool
}

// begun are the states of a call whose attempt may have begun. One in a queue is offered as far
// as its run knows until the message arrives that a worker claimed it; who has the token knows
// that one did.
var begun = []store.CallState{store.Dispatched, store.External, store.Remote, store.Offered}

// awaited returns ErrStaleToken if the run does not wait for the end of the attempt. The
// attempt is known if it has ended with this outcome. awaited reads the committed state; the
// run decides when the message arrives.
func (c *Client) awaited(ctx context.Context, a *Attempt, outcome core.Outcome) (wanted, error) {
	row, call, err := c.callOf(ctx, a)
	if err != nil {
		return wanted{}, err
	}
	if call != nil && call.Attempt == a.Number && slices.Contains(begun, call.State) {
		return wanted{row: row, name: call.Name}, nil // the usual case, without reading the history
	}
	attempts, err := c.read.AttemptsOf(ctx, row, view.AttemptRange{Call: a.Call})
	if err != nil {
		return wanted{}, err
	}
	for _, made := range attempts {
		switch {
		case made.Number != a.Number:
		case made.Ended == nil:
			return wanted{row: row, name: made.Name}, nil
		case made.Outcome == string(outcome):
			return wanted{row: row, name: made.Name, known: true}, nil
		default:
			return wanted{}, fmt.Errorf("%w: it has the outcome %s", ErrStaleToken, made.Outcome)
		}
	}
	return wanted{}, ErrStaleToken
}

// misfit returns an error if this program has the activity of an attempt and the result is not
// of its type. The code of a run alone knows the type of an inline step, which may have the
// name of an activity: what does not fit it becomes a failure when it arrives.
func (c *Client) misfit(ctx context.Context, a Attempt, w wanted, result history.Payload) error {
	if c.fits == nil {
		return nil
	}
	fault := c.fits(w.name, result)
	if fault == nil {
		return nil
	}
	s, err := c.read.Read(ctx, w.row)
	if err != nil {
		return err
	}
	for _, call := range s.Pending() {
		if call.Call == a.Call && call.Kind == inspect.KindActivity {
			return &history.InputError{What: "result", Problem: fault.Error()}
		}
	}
	return nil
}

// Errors of requests with a token.
var (
	// ErrInvalidToken says that this database did not sign the token.
	ErrInvalidToken = errors.New("this is not a token of an attempt in this database")
	// ErrStaleToken says that the attempt of the token has ended.
	ErrStaleToken = errors.New("the attempt of the token has ended; a later attempt has another token")
)

// Attempt identifies an attempt in the database.
type Attempt struct {
	Partition int
	Run       string
	Call      int64
	Number    int
}

// A token is a version, an Attempt and a signature of both with the secret of the database,
// in the URL-safe alphabet. It needs no row: the attempt is looked up when the token comes
// back.
const (
	tokenVersion = 1
	tokenPurpose = "perdure attempt token\x00" // separates these signatures from others
)

// Token returns the token of an attempt.
func (c *Client) Token(a Attempt) string { return sign(c.secret, a) }

func sign(secret []byte, a Attempt) string {
	b := []byte{tokenVersion}
	for _, n := range []uint64{uint64(a.Partition), uint64(a.Call), uint64(a.Number)} {
		b = binary.AppendUvarint(b, n)
	}
	b = append(b, a.Run...)
	return base64.RawURLEncoding.EncodeToString(append(b, signature(secret, b)...))
}

// verify returns the attempt that a token names, or ErrInvalidToken. An attempt has exactly
// one token: a text that only decodes to the same bytes, such as one with line ends, is
// invalid.
func verify(secret []byte, token string) (a Attempt, err error) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	signed := len(b) - sha256.Size
	if err != nil || base64.RawURLEncoding.EncodeToString(b) != token ||
		signed < 1 || b[0] != tokenVersion || !hmac.Equal(b[signed:], signature(secret, b[:signed])) {
		return a, ErrInvalidToken
	}
	b = b[1:signed]
	var numbers [3]uint64
	for i := range numbers {
		n, length := binary.Uvarint(b)
		if length <= 0 {
			return a, ErrInvalidToken
		}
		numbers[i], b = n, b[length:]
	}
	return Attempt{int(numbers[0]), string(b), int64(numbers[1]), int(numbers[2])}, nil
}

func signature(secret, text []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(tokenPurpose))
	mac.Write(text)
	return mac.Sum(nil)
}
