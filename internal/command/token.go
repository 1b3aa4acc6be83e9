package command

import (
	"encoding/json"

	"github.com/perdure/perdure/retry"
)

var tokenCommands = []Command{
	Row(Command{
		On: Token, Name: "complete", Short: "Complete an external attempt by its token", Address: "POST /api/attempts/complete", NoKey: true,
		Means: "The attempt of an activity that has handed out its token, and waits, has the result. Repeating it does nothing.",
		More:  "The result is JSON; without one it is null, and with - it is read from standard input.\nWhen the command returns, the result is in the database.",
		Example: `  perdure complete AQEBAXJ1bi0x... true
  perdure complete AQEBAXJ1bi0x... '{"approved_by": "Ada"}'`,
	}, func(a *Ask, p *complete) (Sent, Effect, error) {
		return Sent{Sent: "complete"}, recorded, a.Engine.Complete(a.Ctx, p.Token, OrNull(p.Result))
	}),
	Row(Command{
		On: Token, Name: "fail-attempt", Short: "Fail an external attempt by its token", Address: "POST /api/attempts/fail", NoKey: true,
		Means: "The attempt of an activity that has handed out its token, and waits, has failed. The policy of its call decides whether another attempt follows, as if the activity had returned the error.",
		Example: `  perdure fail-attempt AQEBAXJ1bi0x... "the bank did not answer"
  perdure fail-attempt AQEBAXJ1bi0x... "declined" --as CardDeclined --terminal`,
	}, func(a *Ask, p *failAttempt) (Sent, Effect, error) {
		var failure error = NewError(p.As, p.Error)
		if p.Terminal {
			failure = retry.Terminal(failure)
		}
		return Sent{Sent: "fail"}, recorded, a.Engine.FailAttempt(a.Ctx, p.Token, failure)
	}),
	Row(Command{
		On: Token, Name: "heartbeat", Short: "Say that an external attempt is alive", Address: "POST /api/attempts/heartbeat", NoKey: true,
		Means: "The attempt of an activity that has handed out its token, and waits, has given a sign of life: its heartbeat timeout begins anew. The next attempt gets the details.",
		More:  "The details are JSON; without them earlier ones are kept, and with - they are read from\nstandard input.",
		Example: `  perdure heartbeat AQEBAXJ1bi0x...
  perdure heartbeat AQEBAXJ1bi0x... '{"line": 4200}'`,
	}, func(a *Ask, p *heartbeat) (Sent, Effect, error) {
		var details any
		if p.Details != nil {
			details = p.Details
		}
		return Sent{Sent: "heartbeat"}, Effect{Done: "Recorded."}, a.Engine.HeartbeatAttempt(a.Ctx, p.Token, details)
	}),
}

var recorded = Effect{Done: "Recorded; the workflow continues when an engine serves it."}

// Attempt is the attempt that a command is about, by its token.
type Attempt struct {
	Token string `json:"token" arg:"TOKEN" help:"of the attempt" need:"give the one that the attempt got"`
}

// TokenOf returns the token.
func (a Attempt) TokenOf() string { return a.Token }

type complete struct {
	Attempt
	Result json.RawMessage `json:"result,omitempty" arg:"[JSON]" help:"of the activity; without one it is null"`
}

type failAttempt struct {
	Attempt
	Error    string `json:"error" arg:"MESSAGE" help:"what went wrong" need:"say what went wrong with error"`
	As       string `json:"as,omitempty" help:"{type} of the error, for the rules of policies"`
	Terminal bool   `json:"terminal,omitempty" help:"do not retry, whatever the policy says"`
}

type heartbeat struct {
	Attempt
	Details json.RawMessage `json:"details,omitempty" arg:"[JSON]" help:"for the next attempt; without them earlier ones are kept"`
}
