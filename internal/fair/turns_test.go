package fair_test

import (
	"fmt"
	"testing"

	"github.com/perdure/perdure/internal/fair"
	"pgregory.net/rapid"
)

// serve serves up to n waiting works, and returns how many of each key. The state of a key is
// how many works wait.
func serve(t *fair.Turns[int], n int) map[string]int {
	served := map[string]int{}
	for range n {
		k := t.Next()
		if k == nil {
			break
		}
		served[k.Name]++
		k.State--
		t.Served(k)
		t.Wait(k, k.State > 0, false, 0)
	}
	return served
}

func add(t *fair.Turns[int], name string, weight, n int) {
	k := t.Key(name, weight)
	k.State += n
	t.Wait(k, k.State > 0, false, 0)
}

func TestT2_KeysTakeTurnsByWeight(t *testing.T) {
	var turns fair.Turns[int]
	add(&turns, "a", 1, 100_000)
	add(&turns, "b", 3, 1000)
	if got := fmt.Sprint(serve(&turns, 400)); got != "map[a:100 b:300]" {
		t.Error(got)
	}
	// Who comes later has no debt and no claim.
	add(&turns, "c", 1, 10)
	if got := fmt.Sprint(serve(&turns, 10)); got != "map[a:2 b:6 c:2]" {
		t.Error(got)
	}
}

func TestT2_WhoComesIsServedNextButOne(t *testing.T) {
	var turns fair.Turns[int]
	add(&turns, "a", 1, 100_000)
	serve(&turns, 50_000)
	add(&turns, "b", 1, 1)
	if got := serve(&turns, 2); got["b"] != 1 {
		t.Error(got)
	}
}

// A key of which one work waits at a time takes no more turns than one with many.
func TestT2_ComingBackIsNoAdvantage(t *testing.T) {
	var turns fair.Turns[int]
	add(&turns, "many", 1, 1000)
	served := map[string]int{}
	for range 200 {
		if turns.Find("one") == nil || turns.Find("one").State == 0 {
			add(&turns, "one", 1, 1)
		}
		turns.Next() // looked at in vain
		for name, n := range serve(&turns, 1) {
			served[name] += n
		}
	}
	if served["one"] != 100 {
		t.Error(served)
	}
}

func TestT3_AnIdleKeyIsForgotten(t *testing.T) {
	var turns fair.Turns[int]
	for i := range 1000 {
		add(&turns, fmt.Sprint(i), 1, 1)
	}
	serve(&turns, 1000)
	if turns.Next() != nil || turns.Len() != 0 {
		t.Error(turns.Len())
	}
}

// While two keys wait, the numbers of their services, divided by the weights, differ by less than
// one turn of each: theorem 1 of the paper.
func TestT2_ShareIsFairWithinATurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var turns fair.Turns[int]
		weights := []int{1, 1, 2, 5}
		// Of each pair, the services since both wait.
		var since [4][4][2]int
		waits := func(i int) bool { k := turns.Find(fmt.Sprint(i)); return k != nil && k.State > 0 }
		for range 200 {
			if i := rapid.IntRange(0, 7).Draw(t, "key"); i < 4 {
				was := waits(i)
				add(&turns, fmt.Sprint(i), weights[i], rapid.IntRange(1, 20).Draw(t, "works"))
				if !was {
					for j := range 4 {
						since[i][j], since[j][i] = [2]int{}, [2]int{}
					}
				}
				continue
			}
			k := turns.Next()
			if k == nil {
				continue
			}
			var i int
			fmt.Sscan(k.Name, &i)
			serve(&turns, 1)
			for j := range 4 {
				if i == j || !waits(j) {
					continue
				}
				since[i][j][0]++
				since[j][i][1]++
				a, b := float64(since[i][j][0])/float64(weights[i]), float64(since[i][j][1])/float64(weights[j])
				if limit := 1/float64(weights[i]) + 1/float64(weights[j]); a-b > limit+1e-3 {
					t.Fatalf("key %d had %v turns by weight while key %d, which waited, had %v", i, a, j, b)
				}
			}
			if !waits(i) {
				for j := range 4 {
					since[i][j], since[j][i] = [2]int{}, [2]int{}
				}
			}
		}
	})
}

func TestT2_RankStandsAboveTurns(t *testing.T) {
	var turns fair.Turns[int]
	low, high := turns.Key("low", 1), turns.Key("high", 1)
	turns.Wait(low, true, false, 0)
	for range 5 {
		turns.Wait(high, true, false, -1)
		if k := turns.Next(); k != high {
			t.Fatal(k.Name)
		}
		turns.Served(high)
	}
	turns.Wait(high, true, false, 1)
	if k := turns.Next(); k != low {
		t.Fatal(k.Name)
	}
}

// Finding who is next takes time by the logarithm of the number of keys.
func BenchmarkTurns(b *testing.B) {
	for _, keys := range []int{1, 1000, 100_000} {
		b.Run(fmt.Sprint(keys), func(b *testing.B) {
			var turns fair.Turns[int]
			for i := range keys {
				add(&turns, fmt.Sprint(i), 1, 1<<30)
			}
			b.ReportAllocs()
			for b.Loop() {
				k := turns.Next()
				k.State--
				turns.Served(k)
				turns.Wait(k, k.State > 0, false, 0)
			}
		})
	}
}
