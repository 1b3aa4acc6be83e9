// Package mailbox holds news for one listener of a store in this process. Who
// tells never waits: news of a kind that was not read yet is told once. What news
// there is, and who is told, is the business of the store.
package mailbox
