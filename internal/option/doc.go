// Package option holds the settings of a start and the types that say which verbs accept
// which settings.
//
// Most settings apply wherever a run is started: by a client, by another run or by a
// schedule. Some apply in fewer places: a schedule has no use for a delay, and a detached
// run has no parent that closes. Each kind of option is a type here, and each verb takes an
// interface that only the applicable kinds implement. An option that would have no effect
// therefore does not compile. The methods are not exported, so users see only options and
// verbs.
package option
