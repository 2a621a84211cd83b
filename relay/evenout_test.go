package relay

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"outboxrelay/contracts"
)

// queueOf is a queue of settlements, each of the share that its letter names: a to c are
// shards of one outbox, d and e of another, and all others are outboxes that have one.
func queueOf(shares map[byte]*outbox, queued string) (queue []*settlement) {
	first, second := &contracts.Outbox{Shards: 3}, &contracts.Outbox{Shards: 2}
	for i := range len(queued) {
		name := queued[i]
		if shares[name] == nil {
			of := &contracts.Outbox{Shards: 1}
			switch {
			case name <= 'c':
				of = first
			case name <= 'e':
				of = second
			}
			shares[name] = &outbox{spec: of}
		}
		queue = append(queue, &settlement{entry: &entry{outbox: shares[name]}})
	}
	return queue
}

func TestShardsOfAnOutboxTakeTurnsInAQueue(t *testing.T) {
	for queued, want := range map[string]string{
		"":             "",
		"aaaa":         "aaaa",
		"aaaab":        "abaaa",
		"aaabbbcc":     "abcabcab",
		"bbaabbaa":     "babababa",
		"xxxxyxx":      "xxxxyxx", // other outboxes stay where they are
		"aaxbbyy":      "abxabyy",
		"aadddbbexdec": "abdedcaexddb", // each outbox by itself, at its places
	} {
		shares := make(map[byte]*outbox)
		queue := queueOf(shares, queued)
		evenOut(queue)
		got := ""
		for _, st := range queue {
			for name, o := range shares {
				if st.entry.outbox == o {
					got += string(name)
				}
			}
		}
		if got != want {
			t.Errorf("%q is evened out to %q, want %q", queued, got, want)
		}
	}
}

// Nothing is lost, nothing of a share overtakes another of it, an outbox keeps its places,
// and what is even stays as it is.
func TestWhoTakesTurnsKeepsTheOrderOfAShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shares := make(map[byte]*outbox)
		queue := queueOf(shares, rapid.StringOfN(rapid.RuneFrom([]rune("abcdexy")), 0, 40, -1).Draw(t, "queued"))
		even := slices.Clone(queue)
		evenOut(even)
		for i, st := range even {
			if st.entry.outbox.spec != queue[i].entry.outbox.spec {
				t.Fatalf("place %d is another outbox's", i)
			}
		}
		for _, o := range shares {
			others := func(st *settlement) bool { return st.entry.outbox != o }
			was, is := slices.DeleteFunc(slices.Clone(queue), others), slices.DeleteFunc(slices.Clone(even), others)
			if !slices.Equal(was, is) {
				t.Fatal("a share's settlements are written in another order than they came")
			}
		}
		again := slices.Clone(even)
		evenOut(again)
		if !slices.Equal(again, even) {
			t.Fatal("what was even is changed")
		}
	})
}
