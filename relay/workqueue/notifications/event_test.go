package notifications

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestFaultsOfAnEventAreBounded: whoever may create events does not fill the log with one.
func TestFaultsOfAnEventAreBounded(t *testing.T) {
	t.Parallel()
	tenant := Tenant{"c", "d"}
	_, err := parse(tenant, "e", eventFields(tenant, with("channels", slices.Repeat([]any{"x"}, 1000)), with("audience", map[string]any{"scope": "specific_users", "userIds": slices.Repeat([]any{""}, 100_000)})))
	if !errors.Is(err, errInvalid) || len(err.Error()) > 4<<10 || !strings.Contains(err.Error(), "100970 faults more") {
		t.Errorf("the error has %d bytes and ends in %q", len(err.Error()), err.Error()[len(err.Error())-50:])
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	tenant := Tenant{"c", "d"}
	drop := func(name string) func(map[string]any) { return func(fields map[string]any) { delete(fields, name) } }
	for _, tc := range []struct {
		name   string
		change []func(map[string]any)
		wrong  []string // every fault; none: the event is right
	}{
		{"as a front end writes it", nil, nil},
		{"without what is only passed on", []func(map[string]any){drop("title"), drop("metadata"), drop("entityId"), drop("createdByName")}, nil},
		{"with fields that nobody knows", []func(map[string]any){with("extra", map[string]any{"a": "b"})}, nil},
		{"another client", []func(map[string]any){with("clientId", "other")}, []string{"clientId is not that of the event's path"}},
		{"another condominium", []func(map[string]any){with("condominiumId", "other")}, []string{"condominiumId is not that of the event's path"}},
		{"no tenant", []func(map[string]any){drop("clientId"), drop("condominiumId")}, []string{"clientId is not", "condominiumId is not"}},
		{"an empty creator", []func(map[string]any){with("createdBy", "")}, []string{"createdBy is empty"}},
		{"no creator", []func(map[string]any){drop("createdBy")}, []string{"createdBy is empty"}},
		{"a creator that leads elsewhere", []func(map[string]any){with("createdBy", "a/notifications/b")}, []string{"createdBy is no document's ID"}},
		{"another channel", []func(map[string]any){with("channels", []any{"in_app", "email"})}, []string{`channels[1] is not "in_app"`}},
		{"no channel", []func(map[string]any){with("channels", []any{})}, []string{"channels is an empty list, want"}},
		{"a channel that is no list", []func(map[string]any){with("channels", "in_app")}, []string{"channels is a string, want a list"}},
		{"no audience", []func(map[string]any){drop("audience")}, []string{"audience is absent or null"}},
		{"an audience that nobody knows", []func(map[string]any){audience("everybody")}, []string{"audience.scope is none of admins, admins_and_assistants, specific_users"}},
		{"people of another type", []func(map[string]any){with("audience", map[string]any{"scope": "specific_users", "userIds": []any{int64(7), "", "a/b", "..", "__", "___"}})}, []string{
			"userIds[0] is a number", "userIds[1] is empty", "userIds[2] is no document's ID", "userIds[3] is no document's ID",
		}},
		{"people that are no list", []func(map[string]any){with("audience", map[string]any{"scope": "specific_users", "userIds": "ana"})}, []string{"userIds is a string"}},
		{"a key of another type", []func(map[string]any){with("dedupeKey", int64(1))}, []string{"dedupeKey is a number"}},
		{"a key without end", []func(map[string]any){with("dedupeKey", strings.Repeat("k", 1401))}, []string{"dedupeKey has more than 1400 bytes"}},
		{"all faults at once", []func(map[string]any){with("clientId", "x"), with("createdBy", nil), with("channels", []any{"sms"}), audience("all")}, []string{
			"clientId", "createdBy", "channels[0]", "audience.scope",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(tenant, "e", eventFields(tenant, tc.change...))
			if errors.Is(err, errInvalid) != (tc.wrong != nil) {
				t.Fatalf("got %v, want %q", err, tc.wrong)
			}
			faults := 0
			if err != nil {
				faults = strings.Count(err.Error(), "\n") + 1
			}
			if faults != len(tc.wrong) {
				t.Errorf("%d faults, want %d: %v", faults, len(tc.wrong), err)
			}
			for _, w := range tc.wrong {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not hold %q", err, w)
				}
			}
			if err != nil {
				if word, permanent := code(err); word != "INVALID_EVENT" || !permanent {
					t.Errorf("code %s, permanent %v", word, permanent)
				}
			}
		})
	}
}

func TestPeopleAreNamedOnce(t *testing.T) {
	t.Parallel()
	tenant := Tenant{"c", "d"}
	e, err := parse(tenant, "e", eventFields(tenant, audience(SpecificUsers, "b", "a", "b", "c", "a")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b", "a", "c"}, e.userIDs); diff != "" {
		t.Errorf("people (-want +got):\n%s", diff)
	}
}

func TestTenantOfAPath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"clients/c/condominiums/d/notificationEvents/e": "c/d",
		"notificationEvents/e":                          "notificationEvents",
		"a/b/notificationEvents/e":                      "a/b",
	} {
		name, last := tenantOfPath(path)
		if name != want || last <= path || !strings.HasPrefix(last, path[:strings.LastIndex(path, "/")+1]) {
			t.Errorf("%s: tenant %q, last %q, want %q", path, name, last, want)
		}
	}
	for _, path := range []string{"notificationEvents/e", "a/b/notificationEvents/e", "clients/c/condominiums/d/other/e", "clients/c/condominiums/d/notificationEvents/e/f/g"} {
		if _, err := tenantIn(path); !errors.Is(err, errInvalid) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A dead letter holds what Firestore takes, whatever the event held.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	deep := any("bottom")
	for range 19 {
		deep = map[string]any{"a": deep}
	}
	small := map[string]any{"title": "t", "createdBy": "uid", "metadata": map[string]any{"a": "b"}}
	grown := func(name string, value any) map[string]any {
		out := without(small)
		out[name] = value
		return out
	}
	for _, tc := range []struct {
		name   string
		fields map[string]any
		want   map[string]any
	}{
		{"small", small, small},
		{"large metadata", grown("metadata", map[string]any{"a": strings.Repeat("x", 1<<20)}), without(small, "metadata")},
		{"deep metadata", grown("metadata", deep), without(small, "metadata")},
		{"what nobody knows is large", grown("extra", strings.Repeat("x", 1<<20)), map[string]any{}},
	} {
		got, truncated := snapshotOf(tc.fields)
		if diff := cmp.Diff(tc.want, got); diff != "" || truncated != (len(tc.want) != len(tc.fields)) {
			t.Errorf("%s: truncated %v (-want +got):\n%s", tc.name, truncated, diff)
		}
	}
}

func TestDays(t *testing.T) {
	t.Parallel()
	hour := func(text string) Stats {
		begin, err := time.Parse(hourID, text)
		if err != nil {
			t.Fatal(err)
		}
		return Stats{Begin: begin, ProcessedEvents: 2, DispatchLatency: 6}
	}
	days := Days([]Stats{hour("2026-11-20T22"), hour("2026-11-20T23"), hour("2026-11-21T00")}, time.UTC)
	if len(days) != 2 || days[0].ProcessedEvents != 4 || days[1].ProcessedEvents != 2 || days[0].AverageDispatchLatency() != 3 || days[1].Begin.Hour() != 0 {
		t.Errorf("days %+v", days)
	}
	if (Stats{}).AverageDispatchLatency() != 0 {
		t.Error("an average of nothing")
	}
}
