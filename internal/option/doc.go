// Package option holds the settings of a start and the types that say which verbs take
// which of them.
//
// Most settings fit wherever a run is started: by a client, by another run or by a
// schedule. Some fit in fewer places: a schedule has no use for a delay, a detached run
// has no parent that closes. Each kind of option is a type here, and each verb takes an
// interface that only the kinds which fit implement. So an option that would have no
// effect does not compile. The methods are not exported: users see options and verbs.
package option
