package flow_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/retry"
)

// TestU6_ProgramsAskToo: an action with a Verify function is asked about in flow files as in Go,
// whatever their brackets say of retries, and the function has the arguments of the call. The
// key unknown says otherwise.
func TestU6_ProgramsAskToo(t *testing.T) {
	type order struct {
		Ref    string `json:"ref"`
		Secret string `json:"secret"`
	}
	for policy, want := range map[string]struct {
		outcomes string
		status   string
	}{
		"":                                     {"failed found", "completed"},
		"[retry: 3] [timeout: 1m]":             {"failed found", "completed"},
		"[retry: 3, unknown: repeat]":          {"failed completed", "completed"},
		"[unknown: pause]":                     {"failed", "running"},
		"[retry: 3] [Broken -> unknown: fail]": {"failed", "failed"},
	} {
		perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
			charged := 0
			charge := activity.New("charge", func(_ context.Context, o order) (string, error) {
				if charged++; charged == 1 {
					return "", retry.Unknown(broken{errors.New("connection reset")})
				}
				return "charged twice", nil
			}, activity.Verify(func(_ context.Context, o order, d activity.Doubt) (activity.Found[string], error) {
				if o.Ref != "17" || o.Secret != "s3cret" || d.Attempt != 1 {
					t.Errorf("asked about %+v, %+v", o, d)
				}
				return retry.Done("found " + o.Ref), nil
			}))
			r, err := flow.New(flow.Actions(charge), flow.Secrets(func(name string) (string, bool) { return "s3cret", name == "KEY" }))
			if err != nil {
				t.Fatal(err)
			}
			env.Register(r.Definitions()...)
			h, err := perduretest.Start(env, flow.Workflow, "run", program(t, r, "", "return @charge(ref=\"17\", secret=secret(\"KEY\")) "+policy+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
			var outcomes []string
			for _, a := range h.Attempts() {
				outcomes = append(outcomes, a.Outcome)
			}
			if got := strings.Join(outcomes, " "); got != want.outcomes || h.Describe().Status != want.status {
				t.Errorf("%s: %s, and the run is %s", policy, got, h.Describe().Status)
			}
		})
	}
}

type broken struct{ error }

func (broken) ErrorType() string { return "Broken" }

// TestU6_ProgramsNameWhoIsAsked: another action says whether an attempt had its effect. What it
// finds is the result, null means that nothing was done, and an error is asked again.
func TestU6_ProgramsNameWhoIsAsked(t *testing.T) {
	for name, c := range map[string]struct {
		answers  []any // of find; an error fails
		outcomes string
		result   string
	}{
		"found":                   {[]any{"receipt 17"}, "failed found", `"receipt 17"`},
		"not done":                {[]any{nil}, "failed absent completed", `"charged again"`},
		"nobody knows, then done": {[]any{errors.New("closed"), 42}, "failed unknown found", `42`},
	} {
		t.Run(name, func(t *testing.T) {
			perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
				charged, asked := 0, 0
				charge := activity.New("charge", func(context.Context, struct{ Ref string }) (any, error) {
					if charged++; charged == 1 {
						return nil, retry.Unknown(broken{errors.New("connection reset")})
					}
					return "charged again", nil
				})
				find := activity.New("find", func(_ context.Context, in struct{ Of string }) (any, error) {
					answer := c.answers[asked]
					if asked++; in.Of != "order 17" {
						t.Errorf("asked about %q", in.Of)
					}
					if err, fails := answer.(error); fails {
						return nil, err
					}
					return answer, nil
				})
				r, err := flow.New(flow.Actions(charge, find))
				if err != nil {
					t.Fatal(err)
				}
				env.Register(r.Definitions()...)
				h, err := perduretest.Start(env, flow.Workflow, "run", program(t, r, "", "ref = \"17\"\nreturn @charge(Ref=ref) [verify: @find(Of=\"order \" + ref)] [retry: 2, backoff: 1s] [timeout: 1m]\n"))
				if err != nil {
					t.Fatal(err)
				}
				result, err := h.Result()
				var outcomes []string
				for _, a := range h.Attempts() {
					outcomes = append(outcomes, a.Outcome)
				}
				if got := strings.Join(outcomes, " "); err != nil || string(result) != c.result || got != c.outcomes {
					t.Errorf("%s, %v after %s", result, err, got)
				}
			})
		})
	}
}
