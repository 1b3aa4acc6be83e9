// Package policyedit says what an edit of a retry policy changes for calls that are open,
// and what that means for their attempts, before it is done. The command and the dashboard
// show the same.
package policyedit
