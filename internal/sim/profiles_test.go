package sim

import "time"

// anything is a world in which everything can happen that can.
var anything = &profile{name: "anything", programs: 4, events: 12, lasts: 10 * time.Second}

// The other profiles are worlds of what others suffered: reports of runs that were stuck, lost or
// doubled in other engines, each with what made them so (P6). The reports are named for what they
// say, not for how those engines work.
var profiles = []*profile{
	anything,

	// A job is taken over as lost while its process, which is only slow, completes it
	// (riverqueue/river#1302).
	{name: "rescued-while-it-completes", programs: 4, events: 8, lasts: 12 * time.Second,
		only: []happening{freezes, isCutOff, freezes, joins},
		of:   []kind{call, written, beating, outside, step, queued}},

	// Jobs stay "running" for ever after the database server crashed (riverqueue/river#1258).
	{name: "running-for-ever", programs: 4, events: 8, lasts: 12 * time.Second,
		only: []happening{databaseAway, databaseAway, deadlyStorm, dies, joins}},

	// A workflow that was recovered is run again later, though it has ended
	// (dbos-inc/dbos-transact-py#759).
	{name: "recovered-and-run-again", programs: 4, events: 8, lasts: 12 * time.Second,
		only: []happening{dies, joins, leaves, clockSteps, databaseAway}},

	// Two executors have one name (dbos-inc/dbos-transact-py#716).
	{name: "two-of-one-name", programs: 4, events: 8, lasts: 10 * time.Second,
		only: []happening{joinsBesides, joinsBesides, joins, freezes, isCutOff}},

	// An invocation is not scheduled again after another node leads (restatedev/restate#5196).
	{name: "not-scheduled-again", programs: 4, events: 10, lasts: 10 * time.Second,
		only: []happening{leaves, dies, joins, movesRun, isCutOff}},

	// A retry is dropped when the queue delivers a message again (vercel/workflow#1806).
	{name: "dropped-retry", programs: 4, events: 8, lasts: 10 * time.Second,
		only: []happening{storms, storms, dies, joins, isCutOff},
		of:   []kind{queued, queued, failing, call}},

	// Nothing continues after kill -9 (vercel/workflow#1531).
	{name: "killed", programs: 4, events: 8, lasts: 10 * time.Second, only: []happening{dies, deadlyStorm, joins}},

	// One paused function wedges a whole queue (inngest/inngest#3549).
	{name: "wedged-queue", programs: 4, events: 10, lasts: 8 * time.Second,
		only: []happening{switchesOff, switchesOff, switchesOn, pausesCall, pausesGate, resumesGate, pausesRun, dies},
		of:   []kind{queued, gated, call, failing, spread}},

	// A signal or update is lost when the run continues as new, or moves, at the same moment.
	{name: "lost-at-the-turn", programs: 4, events: 8, lasts: 8 * time.Second,
		only: []happening{movesRun, movesRun, leaves, storms, clientDies},
		of:   []kind{signal, anew, signal, patience, nap, call}},

	// A child outlives its parent, or is started twice, when its parent is taken over.
	{name: "orphans", programs: 4, events: 8, lasts: 10 * time.Second,
		only: []happening{dies, leaves, cancelsRun, terminatesRun, resetsRun, cancelsAll, storms},
		of:   []kind{child, apart, child, undone, nap}},

	// Timers and backoffs are early, late or lost when the clock steps.
	{name: "stepping-clock", programs: 4, events: 10, lasts: 12 * time.Second,
		only: []happening{clockSteps, clockSteps, dies, joins, setsSchedule},
		of:   []kind{nap, limited, failing, block, call, beating}},

	// A compensation is lost, or made twice.
	{name: "half-undone", programs: 4, events: 8, lasts: 10 * time.Second,
		only: []happening{dies, storms, deadlyStorm, cancelsRun, pausesRun, resumesRun},
		of:   []kind{undone, undone, block, spread}},

	// A payment is made twice, or believed and not made.
	{name: "paid-twice", programs: 4, events: 10, lasts: 12 * time.Second,
		only: []happening{dies, leaves, leaves, leaves, joins, freezes, isCutOff, storms, databaseAway, movesRun, retriesNow, pausesCall, resumesCalls},
		of:   []kind{charged, charged, charged, spread}},

	// Open work is lost, doubled or early when it moves to another database.
	{name: "moved-to-a-server", programs: 4, events: 6, lasts: 10 * time.Second,
		only: []happening{copiesAll, copiesAll, dies, joins, storms, deadlyStorm, pausesCall, setsSchedule}},

	// A limit over all nodes is passed while its calls move between them.
	{name: "over-the-limit", programs: 4, events: 10, lasts: 10 * time.Second,
		only: []happening{dies, leaves, joins, freezes, isCutOff, pausesGate, resumesGate, movesRun},
		of:   []kind{gated, gated, spread}},
}
