package feed

import (
	"testing"
	"time"
)

func at(ms int64) time.Time { return time.UnixMilli(ms) }

func TestJudge(t *testing.T) {
	seen := func(readAt int64) Sight {
		return Sight{ID: "a", CreateTime: at(1), UpdateTime: at(1), ReadTime: at(readAt)}
	}
	settled := func(at time.Time) func(*Machine, *Record) {
		return func(m *Machine, r *Record) {
			s := &Settlement{Record: r, Kind: End}
			m.Step(Settle{s})
			m.Step(Settled{s, at})
		}
	}
	tests := []struct {
		name string
		past func(m *Machine, r *Record) // what became of r, which was found
		seen Sight
		want Judgement
	}{
		{"in memory", func(*Machine, *Record) {}, seen(5), Known},
		{"settled after the read", settled(at(10)), seen(9), Known},
		{"settled, and an old version read afterwards", settled(at(10)), seen(11), Known},
		{"settled as pending, and read", settled(at(10)), Sight{ID: "a", CreateTime: at(1), UpdateTime: at(10), ReadTime: at(11)}, Unknown},
		{"left without a write", func(m *Machine, r *Record) { m.Step(GivenBack{Record: r}) }, seen(5), Unknown},
		{"deleted, and read before", settled(time.Time{}), seen(1_000), Known},
		{"deleted, and appended anew", settled(time.Time{}), Sight{ID: "a", CreateTime: at(20), ReadTime: at(30)}, Unknown},
		{"about to leave", func(m *Machine, r *Record) { m.Step(GivenBack{Record: r, Unsaved: true}) }, seen(5), Leaving},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := New()
			r := &Record{Sight: seen(2), Origin: Stray}
			if actions, _ := m.Step(Found{r}); len(actions) != 1 || actions[0].Do != Submit {
				t.Fatalf("it is not taken: %v", actions)
			}
			test.past(m, r)
			if got, _ := m.Judge(test.seen, ""); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if err := m.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}
