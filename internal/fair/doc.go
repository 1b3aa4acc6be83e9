// Package fair decides whose turn it is: of several keys of which each has work that waits,
// which is served next, so that nobody waits for all the work of somebody else.
//
// The discipline is start-time fair queueing (P. Goyal, H. M. Vin and H. Cheng, Start-Time Fair
// Queueing, SIGCOMM 1996): each key has a start tag, and the one with the lowest is served. A
// service raises the tag of its key by the inverse of its weight. A key that comes, or comes
// back, starts at the virtual time, which is the tag of the key served last, so it is neither
// rewarded for having been away nor punished for what it did before. While two keys wait, the
// numbers of their services, each divided by its weight, differ by at most two turns.
//
// The package is pure: no I/O, clock, randomness, goroutines or locks. What waits, and in which
// order the work of one key is done, is the business of its user. Finding the next key takes
// time in proportion to the logarithm of their number, and a key that is idle is forgotten.
package fair
