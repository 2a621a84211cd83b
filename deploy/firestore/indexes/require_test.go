package indexes

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func override(path string, orders ...string) Override {
	o := Override{CollectionGroup: "out", FieldPath: path, Indexes: []Single{}}
	for _, order := range orders {
		o.Indexes = append(o.Indexes, Single{QueryScope: ScopeCollection, Order: order})
	}
	return o
}

func TestRequire(t *testing.T) {
	tagged := On("out", "tags", "at")
	tagged.Fields[0] = Field{FieldPath: "tags", ArrayConfig: Contains}
	file := File{
		Indexes: []Composite{
			On("out", "status", "lane", "createdAt"), On("other", "status", "createdAt"),
			On("out", "status", "shard", "area", "appendedAt"),
			On("out", "tier", "-deadAt"), On("out", "state", "-deadAt"), On("out", "x", "y", "-deadAt"), On("out", "group", "deadAt"),
			On("out", "tier", "outbox", "nextAt"), On("out", "a", "b", "-c"), On("out", "k", "-__name__"), tagged,
		},
		FieldOverrides: []Override{override("payload"), override("payload.id", Ascending), override("latest", Descending)},
	}
	for _, tc := range []struct {
		name, query string
		served      bool
	}{
		{"everything", "", true},
		{"one equality", "status=", true},
		{"one equality by name", "status= +__name__", true},
		{"one equality by name, downwards", "status= -__name__", false},
		{"one equality by name, downwards, with its index", "k= -__name__", true},
		{"two equalities", "status= lane=", true},
		{"null", "status? lane=", true},
		{"everything by name", "+__name__", true},
		{"everything by name, downwards", "-__name__", false},
		{"documents by name", "__name__=", true},
		{"documents by a range of names", "__name__<", true},
		{"one order", "+anything", true},
		{"one order downwards", "-anything", true},
		{"one order with its name", "-anything -__name__", true},
		{"one order, the name against it", "-anything +__name__", false},
		{"a range by its own order", "anything< -anything -__name__", true},
		{"a range and an equality of one field", "a= a<", true},
		{"an order behind the name", "+a +__name__ +b", true},
		{"the lane's query", "status= lane= +createdAt +__name__", true},
		{"the lane's query, its index the other way round", "lane= status= +createdAt", true},
		{"the lane's query downwards", "status= lane= -createdAt", false},
		{"half of the lane's query", "status= +createdAt", false},
		{"the strays' query", "status= lane! +lane +createdAt", true},
		{"the strays' query by one value", "status= lane~ +lane +createdAt", true},
		{"the strays' query, its order left out", "status= lane!", false},
		{"the lane's query in a shard", "status= shard= area= +appendedAt", true},
		{"the lane's query in all shards", "status= area= +appendedAt", false},
		{"the strays' query in a shard", "status= shard= area! +area +appendedAt", true},
		{"the query of odd shards", "status= +shard +area +appendedAt", true},
		{"the query of odd shards, ended early", "status= +shard", false},
		{"a shard by name", "status= shard= +__name__", true},
		{"an order without its index", "status= +nextAttemptAt", false},
		{"an order that ends early", "status= +lane", false},
		{"an order of two without its index", "+status +createdAt", false},
		{"an equality that comes late", "createdAt= +status +lane", false},
		{"an equality and a range", "tier= nextAt<", false},
		{"ranges of two fields", "p< q<", false},
		{"several values", "outbox#", true},
		{"several values, and an equality", "outbox# tier=", true},
		{"several values and a range", "tier= outbox# nextAt< +nextAt", true},
		{"several values by themselves", "outbox# -outbox", true},
		{"several values by themselves, and an equality", "outbox# tier= +outbox", false},
		{"latest first", "tier= -deadAt -__name__", true},
		{"latest first, merged", "tier= state= -deadAt -__name__", true},
		{"latest first, merged with one of two equalities", "tier= x= y= -deadAt", true},
		{"merged, but one equality is in none", "tier= nowhere= -deadAt", false},
		{"merged, but half of an index is too much", "tier= x= -deadAt", false},
		{"merged, but the directions differ", "tier= group= -deadAt", false},
		{"oldest first", "tier= +deadAt", false},
		{"oldest first of a group", "group= +deadAt", true},
		{"a range without an order is upwards", "tier= deadAt<", false},
		{"a range in the order's direction", "tier= deadAt< -deadAt", true},
		{"the name against the order", "tier= -deadAt +__name__", false},
		{"mixed directions", "a= +b -c", true},
		{"mixed directions the other way", "a= -b +c", false},
		{"an exempt field", "payload=", false},
		{"within an exempt field", "status= payload.x=", false},
		{"within an exempt field, where it is not", "payload.id=", true},
		{"an order of it that is not kept", "-payload.id", false},
		{"beside an exempt field", "payloads=", true},
		{"the direction that is kept", "-latest", true},
		{"the direction that is not kept", "+latest", false},
		{"an equality without its direction", "latest=", false},
		{"an array's member", "tags@", true},
		{"one of several members", "tags&", true},
		{"an array's member and an equality", "tags@ status=", false},
		{"an array's member in an order", "tags@ +at", true},
		{"an array's member in an order without its index", "others@ +at", false},
		{"an array's index is none of its value", "tags= +at", false},
		{"either of two equalities", "tier= | state=", true},
		{"either of two equalities in an order", "tier= -deadAt | state=", true},
		{"either of two equalities, one without its index", "tier= -deadAt | nowhere=", false},
		{"an equality or a range", "tier= | deadAt<", false},
		{"an equality or a range, in an order that both have", "tier= | deadAt< -deadAt", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := file.Require(queryText(tc.query))
			if (err == nil) != tc.served {
				t.Errorf("%s: Require = %v, want it served: %v", tc.query, err, tc.served)
			}
			if err != nil && status.Code(err) != codes.FailedPrecondition {
				t.Errorf("%s: code %v, want FailedPrecondition", tc.query, status.Code(err))
			}
		})
	}
}

