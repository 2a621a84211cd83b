package notifications

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func testActiveRecipients(t *testing.T, f *fixture) {
	tenant := f.tenant(
		"a",
		person{"ana", "admin", new(true)}, person{"bo", "admin", new(false)}, person{"cy", "admin-assistant", nil}, person{"di", "admin-assistant", new(false)},
		person{"ed", "guard", new(true)}, person{id: "fay"},
	)
	ref := f.event(tenant, with("eventType", "inventory.out_of_stock"), with("module", "inventory"))
	f.mustDispatch(ref, Emitted)
	if diff := cmp.Diff(map[string][]string{"ana": {ref.ID}, "cy": {ref.ID}}, f.bells(tenant)); diff != "" {
		t.Errorf("admins_and_assistants (-want +got):\n%s", diff)
	}
	second := f.event(tenant, audience(Admins))
	f.mustDispatch(second, Emitted)
	if diff := cmp.Diff(map[string][]string{"ana": slices.Sorted(slices.Values([]string{ref.ID, second.ID})), "cy": {ref.ID}}, f.bells(tenant)); diff != "" {
		t.Errorf("admins (-want +got):\n%s", diff)
	}
}

func testSpecificUsers(t *testing.T, f *fixture) {
	tenant := f.tenant("a", person{"ana", "admin", nil}, person{"bo", "resident", new(false)}, person{"cy", "resident", nil}, person{"di", "resident", new(true)})
	ref := f.event(tenant, audience(SpecificUsers, "di", "new", "bo", "cy", "di"))
	f.mustDispatch(ref, Emitted)
	if diff := cmp.Diff(map[string][]string{"cy": {ref.ID}, "di": {ref.ID}, "new": {ref.ID}}, f.bells(tenant)); diff != "" {
		t.Errorf("bells (-want +got):\n%s", diff)
	}
	if got := f.fields(tenant.Path() + "/notificationQueue/" + ref.ID)["recipients"]; !cmp.Equal(got, []any{"di", "new", "cy"}) {
		t.Errorf("recipients %v", got)
	}
}

func testFallback(t *testing.T, f *fixture) {
	tenant := f.tenant("a", person{"ana", "admin", new(false)})
	for _, change := range []func(map[string]any){audience(Admins), audience(AdminsAndAssistants), audience(SpecificUsers), audience(SpecificUsers, "ana")} {
		ref := f.event(tenant, change)
		f.mustDispatch(ref, Emitted)
		if got := f.bells(tenant); len(got) != 1 || !slices.Contains(got["uid"], ref.ID) {
			t.Errorf("bells %v, want the creator's alone", got)
		}
	}
}

func testNoDocuments(t *testing.T, f *fixture) {
	tenant := Tenant{"empty", "empty"}
	for _, test := range []struct {
		change func(map[string]any)
		want   []string
	}{
		{audience(Admins), []string{"uid"}}, // who created it
		{audience(SpecificUsers), []string{"uid"}},
		{audience(SpecificUsers, "ana", "bo"), []string{"ana", "bo"}},
	} {
		ref := f.event(tenant, test.change)
		f.mustDispatch(ref, Emitted)
		var got []string
		for id, bell := range f.bells(tenant) {
			if slices.Contains(bell, ref.ID) {
				got = append(got, id)
			}
		}
		if slices.Sort(got); !slices.Equal(got, test.want) {
			t.Errorf("%v have it, want %v", got, test.want)
		}
	}
}

// people makes so many admins.
func people(n int) []person {
	out := make([]person, n)
	for i := range out {
		out[i] = person{id: fmt.Sprintf("user-%05d", i), role: "admin"}
	}
	return out
}

// everybody is a bell for each with that one event.
func everybody(people []person, eventID string) map[string][]string {
	out := map[string][]string{}
	for _, p := range people {
		out[p.id] = []string{eventID}
	}
	return out
}

func testAudienceStands(t *testing.T, f *fixture) {
	f.settings.BatchSize = 2
	admins := people(5)
	tenant := f.tenant("a", admins...)
	ref := f.event(tenant)
	// Cut short after the first commit.
	counter := &calls{fail: 6, dead: true} // documents, twins, people, commit; documents, commit
	h := f.newHandler(f.client(counter.options()...), nil)
	if _, err := h.attempt(t.Context(), f.claim(h, ref)); err == nil {
		t.Fatal("the attempt was not cut short")
	}
	if got := f.bells(tenant); len(got) != 2 {
		t.Fatalf("%d bells after the first commit, want 2", len(got))
	}
	f.set(f.db.Doc(tenant.Path()+"/users/new"), map[string]any{"role": "admin"})
	f.set(f.db.Doc(tenant.Path()+"/users/user-00000"), map[string]any{"role": "admin", "active": false})
	f.handler = f.newHandler(f.db, nil)
	f.mustDispatch(ref, Emitted)
	if diff := cmp.Diff(everybody(admins, ref.ID), f.bells(tenant)); diff != "" {
		t.Errorf("bells (-want +got):\n%s", diff)
	}
}

// An audience of thousands is read by pages, written in batches, and stands in one
// queue document, with a killed process in between.
func TestAudienceOfThousands(t *testing.T) { testThousands(t, setup(t, onEmbedded(t)), 5000, 25) }

func TestGoogleAudienceOfThousands(t *testing.T) { testThousands(t, setup(t, onGoogle(t)), 1200, 9) }

// testThousands has a process killed at that one of its calls.
func testThousands(t *testing.T, f *fixture, n int, killed int64) {
	admins := people(n)
	for i := range admins { // as long as Firebase makes them
		admins[i].id = fmt.Sprintf("%028d", i)
	}
	tenant := f.tenant("a", admins...)
	ref := f.event(tenant, with("body", strings.Repeat("x", 2000)))
	counter := &calls{fail: killed, dead: true}
	h := f.newHandler(f.client(counter.options()...), nil)
	if _, err := h.attempt(t.Context(), f.claim(h, ref)); err == nil {
		t.Fatal("the attempt was not cut short")
	}
	if got := len(f.bells(tenant)); got == 0 || got == len(admins) {
		t.Fatalf("%d bells when the process was killed, want some", got)
	}
	f.mustDispatch(ref, Emitted)
	if diff := cmp.Diff(everybody(admins, ref.ID), f.bells(tenant)); diff != "" {
		t.Errorf("bells (-want +got):\n%s", diff)
	}
	if got := f.fields(tenant.Path() + "/notificationQueue/" + ref.ID)["recipientsCount"]; got != int64(n) {
		t.Errorf("recipientsCount %v", got)
	}
	if got := f.stats(tenant).NotificationsWritten; got != int64(n) {
		t.Errorf("%d notifications were written, want %d", got, n)
	}
}
