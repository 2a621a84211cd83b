package indexes

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFileIsReadBack(t *testing.T) {
	file := File{
		Indexes:        []Composite{On("out", "a", "-b")},
		FieldOverrides: []Override{override(AnyField), {CollectionGroup: "out", FieldPath: "expireAt", TTL: true, Indexes: []Single{}}},
	}
	var text bytes.Buffer
	if err := file.Write(&text); err != nil {
		t.Fatal(err)
	}
	got, err := Parse(text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(file, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func TestParseRefusesByName(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"no JSON", "indexes", "read Firestore index definitions"},
		{"an unknown key", `{"indices":[]}`, `"indices"`},
		{"one field", `{"indexes":[{"collectionGroup":"c","queryScope":"COLLECTION","fields":[{"fieldPath":"a","order":"ASCENDING"}]}]}`, `"c": it needs`},
		{"no path", `{"indexes":[{"collectionGroup":"c","queryScope":"COLLECTION","fields":[{"order":"ASCENDING"},{"fieldPath":"a"}]}]}`, "lacks its fieldPath"},
		{"a scope", `{"indexes":[{"collectionGroup":"c","queryScope":"ALL","fields":[{"fieldPath":"a"},{"fieldPath":"b"}]}]}`, `queryScope is "ALL"`},
		{"an order", `{"fieldOverrides":[{"collectionGroup":"c","fieldPath":"a","indexes":[{"queryScope":"COLLECTION","order":"UP"}]}]}`, `order is "UP"`},
		{"both", `{"fieldOverrides":[{"collectionGroup":"c","fieldPath":"a","indexes":[{"queryScope":"COLLECTION","order":"ASCENDING","arrayConfig":"CONTAINS"}]}]}`, "one of"},
		{"no collection", `{"fieldOverrides":[{"fieldPath":"a"}]}`, "needs a collectionGroup"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := Parse([]byte(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Parse = %v, want it to say %q", err, tc.want)
			}
		})
	}
}
