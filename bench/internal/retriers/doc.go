// Package retriers compares retry.Do with other packages that call a function
// again when it fails: what a call costs that succeeds at once, and one that
// fails once and is repeated without a wait, in nanoseconds and allocations.
//
//	go test ./internal/retriers -bench . -count 6
//
// Each package is used as its documentation says, and at its best: what can be
// shared by calls is made once, what cannot is part of the call. All allow five
// attempts. For the success they are set up with an exponential backoff, as one
// would in earnest, for the failure with none, so that what is measured is the
// packages' work and not a timer's sleep; those that wait for a timer of zero
// length pay for that. All get a context that can be canceled.
//
// They do not do the same: of these, only perdure keeps a record of every failed
// attempt and classifies the error by type. What each does is in its own
// documentation.
package retriers
