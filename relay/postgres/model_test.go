package postgres

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"gorm.io/gorm/schema"
)

// column is what schema and model say of one.
type column struct {
	Name, Type, Default string
	Null, Primary       bool
}

// The contract's schema, the database and the GORM model are the same.
func TestModelIsTheSchema(t *testing.T) {
	d := setup(t)
	locked := []column{
		{Name: "id", Type: "uuid", Primary: true},
		{Name: "event_type", Type: "event_type_enum"},
		{Name: "aggregate_type", Type: "aggregate_type_enum"},
		{Name: "aggregate_id", Type: "uuid"},
		{Name: "payload_json", Type: "jsonb"},
		{Name: "created_at", Type: "timestamptz", Default: "now()"},
		{Name: "published_at", Type: "timestamptz", Null: true},
		{Name: "attempt_count", Type: "int4", Default: "0"},
		{Name: "last_error", Type: "text", Null: true},
	}
	rows, err := d.pool.Query(d.ctx, `
		SELECT column_name::text, udt_name::text, coalesce(column_default, ''), is_nullable = 'YES', EXISTS (
			SELECT FROM information_schema.key_column_usage k JOIN information_schema.table_constraints USING (constraint_name, table_name)
			WHERE constraint_type = 'PRIMARY KEY' AND k.table_name = c.table_name AND k.column_name = c.column_name)
		FROM information_schema.columns c WHERE table_name = 'outbox_events' ORDER BY ordinal_position`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[column])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(locked, got); diff != "" {
		t.Errorf("-contract +database\n%s", diff)
	}
	model := modelSchema(t)
	if model.Table != "outbox_events" {
		t.Errorf("the model's table is %s", model.Table)
	}
	var modelled []column
	for _, f := range model.Fields {
		modelled = append(modelled, column{
			Name: f.DBName, Type: strings.ReplaceAll(string(f.DataType), "integer", "int4"), Default: f.DefaultValue,
			Null: !f.NotNull && !f.PrimaryKey, Primary: f.PrimaryKey,
		})
		if pointer := f.FieldType.Kind() == reflect.Pointer; pointer == (f.NotNull || f.PrimaryKey) {
			t.Errorf("%s: its field is a %s, and whether it may be NULL says otherwise", f.DBName, f.FieldType)
		}
	}
	if diff := cmp.Diff(locked, modelled); diff != "" {
		t.Errorf("-contract +model\n%s", diff)
	}
}

func modelSchema(t *testing.T) *schema.Schema {
	t.Helper()
	s, err := schema.Parse(&OutboxEvent{}, &sync.Map{}, schema.NamingStrategy{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestModelHasTheIndexes(t *testing.T) {
	d := setup(t)
	locked := []string{"aggregate_type, aggregate_id", "event_type", "published_at"}
	rows, err := d.pool.Query(d.ctx, `
		SELECT (SELECT string_agg(a.attname, ', ' ORDER BY n) FROM unnest(i.indkey) WITH ORDINALITY k(attnum, n) JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum)
		FROM pg_index i WHERE indrelid = 'outbox_events'::regclass AND NOT indisprimary AND indpred IS NULL ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(locked, got); diff != "" {
		t.Errorf("-contract +database\n%s", diff)
	}
	var modelled []string
	for _, index := range modelSchema(t).ParseIndexes() {
		var names []string
		for _, f := range index.Fields {
			names = append(names, f.DBName)
		}
		modelled = append(modelled, strings.Join(names, ", "))
	}
	slices.Sort(modelled)
	if diff := cmp.Diff(locked, modelled); diff != "" {
		t.Errorf("-contract +model\n%s", diff)
	}
}
