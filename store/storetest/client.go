package storetest

import (
	"errors"
	"fmt"
	"math"

	"github.com/perdure/perdure/store"
)

// clientChecks are about Create and Post.
var clientChecks = []check{
	{"Client/CreateTellsTheOwner", func(f *fixture) {
		run := f.newRun()
		client := f.open()
		f.must(client.Create(f.Context(), run))
		equal(f, f.find(run.ID), run)
		inbox := f.inbox()
		equal(f, len(inbox), 1)
		m := inbox[0]
		if m.Posted <= 0 || m.Sequence <= 0 {
			f.Errorf("the store gave no time or number: %+v", m)
		}
		equal(f, m, store.Message{Partition: f.partition, Sequence: m.Sequence, WorkflowID: run.WorkflowID, Run: run.ID,
			Key: store.CreatedKey(run.ID), Kind: store.KindCreated, Posted: m.Posted})
		equal(f, f.due(-1, 0, 0), []store.Wake{{Partition: f.partition, Run: run.ID}})
	}},
	{"Client/CreateInLineLeavesNoMessage", func(f *fixture) {
		run := f.newRun(func(r *store.Run) { r.Wake = store.InLine(3, r.Created) })
		for range 2 {
			f.must(f.open().Create(f.Context(), run))
		}
		equal(f, f.find(run.ID), run)
		equal(f, len(f.inbox()), 0)
		equal(f, f.due(-1, store.Never, 0), nil)
		equal(f, f.due(math.MinInt64, store.LastInLine, 0), []store.Wake{{Partition: f.partition, Run: run.ID, Time: run.Wake}})
		run = f.newRun(in(f.partition+1000), waking(store.InLine(0, run.Created)))
		f.malformed(f.store.Create(f.Context(), run))
	}},
	{"Client/CreateTwiceIsOnce", func(f *fixture) {
		run := f.started()
		f.must(f.store.Create(f.Context(), run))
		equal(f, len(f.inbox()), 1)
		f.commits(f.first(run, consuming(f.inbox()[0]), ending(store.Completed)))
		f.must(f.store.Create(f.Context(), run)) // even when all is over
		equal(f, len(f.inbox()), 0)
		equal(f, f.find(run.ID).Status, store.Completed)
	}},
	{"Client/CreateConflictsWithATakenID", func(f *fixture) {
		run := f.created()
		f.conflict(f.store.Create(f.Context(), f.newRun(rivaling(run))), run)
		equal(f, len(f.inbox()), 0)
	}},
	{"Client/CreateRefusesMalformedRuns", func(f *fixture) {
		spoiled(f, f.newRun(), func(r store.Run) error { return f.store.Create(f.Context(), r) },
			func(r *store.Run) { r.Partition += 1000 },
			func(r *store.Run) { r.Partition = -1 },
			func(r *store.Run) { r.ID = "" },
			func(r *store.Run) { r.WorkflowID = "" },
			func(r *store.Run) { r.WorkflowID = "a\x00b" },
			func(r *store.Run) { r.Type = "\xff" },
			func(r *store.Run) { r.Status = "" },
		)
		equal(f, len(f.list(store.Filter{})), 0)
	}},
	{"Client/PostReachesTheInboxInOrder", func(f *fixture) {
		run := f.created()
		client := f.open()
		for _, key := range []string{"c", "a", "b"} {
			f.must(client.Post(f.Context(), store.Message{Partition: f.partition, WorkflowID: run.WorkflowID, Key: key, Kind: "signal", Data: []byte(key)}))
		}
		inbox := f.inbox()
		equal(f, keys(inbox), []string{"c", "a", "b"})
		for i, m := range inbox {
			equal(f, m, store.Message{Partition: f.partition, Sequence: m.Sequence, WorkflowID: run.WorkflowID, Key: m.Key, Kind: "signal", Data: []byte(m.Key), Posted: m.Posted})
			if m.Posted <= 0 || i > 0 && (m.Sequence <= inbox[i-1].Sequence || m.Posted < inbox[i-1].Posted) {
				f.Errorf("message %d has number %d and time %d", i, m.Sequence, m.Posted)
			}
		}
	}},
	{"Client/PostTwiceIsOnceWhileItWaits", func(f *fixture) {
		run, other := f.created(), f.created()
		m := store.Message{Partition: f.partition, WorkflowID: run.WorkflowID, Key: "k", Data: []byte("1")}
		f.must(f.store.Post(f.Context(), m))
		again := m
		again.Data = []byte("2")
		f.must(f.store.Post(f.Context(), again))
		elsewhere := m
		elsewhere.WorkflowID = other.WorkflowID
		f.must(f.store.Post(f.Context(), elsewhere))
		inbox := f.inbox()
		equal(f, len(inbox), 2)
		equal(f, string(inbox[0].Data), "1")
		f.commits(f.turn(run, 2, consuming(inbox[0])))
		f.must(f.store.Post(f.Context(), m)) // nothing of the name waits now
		after := f.inbox()
		equal(f, len(after), 2)
		if after[1].Sequence <= inbox[1].Sequence {
			f.Errorf("number %d was given after %d", after[1].Sequence, inbox[1].Sequence)
		}
	}},
	{"Client/PostInTheStead", func(f *fixture) {
		run, other := f.created(), f.created()
		m := store.Message{Partition: f.partition, WorkflowID: run.WorkflowID, Key: "k", Kind: "a", Data: []byte("1"), Replace: true}
		elsewhere, end := m, m
		elsewhere.WorkflowID, end.Key = other.WorkflowID, "end"
		for _, m := range []store.Message{m, elsewhere, end} {
			f.must(f.store.Post(f.Context(), m))
		}
		first := f.inbox()
		equal(f, len(first), 3)
		m.Run, m.Kind, m.Data = run.ID, "b", []byte("2")
		f.must(f.store.Post(f.Context(), m))
		f.must(f.open().Post(f.Context(), m))
		after := f.inbox()
		equal(f, after[:2], first[1:])
		equal(f, len(after), 3)
		last := after[2]
		if last.Sequence <= first[2].Sequence || last.Posted < first[0].Posted {
			f.Errorf("%+v stands for %+v", last, first[0])
		}
		equal(f, last, store.Message{Partition: f.partition, Sequence: last.Sequence, WorkflowID: run.WorkflowID, Run: run.ID, Key: "k", Kind: "b", Data: []byte("2"), Posted: last.Posted})
		f.commits(f.turn(run, 2, consuming(first[0]))) // of which the owner knew
		equal(f, len(f.inbox()), 3)
		f.commits(f.turn(run, 3, consuming(last)))
		f.must(f.store.Post(f.Context(), m)) // nothing waits
		equal(f, len(f.inbox()), 3)
		send := f.turn(run, 4)
		send.Messages = []store.Message{{Partition: f.partition, WorkflowID: run.WorkflowID, Key: "k", Replace: true}}
		f.malformed(f.commit(send)[0])
		m.WorkflowID = "unknown"
		f.is(f.store.Post(f.Context(), m), store.ErrNotFound)
	}},
	{"Client/PostToNobody", func(f *fixture) {
		run := f.created()
		post := func(m store.Message) error {
			m.Partition, m.Key = f.partition, "k"
			return f.store.Post(f.Context(), m)
		}
		f.is(post(store.Message{WorkflowID: "unknown"}), store.ErrNotFound)
		f.is(post(store.Message{WorkflowID: run.WorkflowID, Run: "unknown"}), store.ErrNotFound)
		f.is(post(store.Message{WorkflowID: "unknown", Run: run.ID}), store.ErrNotFound)
		f.is(post(store.Message{WorkflowID: run.WorkflowID, Run: run.ID}), nil)
		next := f.newRun(following(run))
		f.commits(f.turn(run, 2, continuing(next), consuming(f.inbox()[0])))
		f.is(post(store.Message{WorkflowID: run.WorkflowID, Run: run.ID}), store.ErrClosed)
		f.is(post(store.Message{WorkflowID: run.WorkflowID, Run: next.ID}), nil)
		f.commits(f.turn(next, 1, ending(store.Terminated), consuming(f.inbox()[0])))
		f.is(post(store.Message{WorkflowID: run.WorkflowID}), store.ErrClosed)
		equal(f, len(f.inbox()), 0)
	}},
	{"Client/PostIfThereIsRoom", func(f *fixture) {
		run, other := f.created(), f.created()
		post := func(to store.Run, key string, ifRoom bool) error {
			return f.store.Post(f.Context(), store.Message{Partition: f.partition, WorkflowID: to.WorkflowID, Key: key, Kind: "signal", IfRoom: ifRoom})
		}
		f.must(post(run, "before", true))
		state := func(n int64, full bool) {
			f.Helper()
			parked := store.RunState{Status: store.Parked, Wake: store.Never, Full: full}
			f.commits(f.turn(run, n, stating(parked)))
			equal(f, f.find(run.ID).RunState, parked)
		}
		state(2, true)
		f.is(post(run, "refused", true), store.ErrFull)
		f.is(f.store.Post(f.Context(), store.Message{Partition: f.partition, WorkflowID: run.WorkflowID, Run: run.ID, Key: "refused", IfRoom: true}), store.ErrFull)
		f.must(post(run, "urgent", false))
		f.must(post(other, "elsewhere", true))
		state(3, false)
		f.must(post(run, "after", true))
		equal(f, keys(f.inbox()), []string{"before", "urgent", "elsewhere", "after"})
		next := f.created(func(r *store.Run) { r.Full = true })
		f.is(post(next, "refused", true), store.ErrFull)
	}},
	{"Client/PostForTheOwner", func(f *fixture) {
		run := f.created()
		f.closes(run, 2, store.Completed)
		m := store.Message{Partition: f.partition, WorkflowID: run.WorkflowID, Run: run.ID, Key: "k", Kind: "query", Data: []byte("1"), ForOwner: true, Ordered: true}
		f.must(f.store.Post(f.Context(), m))
		f.must(f.store.Post(f.Context(), m)) // once while it waits
		m.WorkflowID, m.Run = "unknown", ""
		f.must(f.store.Post(f.Context(), m))
		inbox := f.inbox()
		equal(f, len(inbox), 2)
		equal(f, inbox[0], store.Message{
			Partition: f.partition, Sequence: inbox[0].Sequence, WorkflowID: run.WorkflowID, Run: run.ID, Key: "k",
			Kind: "query", Data: []byte("1"), Posted: inbox[0].Posted,
		})
	}},
	{"Client/TakeRemovesWhatItReadsAndPostedDoesNot", func(f *fixture) {
		run := f.created()
		t := f.turn(run, 2)
		for _, key := range []string{"b", "a"} {
			t.Messages = append(t.Messages, store.Message{Partition: f.partition, WorkflowID: "asker", Key: key, Kind: "answer", Data: []byte(key)})
		}
		t.Messages = append(t.Messages, store.Message{Partition: f.partition, WorkflowID: "asker-2", Key: "a", Data: []byte{}})
		f.commits(t)
		client := f.open()
		before := f.inbox()
		for range 2 { // reading removes nothing
			equal(f, must(client.Posted(f.Context(), f.partition, "asker"))(f), before[:2])
		}
		equal(f, must(client.Take(f.Context(), f.partition, "asker"))(f), before[:2])
		equal(f, len(must(client.Posted(f.Context(), f.partition, "asker"))(f)), 0)
		equal(f, len(must(client.Take(f.Context(), f.partition, "asker"))(f)), 0)
		equal(f, keys(f.inbox()), []string{"a"})
		equal(f, len(must(client.Take(f.Context(), 1<<20, "asker-2"))(f)), 0) // a partition that there is not
	}},
	{"Client/PostReachesWaitingAndParkedRuns", func(f *fixture) {
		for _, status := range []store.Status{store.WaitingForCode, store.Parked} {
			f.posts(f.created(func(r *store.Run) { r.Status = status }), "k")
		}
	}},
	{"Client/PostRefusesMalformedMessages", func(f *fixture) {
		good := store.Message{Partition: f.partition, WorkflowID: f.created().WorkflowID, Key: "k"}
		spoiled(f, good, func(m store.Message) error { return f.store.Post(f.Context(), m) },
			func(m *store.Message) { m.Partition = -1 },
			func(m *store.Message) { m.WorkflowID = "" },
			func(m *store.Message) { m.Key = "" },
			func(m *store.Message) { m.Key = "\x00" },
			func(m *store.Message) { m.Kind = "\xff" },
		)
		equal(f, len(f.inbox()), 0)
	}},
}

