package perduretest_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

var (
	parcel  = workflow.Declare[string, string]("parcel")
	pack    = activity.New("pack", func(_ context.Context, s string) (string, error) { return "packed " + s, nil })
	ship    = activity.New("ship", func(_ context.Context, s string) (string, error) { return "", errors.New("no truck") }, activity.Retry(retry.Never))
	arrived = workflow.NewSignal[int]("arrived")
)

// parcelCode is a version of the workflow's code.
type parcelCode struct {
	pack  string        // what is packed
	nap   time.Duration // before shipping
	retry activity.Option
	call  activity.Activity[string, string]
	more  bool // another call at the end
	panic bool
}

var original = parcelCode{nap: time.Hour, call: ship}

func (v parcelCode) impl() workflow.Workflow[string, string] {
	return parcel.Impl(func(wf *workflow.Context, in string) (string, error) {
		var opts []activity.Option
		if v.retry != nil {
			opts = append(opts, v.retry)
		}
		packed, err := workflow.Call(wf, pack, in+v.pack, opts...)
		if err != nil {
			return "", err
		}
		if v.panic {
			panic("a bug")
		}
		if err := workflow.Sleep(wf, v.nap); err != nil {
			return "", err
		}
		if _, err := workflow.Call(wf, v.call, packed); err == nil {
			return "", errors.New("there was a truck")
		}
		if v.more {
			if _, err := workflow.Call(wf, pack, "again"); err != nil {
				return "", err
			}
		}
		days, err := workflow.Receive(wf, arrived)
		return strings.Repeat("!", days), err
	})
}

// recordings are the history of a parcel under way, and of one that has arrived.
func recordings(t *testing.T) (open, closed []byte) {
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		env.Register(original.impl(), pack, ship)
		ctx := t.Context()
		if _, err := perdure.Start(ctx, env.Engine(), parcel, "p", "shoes"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		record := func() []byte {
			document, err := env.Engine().Workflow("p").Record(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return document
		}
		open = record()
		if err := arrived.Send(ctx, env.Engine().Workflow("p"), 3); err != nil {
			t.Fatal(err)
		}
		if _, err := perdure.Attach[string](env.Engine(), "p").Result(ctx); err != nil {
			t.Fatal(err)
		}
		closed = record()
	})
	return open, closed
}

// TestE41_Replay: code that asks for the same is compatible, whatever its delays
// and policies are; code that does not is refused with the first difference.
func TestE41_Replay(t *testing.T) {
	open, closed := recordings(t)
	for _, c := range []struct {
		name   string
		change func(v *parcelCode)
		want   string // "" if it is compatible
		turn   int64
	}{
		{name: "the same code", change: func(*parcelCode) {}},
		{name: "another delay", change: func(v *parcelCode) { v.nap = time.Minute }},
		{name: "another policy", change: func(v *parcelCode) { v.retry = activity.Retry(retry.Standard) }},
		{name: "another input", change: func(v *parcelCode) { v.pack = "and socks" }, turn: 1, want: "the input differs"},
		{name: "another activity", change: func(v *parcelCode) { v.call = pack }, turn: 3, want: "the name differs"},
		{name: "a call more", change: func(v *parcelCode) { v.more = true }, turn: 4, want: `the code asks for ActivityScheduled "pack"`},
		{name: "a panic", change: func(v *parcelCode) { v.panic = true }, want: "a bug"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := original
			c.change(&v)
			for _, recorded := range [][]byte{open, closed} {
				err := perduretest.Replay(recorded, pack, v.impl())
				if c.want == "" {
					if err != nil {
						t.Error(err)
					}
					continue
				}
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
				var d *perduretest.Difference
				if errors.As(err, &d) != (c.turn != 0) || d != nil && (d.Turn != c.turn || d.Command < 1 || d.Recorded == "" && d.Asked == "") {
					t.Errorf("the difference is %+v, want one in turn %d", d, c.turn)
				}
			}
		})
	}
}

