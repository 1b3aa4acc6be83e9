package main

import (
	"bytes"
	"fmt"
	"strings"
)

// protocolFault is a fault in what keeps runs whole: who owns them, what is durable before what,
// what is told once. Texts of a file are others.
type protocolFault struct {
	name    string // what the engine with the fault does
	file    string
	changes []change
}

// change is one text of a file, which is there once, and what stands in its place.
type change struct{ was, is string }

// applied is the file with the fault.
func (f *protocolFault) applied(source []byte) ([]byte, error) {
	for _, c := range f.changes {
		if n := bytes.Count(source, []byte(c.was)); n != 1 {
			return nil, fmt.Errorf("%s: in %s this stands %d times, and should once:\n%s", f.name, f.file, n, c.was)
		}
		source = bytes.Replace(source, []byte(c.was), []byte(c.is), 1)
	}
	return source, nil
}

// protocolFaults are those that perdure torture must find.
var protocolFaults = []protocolFault{
	{
		"a commit is not fenced: an owner that was replaced still writes", "store/postgres/commit.go",
		[]change{{"ELSE perdure.refuse('`+unheardOf+`', 'a partition has another owner') END, set_config", "ELSE greatest(perdure.now(), max(clock)) END, set_config"}},
	},
	{
		"an attempt that ran in a process that is gone is taken for running", "internal/core/lost.go",
		[]change{{"if c.state == Dispatched && !slices.Contains(", "if c.state == Dispatched && c.Untold && !slices.Contains("}},
	},
	{
		"the loss of an attempt is not on record", "internal/core/lost.go",
		[]change{{"	r.record(c, Lost, nil, string(reason), max(r.now, c.StartedAt))\n", "	_ = reason\n"}},
	},
	{
		"the attempt after a lost one has its number", "internal/core/lost.go",
		[]change{{"		c.attempt++\n		if survived {", "		if survived {"}},
	},
	{
		"the attempt after a lost one does not give its gate back", "internal/core/lost.go",
		[]change{{"		r.backOffAtGates(c, gates.Neutral, r.now, false)\n", ""}},
	},
	{
		"a commit without an answer counts as durable", "internal/commit/commit.go",
		[]change{{"			c.watch.Away(\"committing turns\", err)\n			for _, p := range group {\n				p.lost = true\n			}\n", "			for _, p := range group {\n				p.done <- nil\n			}\n			return\n"}, {"			if !clock.Pause(c.ctx, backoff.Delay(k)) {\n				return\n			}\n", ""}, {"	backoff := retry.Exponential(10*time.Millisecond, 2, time.Second)\n	for k := 1; ; k++ {", "	_, _ = retry.Exponential, clock.Pause\n	for k := 1; ; k++ {"}},
	},
	{
		"a commit without an answer counts as refused", "internal/commit/commit.go",
		[]change{{"			c.watch.Away(\"committing turns\", err)\n			for _, p := range group {\n				p.lost = true\n			}\n", "			for _, p := range group {\n				p.done <- err\n			}\n			return\n"}, {"			if !clock.Pause(c.ctx, backoff.Delay(k)) {\n				return\n			}\n", ""}, {"	backoff := retry.Exponential(10*time.Millisecond, 2, time.Second)\n	for k := 1; ; k++ {", "	_, _ = retry.Exponential, clock.Pause\n	for k := 1; ; k++ {"}},
	},
	{
		"a turn that is durable already is not recognized", "store/postgres/consider.go",
		[]change{{"case s.taken && t.Number > 0 && s.commit == t.CommitID:", "case s.taken && t.Number > 0 && s.commit == t.CommitID+1:"}},
	},
	{
		"attempts begin before their turn is durable", "internal/engine/turn.go",
		[]change{{"	e.continues(r.resident, r.out)\n	return t, true, nil\n", `	e.continues(r.resident, r.out)
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range r.out.Dispatch {
		d := &r.out.Dispatch[i]
		slot := r.slots[d.Call]
		delete(r.slots, d.Call)
		e.begin(r, d, slot)
	}
	r.out.Dispatch = r.out.Dispatch[:0]
	return t, true, nil
`}},
	},
	{
		"what a turn has read stays in the inbox", "store/postgres/write.go",
		[]change{{"	b.count(turns)\n	b.consume(turns)\n", "	b.count(turns)\n"}},
	},
	{
		"a signal that comes twice counts twice", "internal/core/runcontrol.go",
		[]change{{"if r.signals.seen.has(signalKey(in.Signal, in.signalID())) {", "if in.Signal == \"\" {"}},
	},
	{
		"a gate lets one more pass", "internal/gates/admit.go",
		[]change{{"if m.holders >= m.config.Limit {", "if m.holders > m.config.Limit {"}},
	},
	{
		"a task that a worker has is claimed by another one", "store/postgres/task.go",
		[]change{{"WHERE queue = $2 AND NOT suspect AND worker = '' AND name", "WHERE queue = $2 AND NOT suspect AND NOT settled AND name"}},
	},
	{
		"tasks of a dead worker are never offered again", "store/postgres/task.go",
		[]change{{"w.seen > perdure.now() - w.lease)`\n", "w.seen > 0)`\n"}},
	},
	{
		"a process runs one attempt of a queue more than it serves", "internal/serve/serve.go",
		[]change{{"free := min(s.free(i), most)", "free := min(s.free(i)+1, most)"}},
	},
	{
		"a step transaction that failed is committed with its turn", "store/postgres/hook.go",
		[]change{{"	err = t.RunHook(lent)\n", "	if err = t.RunHook(lent); !errors.Is(err, store.ErrHookLeft) {\n		err = nil\n	}\n"}},
	},
	{
		"a start is acknowledged before it is durable", "internal/engine/local.go",
		[]change{{"	r.started = append(r.started, started)\n", "	started <- nil\n"}},
	},
	{
		"a run has its wake time later than the truth", "internal/engine/turn.go",
		[]change{{"		s := record.StoreState(*out.State)\n", "		s := record.StoreState(*out.State)\n		if s.Wake > store.Hot && s.Wake < store.Never {\n			s.Wake += int64(time.Hour)\n		}\n"}, {"import (\n", "import (\n	\"time\"\n"}},
	},
	{
		"a run that has moved to another node is served at home, too", "store/postgres/due.go",
		[]change{{"WHERE partition = p.id AND ward = p.ward AND wake > p.after", "WHERE partition = p.id AND wake > p.after"}},
	},
	{
		"what an effect is known by differs from attempt to attempt", "activity/info.go",
		[]change{{"		return a.info.CallID\n", "		return a.info.AttemptID\n"}},
	},
}

// named returns the faults whose name has the text.
func named(only string) (some []protocolFault) {
	for _, f := range protocolFaults {
		if strings.Contains(f.name, only) {
			some = append(some, f)
		}
	}
	return some
}
