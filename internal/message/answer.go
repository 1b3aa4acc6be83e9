package message

import (
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// AnswerTo returns the workflow ID under which the reply to a query or an update waits. Token
// identifies the request. No user can choose such an ID (history.Reserved).
func AnswerTo(token string) string { return "#answer/" + token }

// Answer returns the reply to a request, for the inbox of a partition.
func Answer(partition int, token string, d Data) (store.Message, error) {
	data, err := history.Seal(d)
	return store.Message{Partition: partition, WorkflowID: AnswerTo(token), Key: "answer", Kind: KindAnswer, Data: data}, err
}
