package indexes

import (
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// MissingError says that a query has no index. It is a FAILED_PRECONDITION to gRPC.
type MissingError struct{ need need }

// Error names the index and the command that makes it.
func (e *MissingError) Error() string { return e.GRPCStatus().Message() }

// GRPCStatus is what Firestore answers.
func (e *MissingError) GRPCStatus() *status.Status {
	definition, command := e.composite()
	if field, index, ok := e.need.single(); ok {
		definition = Override{CollectionGroup: e.need.collection, FieldPath: field, Indexes: []Single{index}}
		command = fmt.Sprintf("gcloud firestore indexes fields update '%s' --collection-group='%s' --index=%s", field, e.need.collection, keys(index))
		if index.QueryScope == ScopeGroup { // which gcloud cannot make
			command = "firebase deploy --only firestore:indexes, with that among the fieldOverrides of firestore.indexes.json"
		}
	}
	text, err := json.Marshal(definition)
	if err != nil { // strings alone are marshalled
		text = []byte(err.Error())
	}
	return status.Newf(codes.FailedPrecondition, "The query requires an index that is not declared: %s "+
		"What an outbox needs comes with its catalog: outbox-relay cloud --catalog FILE; other indexes with --indexes FILE. "+
		"Where the relay needs it, declare it in deploy/requirements; in a project of your own: %s", text, command)
}

// single is the single-field index that a query lacks; ok is false when it lacks
// a composite one.
func (n *need) single() (field string, index Single, ok bool) {
	if !n.nameFollows() || len(n.equal)+len(n.contains)+len(n.order) != 1 {
		return "", Single{}, false
	}
	index.QueryScope = n.scope
	switch {
	case len(n.order) == 1:
		field, index.Order = n.order[0].FieldPath, n.order[0].Order
	case len(n.contains) == 1:
		field, index.ArrayConfig = n.contains[0], Contains
	default:
		field, index.Order = n.equal[0], Ascending
	}
	return field, index, true
}

// keys renders a single-field index as gcloud takes it.
func keys(s Single) string {
	mode := "order=" + strings.ToLower(s.Order)
	if s.ArrayConfig != "" {
		mode = "array-config=contains"
	}
	return mode
}

// composite is the index that serves the query alone, and the command that makes it.
func (e *MissingError) composite() (definition any, command string) {
	n := &e.need
	c := Composite{CollectionGroup: n.collection, QueryScope: n.scope}
	for _, field := range n.contains {
		c.Fields = append(c.Fields, Field{FieldPath: field, ArrayConfig: Contains})
	}
	for _, field := range n.equal {
		c.Fields = append(c.Fields, Field{FieldPath: field, Order: Ascending})
	}
	c.Fields = append(c.Fields, n.order...)
	if !n.nameFollows() {
		c.Fields = append(c.Fields, Field{FieldPath: nameField, Order: n.name})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "gcloud firestore indexes composite create --collection-group='%s' --query-scope=%s",
		c.CollectionGroup, strings.ReplaceAll(strings.ToLower(c.QueryScope), "_", "-"))
	for _, field := range c.Fields {
		mode := "order=" + strings.ToLower(field.Order)
		if field.ArrayConfig != "" {
			mode = "array-config=contains"
		}
		fmt.Fprintf(&b, " --field-config=field-path='%s',%s", field.FieldPath, mode)
	}
	return c, b.String()
}
