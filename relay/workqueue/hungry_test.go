package workqueue

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestHungryTenantsModel: who is hungry is known without looking at each tenant, whatever has happened.
func TestHungryTenantsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, now := newLine(11, time.Minute), time.Unix(1000, 0)
		paths := rapid.IntRange(0, 30)
		draw := func() *item {
			it := waiting(string(rapid.SampledFrom([]rune("abc")).Draw(t, "tenant")), paths.Draw(t, "n"), now)
			it.at, it.last = now.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "due"))*time.Second), it.tenant+"/~"
			return it
		}
		var working []string
		check := func(t *rapid.T) {
			want := map[string]bool{}
			for name, way := range l.tenants {
				if len(way.behind) > 0 && len(way.ready) <= l.batch/10 {
					want[name] = true
				}
				if len(way.behind) == 0 && len(way.ready) == 0 {
					t.Fatalf("tenant %s is remembered for nothing", name)
				}
			}
			if got := fmt.Sprint(l.wanting); got != fmt.Sprint(want) || l.hungry() != (len(want) > 0) {
				t.Fatalf("hungry are %s, want %v", got, want)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add":  func(*rapid.T) { l.add(draw(), now) },
			"gone": func(*rapid.T) { l.gone(draw().state.path) },
			"next": func(*rapid.T) {
				if it, _ := l.next(now); it != nil {
					working = append(working, it.state.path)
				}
			},
			"end": func(*rapid.T) {
				if len(working) > 0 {
					l.end(working[0], nil, now)
					working = working[1:]
				}
			},
			"leave": func(*rapid.T) {
				it := draw()
				l.leave(it.last, span{it.tenant, it.state.path, it.state.path})
			},
			"round": func(t *rapid.T) { l.round(rapid.Bool().Draw(t, "all")) },
			"wait":  func(*rapid.T) { now = now.Add(time.Second) },
			"":      check,
		})
	})
}
