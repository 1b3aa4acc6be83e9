// Package bounds holds the errors of arguments and runs that are out of bounds. Package
// view names them for its readers; they stand apart because the format of history returns
// them too, and stands on nothing else that users read.
package bounds
