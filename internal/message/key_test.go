package message

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// hostile draws texts that look like parts of keys: users choose names and IDs.
var hostile = rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "1", ":", "/", "/id/", "/once/", "run", "chain", ".end", "left/"}), 0, 4),
	func(pieces []string) string { return strings.Join(pieces, "") })

// keyed is a message and what tells it from all others of its workflow ID.
type keyed struct {
	identity []any
	message  store.Message
	err      error
}

// makers are all that make keys, each with parts that are drawn.
var makers = []func(t *rapid.T) keyed{
	func(t *rapid.T) keyed {
		name, id := hostile.Draw(t, "name"), hostile.Filter(func(s string) bool { return s != "" }).Draw(t, "id")
		m, err := Request(group, "w", "", &core.Control{Operation: core.SignalTheRun, Signal: name, SignalID: id})
		return keyed{[]any{"signal", name, id}, m, err}
	},
	func(t *rapid.T) keyed {
		run, how := hostile.Draw(t, "run"), rapid.SampledFrom([]core.Operation{core.CancelTheRun, core.TerminateTheRun}).Draw(t, "how")
		m, err := Request(group, "w", run, &core.Control{Operation: how})
		return keyed{[]any{how, "run", run}, m, err}
	},
	func(t *rapid.T) keyed {
		chain, how := hostile.Filter(func(s string) bool { return s != "" }).Draw(t, "chain"), rapid.SampledFrom([]core.Operation{core.CancelTheRun, core.TerminateTheRun}).Draw(t, "how")
		m, err := FromRun(group, &core.Message{WorkflowID: "w", Input: core.Control{Operation: how, Chain: chain}})
		return keyed{[]any{how, "chain", chain}, m, err}
	},
	func(t *rapid.T) keyed {
		run, id := hostile.Draw(t, "run"), hostile.Filter(func(s string) bool { return s != "" }).Draw(t, "id")
		m, err := Request(group, "w", run, &core.Control{ID: id, Operation: rapid.SampledFrom(core.RunOperations).Draw(t, "operation")})
		return keyed{[]any{"control", run, id}, m, err}
	},
	func(t *rapid.T) keyed {
		token := hostile.Draw(t, "token")
		m, err := Update(group, "w", hostile.Draw(t, "name"), hostile.Draw(t, "id"), token, history.Payload{})
		return keyed{[]any{"update", token}, m, err}
	},
	func(t *rapid.T) keyed {
		token := hostile.Draw(t, "token")
		m, err := Query(group, "w", hostile.Draw(t, "run"), hostile.Draw(t, "name"), token, history.Payload{}, 0)
		return keyed{[]any{"query", token}, m, err}
	},
	func(t *rapid.T) keyed {
		run, d := hostile.Draw(t, "run"), Data{Call: rapid.Int64Range(1, 12).Draw(t, "call"), Attempt: rapid.IntRange(1, 12).Draw(t, "attempt")}
		m, err := AttemptEnd(group, "w", run, d)
		return keyed{[]any{"attempt", run, d.Call, d.Attempt}, m, err}
	},
	func(t *rapid.T) keyed {
		run, d := hostile.Draw(t, "run"), Data{Call: rapid.Int64Range(1, 12).Draw(t, "call"), Attempt: rapid.IntRange(1, 12).Draw(t, "attempt")}
		if rapid.Bool().Draw(t, "details") {
			d.Value = history.Payload{Encoding: history.EncodingJSON, Data: []byte("1")}
		}
		m, err := Heartbeat(group, "w", run, d)
		return keyed{[]any{"heartbeat", run, d.Call, d.Attempt, d.Value.Absent()}, m, err}
	},
	func(t *rapid.T) keyed {
		run := hostile.Draw(t, "run")
		m, err := FromRun(group, &core.Message{Start: &history.Start{WorkflowID: "w", Run: run}})
		return keyed{[]any{"start", run}, m, err}
	},
	func(t *rapid.T) keyed {
		run, call := hostile.Draw(t, "run"), rapid.Int64Range(1, 12).Draw(t, "call")
		m, err := FromRun(group, &core.Message{WorkflowID: "w", Run: run, Input: core.FromChild{Call: call}})
		return keyed{[]any{"child", run, call}, m, err}
	},
	func(t *rapid.T) keyed {
		gate, ticket, attempt := hostile.Draw(t, "gate"), drawTicket(t), rapid.IntRange(1, 12).Draw(t, "attempt")
		word, returns := rapid.SampledFrom([]core.GateWord{core.GateGranted, core.GateRefused}).Draw(t, "word"), rapid.IntRange(0, 12).Draw(t, "returns")
		return keyed{[]any{"from-gate", gate, word, ticket, attempt, returns}, FromGate(group, &core.FromGate{Gate: gate, Word: word, Ticket: ticket, Attempt: attempt, Returns: returns}), nil}
	},
	func(t *rapid.T) keyed {
		ticket, attempt := drawTicket(t), rapid.IntRange(1, 12).Draw(t, "attempt")
		word, returns := rapid.SampledFrom([]core.GateWord{core.GateEnter, core.GateReturn, core.GateDone}).Draw(t, "word"), rapid.IntRange(0, 12).Draw(t, "returns")
		return keyed{[]any{"to-gate", word, ticket, attempt, returns}, ToGate(group, &core.ToGate{Gate: "w", Word: word, Ticket: ticket, Attempt: attempt, Returns: returns}), nil}
	},
	func(t *rapid.T) keyed {
		run, key := hostile.Draw(t, "run"), hostile.Draw(t, "key")
		return keyed{[]any{"left", run, key}, store.Message{WorkflowID: "w", Key: store.LeftKey(run, key)}, nil}
	},
	func(t *rapid.T) keyed {
		run := hostile.Draw(t, "run")
		return keyed{[]any{"created", run}, store.Message{WorkflowID: "w", Key: store.CreatedKey(run)}, nil}
	},
}

