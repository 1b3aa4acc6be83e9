// Command bench measures perdure beside the least that its work can cost, and
// beside River and DBOS.
//
//	go run .                                      everything; takes hours
//	go run . -short                               one small round of everything
//	go run . -only W1,W3 -store sqlite -repeat 3  a part
//	go run . -o results.json -markdown RESULTS.md keep the samples, and write the tables
//	go run . -from results.json -page ../docs/performance.md
//	                                              draw the pictures of the page from them
//
// It needs Linux, PostgreSQL's server programs, and a directory on a disk, where
// it makes its databases and its own durable PostgreSQL server.
//
// Systems take turns within a round (A B C, A B C, ...), so that what disturbs
// the machine disturbs all of them, and ratios are taken within a round. Every
// workload checks its own outcome; there are no timed assertions.
package main
