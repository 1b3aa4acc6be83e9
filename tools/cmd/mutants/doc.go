// Mutants plants faults in the engine, one by one, and says which test finds each. A fault that no
// test finds is a promise that nothing holds.
//
//	mutants                       the sample that docs/proof.md is about
//	mutants -n 20                 a smaller one
//	mutants -room internal/core   in one room
//	mutants -only "bound: n < m"  those whose name has this text
//
// Faults are made from the syntax of the rooms (see plant), so nobody chooses those that are
// found. They are a sample that is the same each time for the same seed. A fault lies over the
// sources (go build -overlay): the files stay as they are. First the room's own tests
// look for it, then the simulator, then the tests of the engine, in their short form.
//
//	mutants -torture URL          twenty faults of the protocol, for which perdure torture looks
//	                              on a PostgreSQL database; -for and -only say how long and which
//
// Those are written down by hand (protocol.go): each breaks one thing that keeps runs whole, and
// is built into a command of its own. The status is 1 if more than one in ten is not found.
//
// A fault that changes nothing that anybody can see is in equivalent.txt, with the reason. One
// that does not compile is none. Mutants ends with status 1 if a fault lives that is not there.
package main
