package postgres

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The list is the one of the contract, and the SQL of the migration has the same values in the same order.
func TestMigrationHasTheValuesOfTheList(t *testing.T) {
	text, err := os.ReadFile("migrations/00001_outbox_events.sql")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{"event_type_enum": texts(EventTypes()), "aggregate_type_enum": texts(AggregateTypes())} {
		list := regexp.MustCompile(`(?s)CREATE TYPE ` + name + ` AS ENUM \((.*?)\);`).FindSubmatch(text)
		if list == nil {
			t.Fatalf("the migration has no %s", name)
		}
		var got []string
		for _, value := range regexp.MustCompile(`'([^']*)'`).FindAllSubmatch(list[1], -1) {
			got = append(got, string(value[1]))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -list +migration\n%s", name, diff)
		}
	}
}

func TestDatabaseHasTheValuesOfTheList(t *testing.T) {
	d := setup(t)
	for name, want := range map[string][]string{"event_type_enum": texts(EventTypes()), "aggregate_type_enum": texts(AggregateTypes())} {
		var got []string
		if err := d.pool.QueryRow(d.ctx, fmt.Sprintf("SELECT enum_range(NULL::%s)::text[]", name)).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -list +database\n%s", name, diff)
		}
	}
}

func texts[T ~string](values []T) (out []string) {
	for _, v := range values {
		out = append(out, string(v))
	}
	return out
}

func TestParse(t *testing.T) {
	for _, v := range EventTypes() {
		if got, err := ParseEventType(string(v)); err != nil || got != v || !v.Valid() {
			t.Errorf("%s: %v, %v", v, got, err)
		}
	}
	_, err := ParseAggregateType("shop")
	if err == nil || !strings.Contains(err.Error(), `"shop"`) || !strings.Contains(err.Error(), "vendor_order, checkout_group") {
		t.Errorf("error is %v, want what it is and what it may be", err)
	}
	EventTypes()[0] = "changed"
	if slices.Contains(EventTypes(), "changed") {
		t.Error("the list can be changed from outside")
	}
}
