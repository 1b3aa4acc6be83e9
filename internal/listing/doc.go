// Package listing is the table of lists, and the filters of lists: of runs, of the attempts on record,
// of workflows, of times. The fields of a filter are what the command line has as flags and the HTTP
// API as parameters of addresses; see package param.
package listing
