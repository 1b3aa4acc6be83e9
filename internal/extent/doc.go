// Package extent says how much of the tests a run of go test plays. There are three forms:
//
//   - The short one (-short) plays in memory, without servers, browsers and killed processes.
//     It is for each edit, and for the race detector: what that finds, it finds in memory.
//   - The one for each push (no flag) proves every statement.
//   - At night (PERDURE_NIGHTLY=1) the whole product is played: all shapes of workflow in all
//     settings, all seeds, many kills.
//
// A machine may lack a program that some tests need, such as a browser. These tests are
// skipped there, and fail where CI is set.
package extent
