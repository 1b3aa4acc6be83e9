package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// protocolFault is a fault in what keeps runs whole: who owns them, what is durable before what,
// what is told once. Texts of a file are others.
type protocolFault struct {
	name    string              // what the engine with the fault does
	changes map[string][]change // by file
}

// change is one text of a file, which is there once, and what stands in its place.
type change struct{ was, is string }

// applied returns the files with the fault, by their names.
func (f *protocolFault) applied(root string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for file, changes := range f.changes {
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return nil, err
		}
		for _, c := range changes {
			if n := bytes.Count(source, []byte(c.was)); n != 1 {
				return nil, fmt.Errorf("%s: in %s this stands %d times, and should once:\n%s", f.name, file, n, c.was)
			}
			source = bytes.Replace(source, []byte(c.was), []byte(c.is), 1)
		}
		files[file] = source
	}
	return files, nil
}

// protocolFaults are those that perdure torture must find.
var protocolFaults = []protocolFault{
	{
		"a commit is not fenced: an owner that was replaced still writes",
		map[string][]change{
			"store/postgres/commit.go":  {{"ELSE perdure.refuse('`+unheardOf+`', 'a partition has another owner') END, set_config", "ELSE greatest(perdure.now(), max(clock)) END, set_config"}},
			"store/postgres/results.go": {{"	return owned && epoch == t.Epoch\n", "	return owned && epoch >= t.Epoch\n"}},
		},
	},
	{
		"an attempt that ran in a process that is gone is taken for running",
		map[string][]change{"internal/core/attempt.go": {{"!alive && (copied || c.state == Dispatched) {", "!alive && (copied || c.state == Dispatched && c.Untold) {"}}},
	},
	{
		"the loss of an attempt is not on record",
		map[string][]change{"internal/core/verdict.go": {{"	case e.outcome != Canceled || c.attempt > 1 || e.failure != nil:\n", "	case e.outcome == Drained || c.attempt > 1 && e.outcome == Canceled || e.failure != nil:\n"}}},
	},
	{
		"the attempt after a lost one has its number",
		map[string][]change{"internal/core/verdict.go": {{"		c.attempt++\n		a.retry(c, e, v)\n", "		if e.outcome != Lost {\n			c.attempt++\n		}\n		a.retry(c, e, v)\n"}}},
	},
	{
		"a call that has ended keeps its slot at its gates",
		map[string][]change{"internal/core/ready.go": {{"	a.gating.leave(c, c.gateOutcome)\n}", "	_ = c.gateOutcome\n}"}}},
	},
	{
		"a commit without an answer counts as durable",
		map[string][]change{"internal/commit/commit.go": {{anUnknownCommit, "			for _, p := range group {\n				p.done <- nil\n			}\n			return\n"}, neverRepeated[0], neverRepeated[1]}},
	},
	{
		"a commit without an answer counts as refused",
		map[string][]change{"internal/commit/commit.go": {{anUnknownCommit, "			for _, p := range group {\n				p.done <- err\n			}\n			return\n"}, neverRepeated[0], neverRepeated[1]}},
	},
	{
		"a turn that is durable already is not recognized",
		map[string][]change{"store/postgres/plan.go": {{"case s.taken && t.Number > 0 && s.commit == t.CommitID:", "case s.taken && t.Number > 0 && s.commit == t.CommitID+1:"}}},
	},
	{
		"attempts begin before their turn is durable",
		map[string][]change{"internal/engine/run.go": {{"	r.continues(t.out)\n	t.due = true\n", `	r.continues(t.out)
	t.due = true
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range t.out.Dispatch {
		d := &t.out.Dispatch[i]
		r.begin(d, r.seats.Begin(d.Call))
	}
	t.out.Dispatch = t.out.Dispatch[:0]
`}}},
	},
	{
		"what a turn has read stays in the inbox",
		map[string][]change{"store/postgres/write.go": {{"	b.count(turns)\n	b.consume(turns)\n", "	b.count(turns)\n"}}},
	},
	{
		"a signal that comes twice counts twice",
		map[string][]change{"internal/core/runcontrol.go": {{"case o.signals.ids.has(signalKey(in.Signal, in.signalID())):", "case in.Signal == \"\":"}}},
	},
	{
		"a gate lets one more pass",
		map[string][]change{"internal/gates/admit.go": {{"if m.holders >= m.config.Limit {", "if m.holders > m.config.Limit {"}}},
	},
	{
		"a task that a worker has is claimed by another one",
		map[string][]change{"store/postgres/task.go": {{"queue = $2 AND worker = '' AND name", "queue = $2 AND NOT settled AND name"}}},
	},
	{
		"tasks of a dead worker are never offered again",
		map[string][]change{"store/postgres/task.go": {{"w.seen > perdure.now() - w.lease)`\n", "w.seen > 0)`\n"}}},
	},
	{
		"a process runs one attempt of a queue more than it serves",
		map[string][]change{"internal/serve/serve.go": {{"free := min(s.free(i), most)", "free := min(s.free(i)+1, most)"}}},
	},
	{
		"a step transaction that failed is committed with its turn",
		map[string][]change{"store/postgres/hook.go": {{"	err = t.RunHook(lent)\n", "	if err = t.RunHook(lent); !errors.Is(err, store.ErrHookLeft) {\n		err = nil\n	}\n"}}},
	},
	{
		"a start is acknowledged before it is durable",
		map[string][]change{"internal/engine/local.go": {{"	r.started = append(r.started, started)\n", "	started <- nil\n"}}},
	},
	{
		"a run has its wake time later than the truth",
		map[string][]change{"internal/record/turn.go": {{"		stored := StoreState(*s)\n", "		stored := StoreState(*s)\n		if stored.Wake > store.Hot && stored.Wake < store.Never {\n			stored.Wake += int64(time.Hour)\n		}\n"}, {"import (\n", "import (\n	\"time\"\n\n"}}},
	},
	{
		"a run that has moved to another node is served at home, too",
		map[string][]change{"store/postgres/due.go": {{"WHERE partition = p.id AND ward = p.ward AND wake > p.after", "WHERE partition = p.id AND wake > p.after"}}},
	},
	{
		"what may have been done is repeated without a question",
		map[string][]change{"internal/core/verdict.go": {{"	return c.Policy.AfterUnknown(retry.TypeWorkerLost)\n", "	return retry.RepeatUnknown\n"}}},
	},
	{
		"what an effect is known by differs from attempt to attempt",
		map[string][]change{"activity/info.go": {{"		return a.info.CallID\n", "		return a.info.AttemptID\n"}}},
	},
}

// anUnknownCommit is what the committer does about a commit that was not answered.
const anUnknownCommit = `			c.watch.Away("committing turns", err)
			for _, p := range group {
				p.lost = true
			}
`

// neverRepeated are the changes of one that does not commit again what was not answered.
var neverRepeated = [2]change{
	{`			if !clock.Pause(c.ctx, backoff.Delay(k)) {
				return
			}
`, ""},
	{"	backoff := retry.Exponential(10*time.Millisecond, 2, time.Second)\n", "	_, _ = retry.Exponential, clock.Pause\n"},
}

// named returns the faults whose name has one of the texts, between which there is a |.
func named(only string) (some []protocolFault) {
	texts := strings.Split(only, "|")
	for _, f := range protocolFaults {
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(f.name, text) }) {
			some = append(some, f)
		}
	}
	return some
}