// inboxChecks are about messages that turns send and consume.
var inboxChecks = []check{
	{"Inbox/PagesByNumber", func(f *fixture) {
		run := f.created()
		for _, key := range []string{"a", "b", "c", "d"} {
			f.posts(run, key)
		}
		page := f.readInbox(store.InboxRead{Limit: 3}, f.partition)
		equal(f, keys(page), []string{"a", "b", "c"})
		page = f.readInbox(store.InboxRead{After: page[2].Sequence, Limit: 3}, f.partition)
		equal(f, keys(page), []string{"d"})
		equal(f, len(f.readInbox(store.InboxRead{After: page[0].Sequence, Limit: 3}, f.partition)), 0)
		other, third := f.created(), f.created()
		for i, to := range []store.Run{other, run, third, other} {
			f.posts(to, fmt.Sprint("later ", i))
		}
		of := func(limit int, runs ...store.Run) (got []string) {
			read := store.InboxRead{Limit: limit, Of: []string{"nobody"}}
			for _, r := range runs {
				read.Of = append(read.Of, r.WorkflowID, r.WorkflowID)
			}
			for {
				page := f.readInbox(read, f.partition)
				for _, m := range page {
					got, read.After = append(got, m.WorkflowID), m.Sequence
				}
				if len(page) < max(limit, 1) {
					return got
				}
			}
		}
		for _, limit := range []int{1, 2, 1000} {
			equal(f, of(limit), nil)
			equal(f, of(limit, other), []string{other.WorkflowID, other.WorkflowID})
			equal(f, of(limit, run, other), []string{run.WorkflowID, run.WorkflowID, run.WorkflowID, run.WorkflowID, other.WorkflowID, run.WorkflowID, other.WorkflowID})
		}
		equal(f, len(f.inbox()), 8)
	}},
	{"Inbox/ConsumedIsGoneAndNumbersAreNotUsedAgain", func(f *fixture) {
		run := f.created()
		var last int64
		for i := range int64(5) {
			f.posts(run, "k")
			inbox := f.inbox()
			equal(f, len(inbox), 1)
			if inbox[0].Sequence <= last {
				f.Fatalf("number %d after %d", inbox[0].Sequence, last)
			}
			last = inbox[0].Sequence
			f.commits(f.turn(run, i+2, consuming(inbox[0], store.Message{Sequence: last + 1000})))
			equal(f, len(f.inbox()), 0)
		}
	}},
	{"Inbox/ConsumedByATurnOfNoRun", func(f *fixture) {
		run := f.created()
		f.posts(run, "k")
		f.commits(store.Turn{Partition: f.partition, Epoch: f.epoch, Consumed: []int64{f.inbox()[0].Sequence}})
		equal(f, len(f.inbox()), 0)
	}},
	{"Inbox/MessagesOfATurnAreDeliveredOnceAndToAnybody", func(f *fixture) {
		run := f.created()
		t := f.turn(run, 2)
		t.Messages = []store.Message{
			{Partition: f.partition, WorkflowID: "not yet there", Run: "r", Key: "1", Kind: "start-child", Data: []byte("x")},
			{Partition: f.partition, WorkflowID: run.WorkflowID, Key: "2"},
			{Partition: f.partition, WorkflowID: run.WorkflowID, Key: "2"},
		}
		f.commits(t)
		inbox := f.inbox()
		equal(f, keys(inbox), []string{"1", "2"})
		if inbox[0].Posted <= 0 {
			f.Error("the message has no time")
		}
		equal(f, inbox[0], store.Message{Partition: f.partition, Sequence: inbox[0].Sequence, WorkflowID: "not yet there", Run: "r", Key: "1", Kind: "start-child", Data: []byte("x"), Posted: inbox[0].Posted})
		f.commits(t)
		equal(f, len(f.inbox()), 2)
		eat := f.turn(run, 3, consuming(inbox...))
		f.commits(eat)
		f.commits(t, eat) // durable turns: nothing comes back
		equal(f, len(f.inbox()), 0)
	}},
	{"Inbox/OtherPartitionsAreReachedOnceAndWithTheTurn", func(f *fixture) {
		run, there := f.created(), f.elsewhere()
		t := f.turn(run, 2)
		t.Messages = []store.Message{{Partition: there, WorkflowID: "w", Key: "k", Data: []byte("x")}, {Partition: f.partition, WorkflowID: "w", Key: "k"}}
		f.claim()
		f.refuses(t, store.ErrFenced) // of the old epoch
		equal(f, len(f.inbox(there, f.partition)), 0)
		t.Epoch = f.epoch
		f.commits(t, t)
		f.commits(t)
		equal(f, len(f.inbox()), 1)
		waiting := f.inbox(there)
		equal(f, len(waiting), 1)
		m := waiting[0]
		equal(f, m, store.Message{Partition: there, Sequence: m.Sequence, WorkflowID: "w", Key: "k", Data: []byte("x"), Posted: m.Posted})
		if m.Posted <= 0 {
			f.Error("the message has no time")
		}
		f.is(errorOf(f.store.Find(f.Context(), there, "", run.ID)), store.ErrNotFound)
		// Numbers belong to partitions: nobody consumes what is another's.
		f.commits(f.turn(run, 3, consuming(m)))
		equal(f, len(f.inbox(there)), 1)
	}},
	{"Inbox/MessageToNowhereRefusesItsTurnAlone", func(f *fixture) {
		run, other := f.created(), f.created()
		lost := store.Message{Partition: f.partition + 1000, WorkflowID: "w", Key: "k"}
		t := f.turn(run, 2, ending(store.Failed), sending(lost))
		errs := f.commit(f.turn(other, 2), t, f.turn(other, 3))
		f.malformed(errs[1])
		f.is(errors.Join(errs[0], errs[2]), nil)
		equal(f, f.find(run.ID), run)
		equal(f, len(f.history(other.ID)), 3)
	}},
	{"Inbox/SeveralPartitionsByNumber", func(f *fixture) {
		run, there := f.created(), f.elsewhere()
		away := f.started(in(there))
		for _, key := range []string{"a", "b", "c"} {
			f.posts(run, key)
			f.must(f.store.Post(f.Context(), store.Message{Partition: there, WorkflowID: away.WorkflowID, Key: key}))
		}
		all := f.inbox(f.partition, there)
		equal(f, keys(all), []string{store.CreatedKey(away.ID), "a", "a", "b", "b", "c", "c"})
		for i, m := range all {
			if i > 0 && m.Sequence <= all[i-1].Sequence {
				f.Fatalf("numbers are not unique, or out of order: %+v", all)
			}
			want := f.partition
			if i%2 == 0 {
				want = there
			}
			equal(f, m.Partition, want)
		}
		equal(f, f.inbox(there, f.partition, there), all)
		equal(f, f.inbox(there), []store.Message{all[0], all[2], all[4], all[6]})
		equal(f, f.readInbox(store.InboxRead{After: all[1].Sequence, Limit: 3}, there, f.partition), all[2:5])
		equal(f, len(must(f.store.Inbox(f.Context(), nil, store.InboxRead{}))(f)), 0)
	}},
}
