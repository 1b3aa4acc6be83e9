// Package heap is container/heap for elements of one type, which order themselves and are told
// where they stand.
package heap
