package workflow_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// awaits are all the ways in which code waits, for something that does not come.
var awaits = map[string]func(wf *workflow.Context) error{
	"Sleep":      func(wf *workflow.Context) error { return workflow.Sleep(wf, time.Hour) },
	"Timer.Wait": func(wf *workflow.Context) error { return workflow.NewTimer(wf, time.Hour).Wait(wf) },
	"Call": func(wf *workflow.Context) error {
		_, err := workflow.Call(wf, stuck, "")
		return err
	},
	"RetryCall": func(wf *workflow.Context) error {
		_, err := workflow.RetryCall(wf, retry.Policy{}, stuck, "")
		return err
	},
	"Call in backoff": func(wf *workflow.Context) error {
		_, err := workflow.Call(wf, fails, "", activity.Retry(retry.Policy{Backoff: retry.Fixed(time.Hour)}))
		return err
	},
	"Future.Get": func(wf *workflow.Context) error {
		_, err := workflow.Async(wf, stuck, "").Get(wf)
		return err
	},
	"Do": func(wf *workflow.Context) error {
		_, err := workflow.Do(wf, "step", func(context.Context) (int, error) { return 0, errBroken }, activity.Retry(retry.Policy{Backoff: retry.Fixed(time.Hour)}))
		return err
	},
	"DoErr": func(wf *workflow.Context) error {
		return workflow.DoErr(wf, "step", func(context.Context) error { return errBroken }, activity.Retry(retry.Policy{Backoff: retry.Fixed(time.Hour)}))
	},
	"DoAsync": func(wf *workflow.Context) error {
		_, err := workflow.DoAsync(wf, "step", func(context.Context) (int, error) { return 0, errBroken }, activity.Retry(retry.Policy{Backoff: retry.Fixed(time.Hour)})).Get(wf)
		return err
	},
	"Receive": func(wf *workflow.Context) error {
		_, err := workflow.Receive(wf, words)
		return err
	},
	"ReceiveAsync": func(wf *workflow.Context) error {
		_, err := receive(wf).Get(wf)
		return err
	},
	"Select": func(wf *workflow.Context) error {
		timer := workflow.NewTimer(wf, time.Hour)
		workflow.Select(wf, timer, receive(wf), workflow.Async(wf, stuck, ""))
		return timer.Wait(wf)
	},
	"Select of a channel": func(wf *workflow.Context) error {
		if workflow.Select(wf, workflow.NewChannel[int](wf, 0).Receivable()) != -1 {
			return errors.New("an empty channel was ready")
		}
		return wf.Err()
	},
	"WaitAny": func(wf *workflow.Context) error {
		word := receive(wf)
		workflow.WaitAny(wf, word, workflow.NewTimer(wf, time.Hour))
		_, err := word.Get(wf)
		return err
	},
	"WaitAll": func(wf *workflow.Context) error {
		word := receive(wf)
		if err := workflow.WaitAll(wf, word, workflow.NewTimer(wf, time.Hour)); err != nil {
			return err
		}
		_, err := word.Get(wf)
		return err
	},
	"WaitAll of a channel": func(wf *workflow.Context) error {
		return workflow.WaitAll(wf, workflow.NewChannel[int](wf, 0).Receivable())
	},
	"Channel.Receive": func(wf *workflow.Context) error {
		_, err := workflow.NewChannel[int](wf, 0).Receive(wf)
		return err
	},
	"Channel.Send":         func(wf *workflow.Context) error { return workflow.NewChannel[int](wf, 0).Send(wf, 1) },
	"Channel.Send if full": func(wf *workflow.Context) error { return full(wf).Send(wf, 1) },
	"Map": func(wf *workflow.Context) error {
		_, err := workflow.Map(wf, []int{1, 2, 3}, func(wf *workflow.Context, n int) (int, error) { return n, workflow.Sleep(wf, time.Hour) })
		return err
	},
	"Saga": func(wf *workflow.Context) error {
		_, err := workflow.Saga(wf, func(wf *workflow.Context, undo *workflow.Undo) (int, error) {
			undo.Add("undo", func(wf *workflow.Context) error { return workflow.Sleep(wf, time.Second) }) // which no cancellation reaches
			return 0, workflow.Sleep(wf, time.Hour)
		})
		return err
	},
	"Retry in a try": func(wf *workflow.Context) error {
		_, err := workflow.Retry(wf, retry.Policy{}, func(wf *workflow.Context) (string, error) { return workflow.Receive(wf, words) })
		return err
	},
	"Retry in backoff": func(wf *workflow.Context) error {
		_, err := workflow.Retry(wf, retry.Policy{Backoff: retry.Fixed(time.Hour)}, func(wf *workflow.Context) (int, error) { return 0, errBroken })
		return err
	},
	"CallWithUndo": func(wf *workflow.Context) error {
		_, err := workflow.Saga(wf, func(wf *workflow.Context, undo *workflow.Undo) (string, error) {
			return workflow.CallWithUndo(wf, undo, stuck, "", func(*workflow.Context, string) error { return nil })
		})
		return err
	},
	"RunChild": func(wf *workflow.Context) error {
		//perdure:deterministic these runs have no engine; the examples beside them register what they start
		_, err := workflow.RunChild(wf, kid, "")
		return err
	},
	"Child.Get": func(wf *workflow.Context) error {
		_, err := workflow.RunChildAsync(wf, kid, "").Get(wf)
		return err
	},
	"StartDetached": func(wf *workflow.Context) error {
		_, err := workflow.StartDetached(wf, kid, "")
		return err
	},
	"FinishUpdates": func(wf *workflow.Context) error {
		workflow.HandleUpdate(wf, dawdle, func(wf *workflow.Context, in string) (string, error) {
			return in, workflow.Sleep(workflow.Shield(wf), time.Minute)
		})
		if err := workflow.Sleep(workflow.Shield(wf), 2*time.Second); err != nil { // it has come
			return err
		}
		return workflow.FinishUpdates(wf)
	},
	"Timeout": func(wf *workflow.Context) error {
		_, err := workflow.Timeout(wf, time.Hour, func(wf *workflow.Context) (string, error) { return workflow.Receive(wf, words) })
		return err
	},
}

