// Package mailbox holds notifications for one listener of a store in this process. Put never
// blocks: several notifications of a kind are delivered as one. The store decides what it
// announces and to whom.
package mailbox
