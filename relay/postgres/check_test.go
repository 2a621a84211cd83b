package postgres

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"
)

func TestWhatIsRefused(t *testing.T) {
	d := setup(t)
	for name, c := range map[string]struct {
		change func(*Event)
		want   string
	}{
		"type":            {func(e *Event) { e.Type = "order_eaten" }, `event_type is "order_eaten", want one of order_created, `},
		"aggregate type":  {func(e *Event) { e.AggregateType = "" }, `aggregate_type is "", want one of vendor_order, `},
		"aggregate":       {func(e *Event) { e.AggregateID = "order-1" }, `aggregate_id is "order-1", want a UUID`},
		"a long text":     {func(e *Event) { e.AggregateID = strings.Repeat("x", 1000) }, `xxx…", want a UUID`},
		"version":         {func(e *Event) { e.Version = -1 }, "version is -1, want 1 or more"},
		"year":            {func(e *Event) { e.OccurredAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }, "occurred_at is in the year 10000"},
		"an empty actor":  {func(e *Event) { e.Actor = &ActorRef{Type: "user"} }, "actor.id is empty"},
		"actor with NUL":  {func(e *Event) { e.Actor = &ActorRef{"user", "a\x00b"} }, "actor.id holds the character U+0000"},
		"an array":        {func(e *Event) { e.Data = []int{1} }, "data is an array, want a JSON object"},
		"bytes":           {func(e *Event) { e.Data = []byte(`{"a":1}`) }, "data is a string, want a JSON object"},
		"null":            {func(e *Event) { e.Data = json.RawMessage("null") }, "data is null, want a JSON object"},
		"no JSON":         {func(e *Event) { e.Data = json.RawMessage(`{"a":`) }, "data is not to be made JSON"},
		"NaN":             {func(e *Event) { e.Data = map[string]any{"a": math.NaN()} }, "data is not to be made JSON"},
		"bad UTF-8":       {func(e *Event) { e.Data = json.RawMessage("{\"a\":\"\xff\"}") }, "data is not valid UTF-8"},
		"NUL":             {func(e *Event) { e.Data = map[string]any{"a": "\x00"} }, "data holds the character U+0000"},
		"NUL in a key":    {func(e *Event) { e.Data = json.RawMessage(`{"a\u0000":1}`) }, "data holds the character U+0000"},
		"half a pair":     {func(e *Event) { e.Data = json.RawMessage(`{"a":"\ud800x"}`) }, "data holds half of a surrogate pair"},
		"the other half":  {func(e *Event) { e.Data = json.RawMessage(`{"a":"\udc00"}`) }, "data holds half of a surrogate pair"},
		"a large integer": {func(e *Event) { e.Data = json.RawMessage(`{"a":9223372036854775808}`) }, "data holds a whole number beyond 64 bits"},
		"1e30":            {func(e *Event) { e.Data = map[string]any{"a": 1e30} }, "data holds a whole number beyond 64 bits"},
		"1e999999999999":  {func(e *Event) { e.Data = json.RawMessage(`{"a":1e999999999999}`) }, "data holds a"},
		"a long fraction": {func(e *Event) { e.Data = json.RawMessage(`{"a":1e-16384}`) }, "behind the point"},
		"beyond a double": {func(e *Event) { e.Data = json.RawMessage(`{"a":` + strings.Repeat("9", 400) + `.5}`) }, "beyond a double's range"},
		"a key twice":     {func(e *Event) { e.Data = json.RawMessage(`{"a":{"b":1,"b":2}}`) }, "data has an object with a key twice"},
		"depth": {func(e *Event) {
			e.Data = json.RawMessage(`{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`)
		}, "data lies deeper than 200 levels"},
		"size": {func(e *Event) { e.Data = map[string]any{"a": strings.Repeat("x", MaxEnvelopeBytes)} }, "data makes an envelope of 90"},
	} {
		t.Run(name, func(t *testing.T) {
			event := sample(uuid.NewString())
			c.change(&event)
			tx := d.begin(t, pgx.TxOptions{})
			_, err := AppendAll(d.ctx, tx, sample(uuid.NewString()), event)
			var invalid *InvalidError
			if !errors.As(err, &invalid) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "event 1 (") {
				t.Fatalf("error is %v, want that %s, of event 1", err, c.want)
			}
			d.commit(t, tx) // it goes on as if nothing was
		})
	}
	var n int
	if err := d.pool.QueryRow(d.ctx, "SELECT count(*) FROM outbox_events").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d events were written (%v), want none", n, err)
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	_, err := check(t.Context(), []Event{
		{Type: "x", AggregateType: "y", AggregateID: "z", Version: -1, Actor: &ActorRef{}, Data: json.RawMessage(`{"a":"\u0000","b":1e99,"a":2}`)},
		sample("also bad"),
	})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"event_type", "aggregate_type", "aggregate_id", "version", "actor.type", "actor.id", "U+0000", "64 bits", "key twice", "event 1 (", `"also bad"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not tell of %s: %v", want, err)
		}
	}
}

func TestErrorsHoldNoValueOfData(t *testing.T) {
	_, err := check(t.Context(), []Event{{Data: map[string]any{"card": "4111-1111", "nul": "\x00"}}})
	if err == nil || strings.Contains(err.Error(), "4111") {
		t.Errorf("error is %v, want one without values", err)
	}
}

// Whatever check accepts the database accepts, stores unchanged, and writes no longer than was counted.
func TestWhatIsAcceptedIsStored(t *testing.T) {
	d := setup(t)
	rapid.Check(t, func(r *rapid.T) {
		data := jsonObject(3).Draw(r, "data")
		rows, err := check(d.ctx, []Event{{Type: AdCreated, AggregateType: AggregateAd, AggregateID: uuid.NewString(), Data: json.RawMessage(data)}})
		if err != nil {
			return // TestWhatIsRefused says which
		}
		var stored string
		if err := d.pool.QueryRow(d.ctx, "SELECT ($1::text::jsonb)::text", string(rows[0].payload)).Scan(&stored); err != nil {
			r.Fatalf("Postgres refuses what was accepted: %v\n%s", err, rows[0].payload)
		}
		if bound := storedSize(rows[0].payload); len(stored) > bound {
			r.Errorf("stored are %d bytes, counted %d: %s", len(stored), bound, stored)
		}
		if diff := cmp.Diff(plain(r, string(rows[0].payload)), plain(r, stored)); diff != "" {
			r.Errorf("-given +stored\n%s", diff)
		}
	})
}

// plain is what a JSON text says, with numbers as a double has them.
func plain(r *rapid.T, text string) (v any) {
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		r.Fatal(err)
	}
	return v
}

// jsonObject draws texts of JSON objects, with what JSON has and jsonb does not, too.
func jsonObject(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(r *rapid.T) string {
		var parts []string
		for range rapid.IntRange(0, 4).Draw(r, "n") {
			parts = append(parts, jsonString().Draw(r, "key")+":"+jsonValue(depth-1).Draw(r, "value"))
		}
		return "{" + strings.Join(parts, ",") + "}"
	})
}

func jsonString() *rapid.Generator[string] {
	return rapid.Custom(func(r *rapid.T) string {
		return `"` + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
			"a", "b", "é", "😀", " ", `\n`, `\"`, `\\`, `\/`, `\u00e9`, `\u0001`, `\u0000`, `\ud83d\ude00`, `\ud800`, `\udc00`, ":", ",", "1e5", "<",
		}), 0, 5).Draw(r, "text"), "") + `"`
	})
}

func jsonValue(depth int) *rapid.Generator[string] {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,6})?([eE][+-]?[0-9]{1,3})?`)
	kinds := []*rapid.Generator[string]{number, jsonString(), rapid.SampledFrom([]string{"true", "false", "null", "[]", "[1,2]"})}
	if depth > 0 {
		kinds = append(kinds, jsonObject(depth))
	}
	return rapid.OneOf(kinds...)
}
