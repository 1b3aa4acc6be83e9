package gate_test

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/retry"
)

// At most two calls are past the gate; one that backs off keeps its slot.
func ExampleThrough() {
	payments := gate.New("payments", 2)

	err := retry.Do(context.Background(), retry.Quick, func(context.Context) error {
		fmt.Println("holders:", payments.Stats().Holders)
		return nil
	}, gate.Through(payments))

	fmt.Println(err)
	// Output:
	// holders: 1
	// <nil>
}

// A gate that protects a service: ten calls at once, fifty attempts a second,
// few retries when many calls fail, and none while the service is down.
func ExampleNew() {
	api := gate.New("api", 10,
		gate.WithMode(gate.Rejoin),
		gate.WithRate(50, 10),
		gate.WithBudget(gate.Budget{Tokens: 100, Refund: 0.1}),
		gate.WithBreaker(gate.Breaker{Failures: 5, Cooldown: 30 * time.Second}),
	)
	fmt.Println(api.Validate(), api.Stats().Tokens, api.Stats().Breaker)
	// Output:
	// <nil> 100 closed
}

// Work that is no call of retry.Do can take a slot too.
func ExampleGate_Acquire() {
	connections := gate.New("connections", 1)

	release, err := connections.Acquire(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("holders:", connections.Stats().Holders)
	fmt.Println(release(), release())
	// Output:
	// holders: 1
	// <nil> the slot of gate "connections" was given back already
}
