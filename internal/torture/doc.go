// Package torture hurts real processes that work on a real database, and says whether anything
// came of it: perdure torture. The tests in internal/killtest and internal/clustertest are made
// of its parts.
//
//	service.go   a process that is told by its parent what to be
//	process.go   that process as the parent sees it: started, killed, frozen, asked
//	output.go    what it writes, and what it may not write
//	freeze_unix.go    how it is made to stand still
//	freeze_windows.go that it cannot be there
//	end_linux.go      that it ends with its parent, and not by what is typed on the terminal
//	end_unix.go       that elsewhere
//	end_windows.go    that there
//	proxy.go     the network between a process and a server, which cuts, delays, swallows
//	wire.go      as much of PostgreSQL's protocol as the network understands
//	crew.go      processes side by side, each of which has many lives
//	trouble.go   what is done to them, in which order: the seed decides
//	left.go      what nothing will touch again when all is over
//	report.go    what came of it
//	torture.go   from the first process to the report
//
// What must hold whatever is done to processes is the matter of package witness, and so is the
// work that they do. The database is handed in: this package knows no driver.
//
// The parent is a client of the database, and is never hurt. A process is one of the same
// program, told what to be by calls over its standard input and output. It ends when its parent
// does.
package torture
