package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/contracts"
)

func TestConsumersOfTheMatchingCatalog(t *testing.T) {
	catalog, err := contracts.LoadCatalog("../../contracts/catalogs/matching.yaml")
	if err != nil {
		t.Fatal(err)
	}
	consumers := consumersOf(catalog)
	want := map[string][]string{
		"analytics": {"match-events", "chat-events", "safety-events"}, "notifications": {"match-events", "chat-events"},
		"chat": {"match-events", "safety-events"}, "trust_safety": {"chat-events", "safety-events"},
		"auth": {"safety-events"}, "matching": {"safety-events"},
	}
	if diff := cmp.Diff(want, consumers); diff != "" {
		t.Error(diff)
	}
	dealt := map[string]end{
		"analytics": endFirestore, "chat": endPostgres, "notifications": endApart, "trust_safety": endFirestore, "auth": endPostgres, "matching": endApart,
	}
	ends := []end{endFirestore, endPostgres, endApart}
	if diff := cmp.Diff(dealt, deal(consumers, ends)); diff != "" {
		t.Error(diff)
	}
	inOrder := map[string]bool{"analytics": false, "chat": false, "notifications": false, "trust_safety": true, "auth": true, "matching": true}
	if diff := cmp.Diff(inOrder, ordered(consumers, ends)); diff != "" {
		t.Error(diff)
	}
}

func TestJudge(t *testing.T) {
	wanted := map[happening]bool{{"a", "1"}: true, {"a", "2"}: true, {"a", "3"}: true, {"b", "1"}: true, {"b", "2"}: true}
	dealt, inOrder := map[string]end{"a": endFirestore, "b": endApart}, map[string]bool{"a": true}
	sound := []effect{{"a", "1", "x", 1, 10}, {"a", "2", "x", 2, 20}, {"a", "3", "y", 1, 5}, {"b", "1", "x", 1, 10}, {"b", "2", "x", 2, 20}}
	for name, tc := range map[string]struct {
		more   []effect
		less   int // of the first
		broken []string
	}{
		"all once":                                  {},
		"twice where it may":                        {more: []effect{{"b", "1", "x", 1, 15}}},
		"three times where it may":                  {more: []effect{{"b", "1", "x", 1, 15}, {"b", "1", "x", 1, 16}, {"b", "1", "x", 1, 17}}, broken: []string{"apart: an event has 4 effects, where it may have 2"}},
		"twice where it may not":                    {more: []effect{{"a", "1", "x", 1, 15}}, broken: []string{"firestore: 1 effects happened again, where 0 may", "firestore: an event has 2 effects, where it may have 1"}},
		"one is lost":                               {less: 1, broken: []string{"firestore: 1 effects are lost"}},
		"an event for another":                      {more: []effect{{"a", "4", "z", 1, 15}}, broken: []string{"firestore: 1 effects of events that do not name the consumer"}},
		"the later of two comes first where it may": {less: 4, more: []effect{{"a", "1", "x", 1, 10}, {"a", "2", "x", 2, 20}, {"a", "3", "y", 1, 5}, {"b", "1", "x", 1, 30}}},
		"the later of two comes first":              {less: 1, more: []effect{{"a", "1", "x", 1, 30}}, broken: []string{"firestore: 1 effects came after that of a later event of their aggregate"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := judge(wanted, dealt, inOrder, notes{effects: append(append([]effect{}, sound[tc.less:]...), tc.more...)})
			f.of(endApart).kills = 1
			if diff := cmp.Diff(tc.broken, f.broken()); diff != "" {
				t.Error(diff)
			}
			var report strings.Builder
			if err := f.print(&report); err != nil {
				t.Fatal(err)
			}
			if kept := strings.Contains(report.String(), "every promise was kept"); kept != (len(tc.broken) == 0) {
				t.Error(report.String())
			}
		})
	}
}

func TestRedeliveriesAreToldFromPublishedAgain(t *testing.T) {
	f := judge(nil, nil, nil, notes{arrivals: []arrival{{"a", "t", "m1", "1"}, {"a", "t", "m1", "1"}, {"a", "t", "m2", "1"}, {"b", "t", "m1", "1"}, {"a", "t", "m3", "2"}, {"a", "t", "m2", "1"}}})
	if f.messages != 6 || f.again != 2 || f.published != 1 {
		t.Errorf("%d messages, %d the same again, %d published again; want 6, 2 and 1", f.messages, f.again, f.published)
	}
}

func TestWhatIsLeftOpenBreaksAPromise(t *testing.T) {
	f := &figures{undelivered: 2, deadLetters: 1}
	if diff := cmp.Diff([]string{"2 records are not delivered", "1 dead letters, though every handler succeeds"}, f.broken()); diff != "" {
		t.Error(diff)
	}
}

// What a killed process was writing is not there; all before it is.
func TestJournalOfAKilledProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "one.journal")
	j, err := openJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	arrived, began, happened := arrival{"a", "t", "m", "1"}, beginning{"a", "1", "x", 1, 5, 8}, effect{"a", "1", "x", 1, 10}
	if err := j.arrived(arrived); err != nil {
		t.Fatal(err)
	}
	if err := j.began(began); err != nil {
		t.Fatal(err)
	}
	if err := j.happened(happened); err != nil {
		t.Fatal(err)
	}
	if _, err := j.file.WriteString(`{"Happened": {"Consu`); err != nil {
		t.Fatal(err)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	n, err := readJournals([]string{path, filepath.Join(filepath.Dir(path), "none.journal")})
	if err != nil || !cmp.Equal(n.arrivals, []arrival{arrived}) || !cmp.Equal(n.beginnings, []beginning{began}) || !cmp.Equal(n.effects, []effect{happened}) {
		t.Errorf("read %+v, %v", n, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
