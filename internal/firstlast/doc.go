// Package firstlast keeps the beginning and the end of a list that may grow without
// bound, such as the records of a call that is retried for weeks.
package firstlast