func drawTicket(t *rapid.T) core.TicketKey {
	return core.TicketKey{
		Workflow: "w", Run: hostile.Draw(t, "run"), Call: rapid.Int64Range(1, 12).Draw(t, "call"), Ticket: rapid.IntRange(1, 12).Draw(t, "ticket"),
	}
}

// TestI20_NoTwoMessagesHaveOneKey: two messages to one inbox have the same key only if
// all parts of it are equal, whatever names and IDs contain. Half of the pairs are of one
// maker, with parts so short that they often are the same when they are joined.
func TestI20_NoTwoMessagesHaveOneKey(t *testing.T) {
	for i := range makers {
		t.Run(fmt.Sprint(i), rapid.MakeCheck(func(t *rapid.T) {
			a := makers[i](t)
			other := i
			if rapid.Bool().Draw(t, "another maker") {
				other = rapid.IntRange(0, len(makers)-1).Draw(t, "maker")
			}
			b := makers[other](t)
			if a.err != nil || b.err != nil {
				t.Fatal(a.err, b.err)
			}
			if one, same := a.message.WorkflowID == b.message.WorkflowID && a.message.Key == b.message.Key, reflect.DeepEqual(a.identity, b.identity); one != same {
				t.Errorf("%v and %v have the keys %q and %q", a.identity, b.identity, a.message.Key, b.message.Key)
			}
		}))
	}
}

// TestI20_KeysAreSplitInOneWay: of the parts of a key each is found again.
func TestI20_KeysAreSplitInOneWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lists := rapid.SliceOfN(rapid.SliceOfN(hostile, 0, 3), 2, 2).Draw(t, "parts")
		var keys [2]string
		for i, parts := range lists {
			all := make([]any, len(parts))
			for k := range parts {
				all[k] = parts[k]
			}
			keys[i] = key("what", all...)
		}
		if same := fmt.Sprintf("%q", lists[0]) == fmt.Sprintf("%q", lists[1]); same != (keys[0] == keys[1]) {
			t.Errorf("%q and %q give %q and %q", lists[0], lists[1], keys[0], keys[1])
		}
	})
}
