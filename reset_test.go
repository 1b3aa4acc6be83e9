package perdure_test

import (
	"context"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/workflow"
)

// TestE60_ForkOptions: a fork is of the run that is named, has the inputs it is given, and
// says who wanted it and why.
func TestE60_ForkOptions(t *testing.T) {
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		mark := activity.New("mark", func(_ context.Context, in string) (string, error) { return in + "'", nil })
		twice := workflow.New("twice", func(wf *workflow.Context, in string) (string, error) {
			first, err := workflow.Call(wf, mark, "one")
			if err != nil {
				return "", err
			}
			second, err := workflow.Call(wf, mark, in)
			return first + second, err
		})
		env.Register(twice, mark)
		h, err := perduretest.Start(env, twice, "w", "a")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Result(); err != nil {
			t.Fatal(err)
		}
		first := env.Workflow("w").Describe().RunID
		if _, err := env.ControlRun("w", ops.ResetRun(2)); err != nil {
			t.Fatal(err)
		}
		if _, err := perdure.Attach[string](env.Engine(), "w").Result(t.Context()); err != nil { // it has made the call again
			t.Fatal(err)
		}
		for id, c := range map[string]struct {
			spec ops.ForkSpec
			want string
		}{
			"of the first": {ops.ForkSpec{RunID: first}, `"one'a'"`},
			"of the input": {ops.ForkSpec{Input: "b"}, `"one'b'"`},
			"of the call":  {ops.ForkSpec{CallInput: "c"}, `"one'c'"`},
		} {
			c.spec.WorkflowID, c.spec.NewID, c.spec.Call = "w", id, 2
			var who []ops.Option
			if id == "of the first" {
				who = []ops.Option{ops.By("ann"), ops.Why("so")}
			}
			_, err := ops.Fork(t.Context(), env.Engine(), c.spec, who...)
			if err != nil {
				t.Fatalf("%s: %v", id, err)
			}
			if got, err := env.Engine().Workflow(id).Result(t.Context()); string(got) != c.want || err != nil {
				t.Errorf("%s: %s, %v; want %s", id, got, err, c.want)
			}
			base := env.Workflow(id).Describe().Base
			if named := base.RunID == first && base.By == "ann" && base.Why == "so"; named != (id == "of the first") {
				t.Errorf("%s: %+v", id, base)
			}
		}
	})
}