// TestE41_ReplayUnderAnotherPolicy: with another policy an activity, a block or a run
// continues with what is on record, unless the policy takes back what has happened.
func TestE41_ReplayUnderAnotherPolicy(t *testing.T) {
	type policies struct{ activity, block, run retry.Policy }
	send := activity.Declare[string, string]("send")
	code := func(p policies) (workflow.Workflow[string, string], activity.Activity[string, string]) {
		send := activity.Declare[string, string]("send", activity.Retry(p.activity))
		return workflow.New("sending", func(wf *workflow.Context, in string) (string, error) {
			return workflow.Retry(wf, p.block, func(wf *workflow.Context) (string, error) { return workflow.Call(wf, send, in) })
		}, workflow.RetryPolicy(p.run)), send
	}
	twice := retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(time.Minute), Jitter: retry.NoJitter}
	was := policies{twice, twice, twice}
	var recorded []byte
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		w, send := code(was)
		env.Register(w)
		perduretest.Mock(env, send, func(context.Context, string) (string, error) { return "", errors.New("no network") })
		if _, err := perduretest.Run(env, w, "s", "x"); err == nil {
			t.Fatal("it was sent")
		}
		chain := env.Workflow("s").Describe().Chain
		if len(chain) != 2 {
			t.Fatalf("the chain is %+v, want two runs", chain)
		}
		document, err := env.Engine().Workflow("s").OfRun(chain[0].RunID).Record(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		recorded = document
	})
	for name, c := range map[string]struct {
		change func(*policies)
		want   string // "" if it is compatible
	}{
		"the same":                 {func(*policies) {}, ""},
		"of the activity":          {func(p *policies) { p.activity = retry.Standard }, ""},
		"never for the activity":   {func(p *policies) { p.activity = retry.Never }, ""},
		"another wait of a block":  {func(p *policies) { p.block.Backoff = retry.Exponential(time.Second, 2, time.Hour) }, ""},
		"of the run":               {func(p *policies) { p.run = retry.Standard }, ""},
		"never for the run":        {func(p *policies) { p.run = retry.Never }, ""},
		"fewer tries of a block":   {func(p *policies) { p.block = retry.Never }, ""},
		"more tries of a block":    {func(p *policies) { p.block.MaxAttempts = 3 }, ""},
		"a block without any wait": {func(p *policies) { p.block.Backoff = retry.None }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := was
			c.change(&now)
			w, _ := code(now)
			err := perduretest.Replay(recorded, w, send)
			var d *perduretest.Difference
			if (err == nil) != (c.want == "") || errors.As(err, &d) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestE41_ReplayRefuses(t *testing.T) {
	open, _ := recordings(t)
	for _, c := range []struct {
		recorded    string
		definitions []perdure.Definition
		want        string
	}{
		{"", nil, "the recording cannot be read"},
		{"{}", nil, "this is no recording"},
		{strings.Replace(string(open), `"v": 1`, `"v": 99`, 1), nil, "history format 99"},
		{string(open), nil, `the recording is of the workflow "parcel", which is not among the definitions; pass its definition too`},
		{string(open), []perdure.Definition{parcel}, `"parcel" is declared but has no code`},
	} {
		if err := perduretest.Replay([]byte(c.recorded), c.definitions...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// TestAnotherIDOfAChildIsADifference from the default one that is on record.
func TestAnotherIDOfAChildIsADifference(t *testing.T) {
	errand := workflow.New("errand", func(wf *workflow.Context, s string) (string, error) { return s, nil })
	day := workflow.New("day", func(wf *workflow.Context, s string) (string, error) {
		child := workflow.RunChildAsync(wf, errand, s)
		out, err := child.Get(wf)
		return child.ID() + ": " + out, err
	})
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		env.Register(day, errand)
		h, err := perdure.Start(t.Context(), env.Engine(), day, "monday", "post")
		if err != nil {
			t.Fatal(err)
		}
		out, err := h.Result(t.Context())
		id := "monday/errand/1-" + h.RunID()[strings.LastIndex(h.RunID(), "-")+1:]
		if out != id+": post" || err != nil {
			t.Fatalf("the child's default ID and result are %q, %v; want %s", out, err, id)
		}
		record, err := env.Engine().Workflow("monday").Record(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for other, fits := range map[string]bool{id: true, h.RunID() + "/1": false, "monday/errand/1": false} {
			err := perduretest.Replay(bytes.ReplaceAll(record, []byte(id), []byte(other)), day)
			if (err == nil) != fits {
				t.Errorf("with the child %s on record: %v", other, err)
			}
		}
	})
}