// dawdle is an update whose handler takes its time.
var dawdle = workflow.NewUpdate[string, string]("dawdle")

// noAwaits are what else of the package takes a context, and does not wait.
var noAwaits = []string{
	"Async", "RunChildAsync", "StartDetachedAsync", "NewTimer", "NewChannel", // what they return is waited for
	"ContinueAsNew", // which ends the run
	"Go", "WithCancel", "Shield", "Outer", "GetInfo", "Logger", "HandleQuery", "HandleUpdate", "Send", "SetStatus", "SetAttribute", "RemoveAttribute",
	"SideEffect", "Now", "Rand", "UUID", "VersionOf", "Channel.Close",
}

// TestE45_EveryAwaitIsInTheTable: whatever the package exports that takes a context is
// something that a cancellation ends, and so tried here, or something that never waits.
func TestE45_EveryAwaitIsInTheTable(t *testing.T) {
	tried := map[string]bool{}
	for name := range awaits {
		name, _, _ = strings.Cut(name, " ")
		tried[name] = true
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || !f.Name.IsExported() || !takesContext(f) {
				continue
			}
			name := fullName(f)
			found = append(found, name)
			if tried[name] == slices.Contains(noAwaits, name) {
				t.Errorf("%s: %s is to stand in one of the tables awaits and noAwaits", file, name)
			}
		}
	}
	for _, name := range noAwaits {
		if !slices.Contains(found, name) {
			t.Errorf("there is no %s", name)
		}
	}
}

func takesContext(f *ast.FuncDecl) bool {
	return slices.ContainsFunc(f.Type.Params.List, func(p *ast.Field) bool {
		star, is := p.Type.(*ast.StarExpr)
		if !is {
			return false
		}
		name, is := star.X.(*ast.Ident)
		return is && name.Name == "Context"
	})
}

// fullName is the name of a function, or of a method with that of its type.
func fullName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	if star, is := t.(*ast.StarExpr); is {
		t = star.X
	}
	switch generic := t.(type) {
	case *ast.IndexExpr:
		t = generic.X
	case *ast.IndexListExpr:
		t = generic.X
	}
	return t.(*ast.Ident).Name + "." + f.Name.Name
}

// full is a channel that holds as much as it can.
func full(wf *workflow.Context) *workflow.Channel[int] {
	ch := workflow.NewChannel[int](wf, 1)
	_ = ch.Send(workflow.Shield(wf), 0) // there is room
	return ch
}

// TestE45_CancelAtEveryAwait: wherever code waits, a cancellation ends that wait:
// one of the run, one of a scope by another coroutine, one that was there before.
// The error says that it is one, and a replay of every prefix comes to the same.
func TestE45_CancelAtEveryAwait(t *testing.T) {
	for name, await := range awaits {
		arrives, err := history.Encode("now")
		if err != nil {
			t.Fatal(err)
		}
		update := message{time.Second, core.UpdateArrived{Name: dawdle.Name(), ID: "u", Asker: "somebody", Value: arrives}}
		for how, c := range map[string]struct {
			code     script
			messages []message
		}{
			"of the run": {func(wf *workflow.Context, log logger) (string, error) {
				// Code that only waits for itself is parked; this might still wake it.
				workflow.Go(wf, func(wf *workflow.Context) { _ = workflow.Sleep(wf, time.Hour) })
				return "", await(wf)
			}, []message{cancelRun(5 * time.Second)}},
			"of a scope": {func(wf *workflow.Context, log logger) (string, error) {
				scope, cancel := workflow.WithCancel(wf)
				workflow.Go(wf, func(wf *workflow.Context) {
					_ = workflow.Sleep(wf, 5*time.Second)
					cancel()
				})
				return "", await(scope)
			}, nil},
			"before": {func(wf *workflow.Context, log logger) (string, error) {
				scope, cancel := workflow.WithCancel(wf)
				cancel()
				return "", await(scope)
			}, nil},
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				messages := slices.Clone(c.messages)
				if name == "FinishUpdates" {
					messages = append(messages, update)
				}
				for _, call := range []int64{1, 2} { // a child that is asked to cancel, and does
					messages = append(messages, ends(9*time.Second, call, "canceled", "", &workflow.CancelError{Reason: "enough"}))
				}
				w, _ := play(t, c.code, messages...)
				_, err := w.outcome()
				if err == nil || !retry.Classify(err).Canceled {
					t.Errorf("got %v, want a cancellation", err)
				}
				if took := time.Duration(w.now - start); took > 10*time.Second {
					t.Errorf("it ended after %s", took)
				}
			})
		}
	}
}
