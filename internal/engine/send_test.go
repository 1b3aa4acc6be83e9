package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

var (
	ball = workflow.NewSignal[int]("ball")

	// player hits the ball back until somebody hit it ten times; the one who serves
	// has no ball yet. It returns all the balls it got.
	player = workflow.New("player", func(wf *workflow.Context, in match) ([]int, error) {
		var got []int
		n := 0
		for hits := 0; hits < 10; hits++ {
			if !in.Serves || hits > 0 {
				var err error
				if n, err = workflow.Receive(wf, ball); err != nil {
					return got, err
				}
				got = append(got, n)
			}
			if err := workflow.Send(wf, in.Other, ball, n+1); err != nil {
				return got, err
			}
		}
		return got, nil
	})
)

type match struct {
	Other  string
	Serves bool
}

// TestE8_SentSignalsArriveOnce: two runs play ball by signals while the process
// dies, or the database fails, at any write; no ball is lost and none is doubled.
func TestE8_SentSignalsArriveOnce(t *testing.T) {
	for _, fault := range []perduretest.Fault{perduretest.CrashBefore, perduretest.CrashAfter, perduretest.FailBefore, perduretest.FailAfter} {
		t.Run(fault.String(), func(t *testing.T) {
			perduretest.EveryWrite(t, fault, func(t *testing.T, env *perduretest.Env) {
				env.Register(player)
				a, err := perduretest.Start(env, player, "a", match{Other: "b"})
				if err != nil {
					t.Fatal(err)
				}
				b, err := perduretest.Start(env, player, "b", match{Other: "a", Serves: true})
				if err != nil {
					t.Fatal(err)
				}
				gotA, errA := a.Result()
				gotB, errB := b.Result()
				if fmt.Sprint(gotA, gotB) != "[1 3 5 7 9 11 13 15 17 19] [2 4 6 8 10 12 14 16 18]" || errA != nil || errB != nil {
					t.Errorf("a got %v, %v; b got %v, %v", gotA, errA, gotB, errB)
				}
			}, perduretest.Store(func() store.Opener { return memory.New(memory.Partitions(7)) }))
		})
	}
}

// TestE80_SignalsCrossNodes: runs on different nodes send each other signals, and
// those of a node that was fenced are not sent.
func TestE80_SignalsCrossNodes(t *testing.T) {
	needsFencing.inAGroup(t, func(t *testing.T, w *world) {
		a := w.node("a", player)
		b := w.node("b", player)
		pass(5 * time.Second)
		w.wantShares(a, "a:8 b:8")
		const pairs = 20
		for i := range pairs {
			left, right := fmt.Sprint("left ", i), fmt.Sprint("right ", i)
			begin(t, a, player, left, match{Other: right})
			begin(t, b, player, right, match{Other: left, Serves: true})
		}
		for i := range pairs {
			left, err := finish[[]int](t, b, fmt.Sprint("left ", i))
			if len(left) != 10 || err != nil {
				t.Errorf("left %d: %v, %v", i, left, err)
			}
			right, err := finish[[]int](t, a, fmt.Sprint("right ", i))
			if len(right) != 9 || err != nil {
				t.Errorf("right %d: %v, %v", i, right, err)
			}
		}
	})
}

// TestSendToNobody: a signal to a workflow that does not exist has no effect but a log record.
// Invalid addresses are errors.
func TestSendToNobody(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		lost := workflow.New("lost", func(wf *workflow.Context, to string) (string, error) {
			return "sent", workflow.Send(wf, to, ball, 1)
		})
		e := w.start(lost)
		if got := complete(t, e, lost, "run", "nobody"); got != "sent" {
			t.Error(got)
		}
		settle()
		if n := w.log.count("no workflow has its ID"); n != 1 {
			t.Errorf("%d warnings", n)
		}
		begin(t, e, lost, "bad", strings.Repeat("x", 2000))
		if _, err := finish[string](t, e, "bad"); err == nil || !strings.Contains(err.Error(), "workflow ID") {
			t.Errorf("got %v", err)
		}
	})
}
