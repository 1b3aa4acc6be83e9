package message

import (
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// AnswerTo returns the workflow ID under which the answer to a query or an update
// waits. Token is what the question is known by. No user can choose such an ID (history.Reserved).
func AnswerTo(token string) string { return "#answer/" + token }

// Answer returns the answer to a question of a run in a partition.
func Answer(partition int, token string, d Data) (store.Message, error) {
	data, err := history.Seal(d)
	return store.Message{Partition: partition, WorkflowID: AnswerTo(token), Key: "answer", Kind: KindAnswer, Data: data}, err
}
