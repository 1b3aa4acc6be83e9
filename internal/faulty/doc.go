// Package faulty wraps a store so that a test decides which of its writes fail,
// and how.
//
// Every write verb (Join, Leave, Claim, Release, Commit, Group, Create, Post, Transact) is
// counted, from 1, in the order the calls begin. A Plan says what happens at write k: it
// fails before it did anything, it fails after it did everything (the answer
// was lost), it is slow, or the process dies before or after it. A test that
// runs a scenario once without faults learns the number of writes n from
// Plan.Writes, and can then run it n times more with the fault at each k. Renew
// is counted apart from them (Plan.AtRenewal, Plan.Renewals), because how often a
// node renews its lease depends on time alone.
//
// A crash is as final as kill -9: that call and every later one of the store,
// reads included, returns ErrCrashed, and nothing reaches the database any
// more. The test then opens the database again:
//
//	db := memory.New()
//	plan := faulty.NewPlan().At(7, faulty.CrashAfter)
//	engine := open(faulty.Wrap(db, plan))
//	...
//	<-plan.Crashed()
//	plan.Reap()             // what the operating system does for a dead process
//	engine = open(db)       // the next life
//
// A node of the dead process stays until its lease has run out or another one
// supersedes it, as with every store that several nodes share.
//
// An Outage makes every verb fail until it ends, as a database does that is
// away for a while; CutOff begins one at a chosen write.
package faulty
