package cli

// A flag means the same in all commands: --type is the type of workflows, --activity the
// name of an activity or step, --error-type the type of an error, and --error its text.

// errorType is the flag that selects by error type.
const errorType = "error-type"
