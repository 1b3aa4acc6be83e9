// Package sim plays whole worlds in virtual time: several engines with all of their rooms on one
// database in memory, processes that come and go, workers of queues, customers, people who
// operate, and everything that can happen to them. It holds tests only.
//
// A seed says everything about a world: which programs are ordered, what is done to the world
// and when, how long each verb of the database takes and what becomes of it. The dice
// (dice_test.go) answer each question by itself, so that a world stays the same when something is
// left out of it; that is how a failing one is made smaller (shrink_test.go).
//
//	plan_test.go, profiles_test.go    what there is in a world, and kinds of worlds
//	program_test.go                   programs, and what they must come to, without any engine
//	interpreter_test.go, bodies_test.go   the workflow and the activities that carry them out
//	world_test.go, node_test.go       the course of a world, and its processes
//	verb_test.go, store_test.go       the database as a process has it
//	happen_test.go, customer_test.go  what is done to a world, and what is asked of it
//
// Whatever happens, these must hold:
//
//	model_test.go    each verb that writes is one that the model of owners, turns and messages allows
//	visible_test.go, hearsay_test.go  what clients were told can have been (porcupine)
//	book_test.go     no attempt has two bodies, no step transaction is committed twice
//	judge_test.go    all comes to the end that is expected, and all records agree
//
// A world ends in calm: then everything must come to its end in time, too.
//
//	go test ./internal/sim                              what each push plays
//	go test ./internal/sim -run P1_Worlds -seeds 100000 -first 5000
//	go test ./internal/sim -run P1_Worlds -seed 17      one world, with an account of it
//
// One goroutine runs at a time, so a test process keeps one core busy.
package sim
