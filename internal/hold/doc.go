// Package hold says why a run has no code at this node: its code is missing, does not fit, is
// stuck, ended processes, or the record of the run is damaged. It decides nothing else: who moves
// a held run, or tries it again, is the engine.
//
// # Decisions
//
//   - A parked run is tried again when its owner's code has another fingerprint: workflow.Version,
//     else the build of the program. One whose code ended processes is tried again when a person
//     resumes it, too. A run that was stuck, cannot be read, or whose turn the database refused, is
//     tried again at the next start.
package hold