// TestRequireOfAnyField: an override of every field leaves the queries that
// another override keeps an index for, and those of composite indexes.
func TestRequireOfAnyField(t *testing.T) {
	file := File{
		Indexes:        []Composite{On("out", "a", "b")},
		FieldOverrides: []Override{override(AnyField), override("kept", Ascending), override("map.kept", Ascending)},
	}
	for query, served := range map[string]bool{
		"": true, "+__name__": true, "kept=": true, "map.kept=": true, "map.other=": false, "a= +b": true, "a=": false, "+b": false, "kept= a=": false,
	} {
		if err := file.Require(queryText(query)); (err == nil) != served {
			t.Errorf("%q: Require = %v, want it served: %v", query, err, served)
		}
	}
}

func TestRequireOfACollectionGroup(t *testing.T) {
	group := On("out", "g", "h")
	group.QueryScope = ScopeGroup
	wide := override("n")
	wide.Indexes = []Single{{QueryScope: ScopeGroup, Order: Ascending}}
	file := File{Indexes: []Composite{On("out", "a", "b"), group}, FieldOverrides: []Override{wide}}
	for _, tc := range []struct {
		query string
		group bool
		want  bool
	}{
		{"", true, true},
		{"m=", true, false},
		{"n=", true, true},
		{"n=", false, false},
		{"a= +b", false, true},
		{"a= +b", true, false},
		{"g= +h", true, true},
		{"g= +h", false, false},
	} {
		q := queryText(tc.query)
		q.From[0].AllDescendants = tc.group
		if err := file.Require(q); (err == nil) != tc.want {
			t.Errorf("%q of the group (%v): Require = %v, want it served: %v", tc.query, tc.group, err, tc.want)
		}
	}
}

func TestRequireOfSums(t *testing.T) {
	file := File{Indexes: []Composite{On("out", "a", "n")}}
	for _, tc := range []struct {
		query, sum string
		want       bool
	}{
		{"", "n", true},
		{"a=", "a", true},
		{"a=", "n", true},
		{"b=", "n", false},
		{"n<", "n", true},
	} {
		if err := file.Require(queryText(tc.query), tc.sum); (err == nil) != tc.want {
			t.Errorf("sum of %s where %q: Require = %v, want it served: %v", tc.sum, tc.query, err, tc.want)
		}
	}
}

func TestMissingNamesTheIndexAndTheCommand(t *testing.T) {
	file := File{FieldOverrides: []Override{override("payload")}}
	for _, tc := range []struct{ query, want string }{
		{
			"status= lane= -createdAt",
			`The query requires an index that is not declared: {"collectionGroup":"out","queryScope":"COLLECTION","fields":[` +
				`{"fieldPath":"lane","order":"ASCENDING"},{"fieldPath":"status","order":"ASCENDING"},{"fieldPath":"createdAt","order":"DESCENDING"}]}` +
				` What an outbox needs comes with its catalog: outbox-relay cloud --catalog FILE; other indexes with --indexes FILE.` +
				` Where the relay needs it, declare it in deploy/requirements; in a project of your own: gcloud firestore indexes composite create` +
				` --collection-group='out' --query-scope=collection --field-config=field-path='lane',order=ascending` +
				` --field-config=field-path='status',order=ascending --field-config=field-path='createdAt',order=descending`,
		},
		{
			"payload.x@",
			`The query requires an index that is not declared: {"collectionGroup":"out","fieldPath":"payload.x","indexes":[` +
				`{"queryScope":"COLLECTION","arrayConfig":"CONTAINS"}]}` +
				` What an outbox needs comes with its catalog: outbox-relay cloud --catalog FILE; other indexes with --indexes FILE.` +
				` Where the relay needs it, declare it in deploy/requirements; in a project of your own: gcloud firestore indexes fields update` +
				` 'payload.x' --collection-group='out' --index=array-config=contains`,
		},
	} {
		err := file.Require(queryText(tc.query))
		if err == nil {
			t.Fatalf("%q was let through", tc.query)
		}
		if got := status.Convert(err).Message(); got != tc.want {
			t.Errorf("%q:\n got %s\nwant %s", tc.query, got, tc.want)
		}
	}
}
