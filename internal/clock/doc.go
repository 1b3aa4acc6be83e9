// Package clock keeps engine time, by which all decisions are made, and has the waits that the
// rooms of the engine share.
//
// Engine time is the database's clock as its results report it, advanced in between by the
// monotonic clock of this process. It never goes back. If it is slightly ahead of the
// database's clock, because that clock was set back or is slower than this machine's, engine
// time runs slower until both agree. If the database's clock was set back by much, engine time
// stays ahead of it; otherwise everything that waits for a time would be late by as much.
package clock
