package dashboard

// retrying is the value of the filter by calls that selects those that failed and wait for
// their next attempt: in backoff, at a gate or for a slot.
const retrying = "retrying"
