package storetest

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/store"
)

// taskChecks are about attempts that are offered in queues.
var taskChecks = []check{
	{"Task/IsOfferedClaimedSettledAndOver", func(f *fixture) {
		f.attend("w1")
		run := f.offer(task(1, 1))
		equal(f, f.backlogs(), []store.Backlog{{Queue: "gpu", Name: "render", Waiting: 1, Oldest: 100}})
		waiting := f.tasks(store.TaskFilter{Partitions: []int{f.partition}})
		equal(f, len(waiting), 1)
		equal(f, string(waiting[0].Data), "data 1/1")
		claimed := f.claimTasks("w1", 5)
		equal(f, len(claimed), 1)
		c := claimed[0]
		if c.Worker != "w1" || c.Claimed == 0 || c.Run != run.ID || c.Partition != f.partition || c.Attempt != 1 || string(c.Data) != "data 1/1" || c.WorkflowID != run.WorkflowID {
			f.Errorf("claimed %+v", c)
		}
		equal(f, len(f.claimTasks("w1", 5)), 0)
		told := f.inbox()
		equal(f, len(told), 1)
		want := c.ClaimedMessage("w1", "name of w1")
		equal(f, [4]string{told[0].Kind, told[0].Key, told[0].Run, string(told[0].Data)}, [4]string{want.Kind, want.Key, run.ID, string(want.Data)})
		equal(f, f.backlogs(), []store.Backlog{{Queue: "gpu", Name: "render", Running: 1}})
		equal(f, f.attend("w1"), []store.TaskRef{c.TaskRef})
		for range 2 { // the answer was lost
			equal(f, f.settle("w1", c.TaskRef), []error{nil})
		}
		equal(f, len(f.inbox()), 2)
		equal(f, len(f.attend("w1")), 0)
		equal(f, len(f.backlogs()), 0)
		f.commits(store.Turn{Partition: f.partition, Epoch: f.epoch, Run: run.ID, Over: []store.TaskRef{c.TaskRef}})
		equal(f, len(f.tasks(store.TaskFilter{})), 0)
		equal(f, f.settle("w1", c.TaskRef), []error{store.ErrStale})
	}},
	{"Task/OfAnotherAttemptOrWorkerIsStale", func(f *fixture) {
		f.attend("w1")
		f.attend("w2")
		f.offer(task(1, 1))
		ref := f.claimTasks("w1", 1)[0].TaskRef
		equal(f, f.settle("w2", ref), []error{store.ErrStale})
		next := ref
		next.Attempt = 2
		equal(f, f.settle("w1", next), []error{store.ErrStale})
		f.commits(store.Turn{Partition: f.partition, Epoch: f.epoch, Run: ref.Run, Over: []store.TaskRef{ref}, Offered: []store.Task{task(1, 2)}})
		equal(f, f.settle("w1", ref), []error{store.ErrStale})
		equal(f, len(f.attend("w1")), 0)
		equal(f, f.claimTasks("w2", 1)[0].Attempt, 2)
		equal(f, len(f.inbox()), 2)
	}},
	{"Task/ARepeatedOfferTakesNothingBack", func(f *fixture) {
		f.attend("w1")
		offer := store.Turn{Partition: f.partition, Epoch: f.epoch, Run: f.created().ID, Offered: []store.Task{task(1, 1)}}
		f.commits(offer)
		ref := f.claimTasks("w1", 1)[0].TaskRef
		f.commits(offer)
		equal(f, f.attend("w1"), []store.TaskRef{ref})
		equal(f, len(f.claimTasks("w1", 1)), 0)
	}},
	{"Task/IsNotClaimedWhenItsTimeIsOver", func(f *fixture) {
		f.attend("w1")
		t := task(1, 1)
		t.Latest = 1
		run := f.offer(t)
		again := func(latest int64) {
			t.Latest = latest
			f.commits(store.Turn{Partition: f.partition, Epoch: f.epoch, Run: run.ID, Offered: []store.Task{t}})
		}
		equal(f, len(f.claimTasks("w1", 5)), 0)
		equal(f, f.tasks(store.TaskFilter{Run: run.ID})[0].Latest, int64(1))
		again(math.MaxInt64 - 1) // its time has moved
		claimed := f.claimTasks("w1", 5)
		equal(f, len(claimed), 1)
		equal(f, claimed[0].Latest, int64(math.MaxInt64-1))
		again(2)
		equal(f, f.attend("w1"), []store.TaskRef{claimed[0].TaskRef})
		equal(f, f.tasks(store.TaskFilter{Run: run.ID})[0].Latest, int64(math.MaxInt64-1))
	}},
	{"Task/IsWithdrawnUnlessItIsClaimed", func(f *fixture) {
		f.attend("w1")
		run := f.offer(task(1, 1), task(2, 1))
		other := f.newRun()
		withdraw := func(number int64) store.Turn { return f.turn(run, number+1, withdrawing(number)) }
		f.commits(withdraw(1))
		claimed := f.claimTasks("w1", 5)
		equal(f, numbers(claimed), []int64{2})
		f.commits(f.first(other))
		beside := f.turn(other, 2)
		equal(f, f.commit(withdraw(2), beside), []error{store.ErrClaimed, nil})
		f.settle("w1", claimed[0].TaskRef)
		equal(f, f.commit(withdraw(2)), []error{store.ErrClaimed})
		equal(f, len(f.history(run.ID)), 2)
		equal(f, len(f.history(other.ID)), 2)
		gone := withdraw(2)
		gone.Withdrawn[0].Attempt = 7
		f.commits(gone)
	}},
	{"Task/IsGivenUpUnlessItIsSettled", func(f *fixture) {
		f.attend("w1")
		run := f.offer(task(1, 1), task(2, 1))
		other := f.newRun()
		giveUp := func(number int64) store.Turn {
			return f.turn(run, 2, func(t *store.Turn) { t.GivenUp = []store.TaskRef{{Number: number, Attempt: 1}} })
		}
		claimed := f.claimTasks("w1", 5)
		equal(f, len(claimed), 2)
		equal(f, f.settle("w1", claimed[1].TaskRef), []error{nil})
		f.commits(f.first(other))
		equal(f, f.commit(giveUp(2), f.turn(other, 2)), []error{store.ErrClaimed, nil})
		equal(f, len(f.inbox()), 3)
		f.commits(giveUp(1))
		equal(f, f.settle("w1", claimed[0].TaskRef), []error{store.ErrStale})
		equal(f, len(f.inbox()), 3)
		equal(f, len(f.history(run.ID)), 2)
		over := f.turn(run, 3)
		over.Over, over.GivenUp = []store.TaskRef{{Number: 2, Attempt: 1}}, []store.TaskRef{{Number: 1, Attempt: 1}}
		f.commits(over)
		equal(f, len(f.tasks(store.TaskFilter{Run: run.ID})), 0)
	}},
	{"Task/ByPriorityThenAge", func(f *fixture) {
		f.attend("w1")
		var tasks []store.Task
		for i, p := range []int{0, 5, 0, 5} {
			t := task(int64(i+1), 1)
			t.Priority, t.Offered = p, int64(100-i)
			tasks = append(tasks, t)
		}
		f.offer(tasks...)
		equal(f, numbers(append(f.claimTasks("w1", 3), f.claimTasks("w1", 3)...)), []int64{4, 2, 3, 1})
	}},
	{"Task/KeysTakeTurns", func(f *fixture) {
		f.attend("w1")
		var tasks []store.Task
		offer := func(key string, weight, n int) {
			for range n {
				t := task(int64(len(tasks)+1), 1)
				t.Key, t.Weight, t.Offered = key, weight, int64(100+len(tasks))
				tasks = append(tasks, t)
			}
		}
		offer("a", 0, 6)  // 1 to 6
		offer("b", 2, 5)  // 7 to 11
		offer("", 0, 2)   // 12, 13
		offer("ab", 1, 1) // 14
		tasks[4].Priority = 1
		f.offer(tasks...)
		var turns store.Turns
		next := func(limit int) []int64 {
			claim := f.taskClaim("w1", limit)
			claim.From, claim.Spent = turns.From, turns.Spent
			claimed := must(f.store.ClaimTasks(f.Context(), claim))(f)
			turns = store.After(claim.Turns, claimed, store.KeyOfTask)
			return numbers(claimed)
		}
		equal(f, next(3), []int64{12, 5, 14}) // of "", a and ab, whose turn it is; 5 is of a higher priority
		equal(f, next(1), []int64{7})         // b has two
		equal(f, next(1), []int64{8})
		equal(f, next(5), []int64{13, 1, 9, 10, 2})
		equal(f, next(9), []int64{11, 3, 4, 6})
		equal(f, next(9), nil)
	}},
	{"Task/ASuspectGoesFirst", func(f *fixture) {
		f.attend("w1")
		one, two, three := task(1, 1), task(2, 1), task(3, 1)
		one.Offered, two.Offered, three.Offered = 1, 2, 3
		three.Suspect, two.Key = true, "b"
		f.offer(one, two, three)
		equal(f, numbers(f.claimTasks("w1", 2)), []int64{3, 1})
	}},
	{"Task/OfQueueNameAndGroup", func(f *fixture) {
		f.attend("w1")
		mail, other := task(1, 1), task(2, 1)
		mail.Queue, other.Name = "mail", "other"
		f.offer(mail, other, task(3, 1))
		claim := f.taskClaim("w1", 5)
		elsewhere := claim
		elsewhere.Partitions = f.makeGroup("elsewhere")
		for _, c := range []store.TaskClaim{elsewhere, {Worker: "w1", Queue: "gpu", Turns: store.Turns{Limit: 1}, Partitions: f.group}} {
			equal(f, len(must(f.store.ClaimTasks(f.Context(), c))(f)), 0)
		}
		equal(f, numbers(f.claimTasks("w1", 5)), []int64{3})
		for _, c := range []store.TaskClaim{{Queue: "gpu", Turns: store.Turns{Limit: 1}}, {Worker: "w1", Turns: store.Turns{Limit: 1}}, {Worker: "w1", Queue: "gpu"}} {
			f.malformed(errorOf(f.store.ClaimTasks(f.Context(), c)))
		}
	}},
	{"Task/OneSuspectAtATime", func(f *fixture) {
		f.attend("w1")
		var tasks []store.Task
		for i := range int64(4) {
			t := task(i+1, 1)
			t.Suspect = i < 3
			tasks = append(tasks, t)
		}
		f.offer(tasks...)
		claim := f.taskClaim("w1", 9)
		equal(f, len(must(f.store.ClaimTasks(f.Context(), claim))(f)), 2)
		claim.Suspects = false
		equal(f, len(must(f.store.ClaimTasks(f.Context(), claim))(f)), 0)
	}},
	{"Task/OfAWorkerThatIsGoneIsLost", func(f *fixture) {
		f.attend("w1")
		f.offer(task(1, 1), task(2, 1))
		ref := f.claimTasks("w1", 1)[0].TaskRef
		equal(f, len(f.tasks(store.TaskFilter{Lost: true})), 0)
		w := f.worker("w1")
		w.Left = true
		f.must(errorOf(f.store.Attend(f.Context(), w)))
		lost := f.tasks(store.TaskFilter{Lost: true, Partitions: []int{f.partition}})
		equal(f, each(lost, func(t store.Task) store.TaskRef { return t.TaskRef }), []store.TaskRef{ref})
		equal(f, len(f.tasks(store.TaskFilter{Lost: true, Partitions: []int{}})), 0)
		equal(f, len(f.claimTasks("w1", 1)), 0)
		equal(f, len(f.claimTasks("nobody", 1)), 0)
		workers := must(f.store.Workers(f.Context()))(f)
		equal(f, len(workers), 1)
		if s := workers[0]; s.Live || !s.Left || s.Claimed != 1 || s.Name != "name of w1" || string(s.Serves) != "gpu" || s.Group != f.group.Name {
			f.Errorf("the worker is %+v", s)
		}
	}},
	{"Task/ItsWorkerIsAskedToStopIt", func(f *fixture) {
		f.attend("w1")
		run := f.offer(task(1, 1))
		ref := f.claimTasks("w1", 1)[0].TaskRef
		f.commits(store.Turn{Partition: f.partition, Epoch: f.epoch, Run: run.ID, Stopped: []store.TaskRef{ref}})
		equal(f, must(f.store.Attend(f.Context(), f.worker("w1")))(f).Held, []store.HeldTask{{TaskRef: ref, Stopped: true}})
		f.commits(store.Turn{Partition: f.partition, Epoch: f.epoch, Run: run.ID, Over: []store.TaskRef{ref}, Offered: []store.Task{task(1, 2)}})
		f.claimTasks("w1", 1)
		equal(f, must(f.store.Attend(f.Context(), f.worker("w1")))(f).Held[0].Stopped, false)
	}},
	{"Task/EachIsClaimedOnce", func(f *fixture) {
		var tasks []store.Task
		const many = 40
		for i := range int64(many) {
			tasks = append(tasks, task(i+1, 1))
		}
		f.offer(tasks...)
		var wg sync.WaitGroup
		var mu sync.Mutex
		var all []int64
		for i := range 4 {
			id, s := fmt.Sprint("w", i), f.open()
			f.must(errorOf(s.Attend(f.Context(), f.worker(id))))
			wg.Go(func() {
				for misses := 0; misses < 3; {
					got, err := s.ClaimTasks(f.Context(), f.taskClaim(id, 3))
					if store.Unavailable(err) {
						continue
					}
					if !f.well(err) {
						return
					}
					if len(got) == 0 {
						misses++ // others may be about to claim the rest
					}
					mu.Lock()
					for _, t := range got {
						all = append(all, t.Number)
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		slices.Sort(all)
		equal(f, len(all), many)
		equal(f, len(slices.Compact(all)), many)
		equal(f, len(f.inbox()), many)
	}},
	{"Task/AClaimAndAWithdrawalRace", func(f *fixture) {
		f.attend("w1")
		client := f.open()
		for i := range 20 {
			run := f.offer(task(1, 1))
			var claimed []store.Task
			var wg sync.WaitGroup
			wg.Go(func() {
				for err := error(nil); ; {
					if claimed, err = client.ClaimTasks(f.Context(), f.taskClaim("w1", 1)); !store.Unavailable(err) {
						return
					}
				}
			})
			errs := f.commitAvailable(f.turn(run, 2, withdrawing(1)))
			wg.Wait()
			if won := errs[0] == nil; won == (len(claimed) == 1) || !won && errs[0] != store.ErrClaimed {
				f.Fatalf("round %d: the turn was answered %v and %d tasks were claimed", i, errs, len(claimed))
			}
			for _, c := range claimed {
				f.settle("w1", c.TaskRef)
			}
		}
	}},
	{"Task/AnEndAndALossRace", func(f *fixture) {
		f.attend("w1")
		client := f.open()
		for i := range 20 {
			run := f.offer(task(1, 1), task(2, 1))
			claimed := f.claimTasks("w1", 2)
			lose := f.turn(run, 2)
			var settled []store.SettledTask
			for _, c := range claimed {
				lose.GivenUp = append(lose.GivenUp, c.TaskRef)
				settled = append(settled, store.SettledTask{TaskRef: c.TaskRef, Message: f.ends(c.TaskRef)})
			}
			var told []error
			var wg sync.WaitGroup
			wg.Go(func() {
				for err := error(nil); ; {
					if told, err = client.SettleTasks(f.Context(), "w1", settled); !store.Unavailable(err) {
						return
					}
				}
			})
			errs := f.commitAvailable(lose)
			wg.Wait()
			taken := len(told) == 2 && told[0] == nil && told[1] == nil
			stale := len(told) == 2 && told[0] == store.ErrStale && told[1] == store.ErrStale
			if !(errs[0] == nil && stale || errs[0] == store.ErrClaimed && taken) {
				f.Fatalf("round %d: the turn was answered %v and the worker %v", i, errs, told)
			}
		}
	}},
	{"Task/IsHeard", func(f *fixture) {
		f.attend("w1")
		client := f.open()
		for _, ear := range []store.Store{f.store, client} {
			l := f.listen(ear)
			l.settle()
			f.offer(task(1, 1))
			l.expect(store.NewsTasks)
			l.settle()
			got := f.claimTasks("w1", 1)
			l.expectOne(store.NewsClaims | store.NewsMessage)
			l.settle()
			equal(f, f.settle("w1", got[0].TaskRef), []error{nil})
			l.expect(store.NewsMessage)
		}
	}},
}

// task is an attempt of a call.
func task(number int64, attempt int) store.Task {
	return store.Task{
		TaskRef: store.TaskRef{Number: number, Attempt: attempt}, WorkflowID: "workflow", Queue: "gpu", Name: "render", Offered: 100,
		Data: fmt.Appendf(nil, "data %d/%d", number, attempt),
	}
}

func (f *fixture) worker(id string) store.Worker {
	return store.Worker{ID: id, Name: "name of " + id, Group: f.group.Name, Lease: time.Hour, Serves: []byte("gpu")}
}

// attend is a sign of life of a worker, which returns what it holds.
func (f *fixture) attend(id string) []store.TaskRef {
	f.Helper()
	answer := must(f.store.Attend(f.Context(), f.worker(id)))(f)
	if answer.Now == 0 {
		f.Errorf("the answer has no time: %+v", answer)
	}
	return each(answer.Held, func(h store.HeldTask) store.TaskRef { return h.TaskRef })
}

// withdrawing is a turn that takes back the first attempt of a call.
func withdrawing(number int64) func(t *store.Turn) {
	return func(t *store.Turn) { t.Withdrawn = []store.TaskRef{{Number: number, Attempt: 1}} }
}

// numbers are the calls of tasks.
func numbers(tasks []store.Task) []int64 {
	return each(tasks, func(t store.Task) int64 { return t.Number })
}

// offer makes a run and offers tasks of its calls.
func (f *fixture) offer(tasks ...store.Task) store.Run {
	f.Helper()
	run := f.newRun()
	for i := range tasks {
		tasks[i].WorkflowID = run.WorkflowID
	}
	f.commits(f.first(run, func(t *store.Turn) { t.Offered = tasks }))
	return run
}

func (f *fixture) taskClaim(worker string, limit int) store.TaskClaim {
	return store.TaskClaim{Worker: worker, Partitions: f.group, Queue: "gpu", Names: []string{"render"}, Turns: store.Turns{Limit: limit}, Suspects: true}
}

func (f *fixture) claimTasks(worker string, limit int) []store.Task {
	f.Helper()
	return must(f.store.ClaimTasks(f.Context(), f.taskClaim(worker, limit)))(f)
}

func (f *fixture) settle(worker string, ref store.TaskRef) []error {
	f.Helper()
	return must(f.store.SettleTasks(f.Context(), worker, []store.SettledTask{{TaskRef: ref, Message: f.ends(ref)}}))(f)
}

// ends is what the run of a task is told when it has ended.
func (f *fixture) ends(ref store.TaskRef) store.Message {
	return store.Message{Partition: ref.Partition, WorkflowID: "workflow", Run: ref.Run, Kind: "attempt", Key: fmt.Sprint("end ", ref)}
}

func (f *fixture) tasks(filter store.TaskFilter) []store.Task {
	f.Helper()
	return must(f.store.Tasks(f.Context(), filter))(f)
}

func (f *fixture) backlogs() []store.Backlog {
	f.Helper()
	return must(f.store.Backlogs(f.Context(), []int{f.partition}))(f)
}
