package publisher

import (
	"strings"
	"testing"
)

// A row whose payload is no JSON object is parked at once: it never goes out, and holds back its
// aggregate alone, with what was in front of it gone.
func TestRowWhosePayloadIsNoObjectIsParkedAtOnce(t *testing.T) {
	t.Parallel()
	for name, upTo := range map[string]int64{"all migrations": 0, "the first alone": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, upTo)
			payloads := []string{`null`, `[]`, `[{}]`, `"{}"`, `7`, `true`}
			front, poison, behind := events(len(payloads), 1), events(len(payloads), 1), events(len(payloads), 1)
			f.append(front...)
			for i, payload := range payloads {
				if _, err := f.pool.Exec(t.Context(), `INSERT INTO outbox_events (id, event_type, aggregate_type, aggregate_id, payload_json, created_at)
					VALUES ($1, 'order_created', 'vendor_order', $2, $3::text::jsonb, clock_timestamp())`, poison[i].id, poison[i].aggregate, payload); err != nil {
					t.Fatal(err)
				}
			}
			f.append(behind...)
			others := events(len(payloads)+3, 2)
			for _, e := range others {
				if f.count("aggregate_id = $1", e.aggregate) == 0 {
					front = append(front, e)
				}
			}
			f.append(front[len(payloads):]...)
			o := f.options()
			o.MaxAttempts = 5
			f.start(o)
			f.await("they are parked, and the others published", func() bool {
				return f.count("attempt_count = 5") == len(payloads) && f.count("published_at IS NULL") == 2*len(payloads)
			})
			f.judge(front)
			for i, payload := range payloads {
				if _, text := f.attempts(poison[i].id); !strings.HasPrefix(text, "payload_json is no JSON object") || len(text) > maxErrorBytes {
					t.Errorf("%s: last_error is %q", payload, text)
				}
				if n := f.shelf.tries(poison[i].id); n != 0 {
					t.Errorf("%s: the topic was asked %d times", payload, n)
				}
			}
		})
	}
}

// The attempts that are left are counted in the round that finds it.
func TestRowWhosePayloadIsNoObjectCountsAllThatIsLeft(t *testing.T) {
	v := &verdict{refused: []refusal{{&row{attempts: 2}, shapelessText, 3}, {&row{}, timelessText, 1}}, published: []*row{{}}}
	if _, _, counts := v.marks(); len(counts) != 3 || counts[0] != 0 || counts[1] != 3 || counts[2] != 1 {
		t.Errorf("counted are %v", counts)
	}
}
