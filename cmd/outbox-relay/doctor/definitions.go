package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"

	sdk "cloud.google.com/go/firestore"
	admin "cloud.google.com/go/firestore/apiv1/admin"
	"cloud.google.com/go/firestore/apiv1/admin/adminpb"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"

	"outboxrelay/deploy/firestore/indexes"
	"outboxrelay/deploy/requirements"
)

// definitions compares what the database has with what the catalog asks for:
// composite indexes, TTL policies, exempt fields. Firestore's Admin API tells; where
// it does not, the queries themselves tell of missing indexes, and nothing tells
// of the rest.
func (e *exam) definitions(ctx context.Context, g *Group, client *sdk.Client) {
	checks := []string{"firestore.database", "indexes", "ttl", "exemptions"}
	if e.needs == nil {
		g.skipAll(checks, "there is no catalog")
		return
	}
	reason := "an emulator has no Admin API"
	if e.Firestore == "" || e.AdminOptions != nil {
		var err error
		if reason, err = e.byAdmin(ctx, g); err == nil {
			return
		}
	}
	g.skip("firestore.database", "%s", reason)
	e.byQueries(ctx, g, client)
	g.skipAll([]string{"ttl", "exemptions"}, reason)
}

// byAdmin asks the Admin API. An error means that it was not answered, for the
// reason given; nothing was noted then.
func (e *exam) byAdmin(ctx context.Context, g *Group) (reason string, err error) {
	ctx, cancel := within(ctx)
	defer cancel()
	client, err := admin.NewFirestoreAdminClient(ctx, e.AdminOptions...)
	if err != nil {
		return "the Admin API cannot be connected to: " + why(err), err
	}
	defer client.Close() //nolint:errcheck // nothing was left to write
	path := "projects/" + e.Project + "/databases/" + e.Database
	database, err := client.GetDatabase(ctx, &adminpb.GetDatabaseRequest{Name: path})
	if err != nil {
		return e.adminReason(err), err
	}
	composites, err := all(client.ListIndexes(ctx, &adminpb.ListIndexesRequest{Parent: path + "/collectionGroups/-"}).Next)
	if err != nil {
		return e.adminReason(err), err
	}
	fields, err := all(client.ListFields(ctx, &adminpb.ListFieldsRequest{
		Parent: path + "/collectionGroups/-", Filter: "indexConfig.usesAncestorConfig:false OR ttlConfig:*",
	}).Next)
	if err != nil {
		return e.adminReason(err), err
	}
	g.add(e.native(database))
	e.compareIndexes(g, composites)
	e.compareFields(g, fields)
	return "", nil
}

// adminReason says why the Admin API was not asked to the end. The service itself
// never calls it, so that its account need not be allowed to.
func (e *exam) adminReason(err error) string {
	if codeOf(err) == codes.PermissionDenied {
		return e.account.name() + " may not read definitions, which the service itself need not; roles/datastore.indexAdmin or roles/datastore.viewer may"
	}
	return "the Admin API does not answer: " + why(err)
}

// all reads an iterator of the Admin API to its end.
func all[T any](next func() (T, error)) ([]T, error) {
	var out []T
	for {
		v, err := next()
		if errors.Is(err, iterator.Done) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
}

// native looks whether the database is of the kind that has listeners.
func (e *exam) native(d *adminpb.Database) Finding {
	f := Finding{Check: "firestore.database", Result: OK, Did: "get the database", Detail: "native mode, in " + d.GetLocationId()}
	if d.GetType() != adminpb.Database_FIRESTORE_NATIVE {
		f.Result, f.Detail = Fail, "the database is "+d.GetType().String()+": it has no listeners"
		f.Hint = "the mode of a database is for good: choose another with FIRESTORE_DATABASE"
		f.Mend = []string{e.gcloud("firestore", "databases", "create", "--database=outboxes", "--location="+d.GetLocationId(), "--type=firestore-native")}
	}
	return f
}

// compareIndexes looks for each composite index.
func (e *exam) compareIndexes(g *Group, have []*adminpb.Index) {
	const check, did = "indexes", "list the composite indexes"
	states := make(map[string]adminpb.Index_State, len(have))
	for _, i := range have {
		states[indexKey(collectionOf(i.GetName()), i)] = i.GetState()
	}
	ready := 0
	for _, want := range e.needs.Indexes {
		subject := describeIndex(want)
		switch state, there := states[wantedKey(want)]; {
		case !there:
			g.add(Finding{Check: check, Result: Fail, Subject: subject, Did: did, Detail: "the index is missing: its queries and listeners fail", Mend: []string{e.createIndex(want)}})
		case state == adminpb.Index_READY:
			ready++
		case state == adminpb.Index_CREATING:
			g.add(Finding{
				Check: check, Result: Fail, Subject: subject, Did: did, Detail: "the index is still being built: its queries and listeners fail until then",
				Mend: []string{e.gcloud("firestore", "operations", "list", "--database="+e.Database)}, Hint: "wait, and look again",
			})
		default:
			g.add(Finding{
				Check: check, Result: Fail, Subject: subject, Did: did, Detail: "the index is " + state.String() + ": its queries and listeners fail",
				Mend: []string{e.createIndex(want)}, Hint: "delete the broken one first: gcloud firestore indexes composite list names it",
			})
		}
	}
	if ready > 0 || len(e.needs.Indexes) == 0 {
		g.ok(check, did, "%d of %d composite indexes are ready", ready, len(e.needs.Indexes))
	}
}

// compareFields looks for TTL policies and for the single-field indexes that fields
// have and should have.
func (e *exam) compareFields(g *Group, list []*adminpb.Field) {
	const did = "list the fields with a configuration of their own"
	have := make(map[string]*adminpb.Field, len(list))
	for _, f := range list {
		have[collectionOf(f.GetName())+"/"+lastOf(f.GetName())] = f
	}
	var active, ttls, same int
	for _, want := range e.needs.FieldOverrides {
		subject := want.CollectionGroup + "." + want.FieldPath
		if want.TTL {
			ttls++
			if f, ok := e.ttl(want, have[want.CollectionGroup+"/"+want.FieldPath]); ok {
				active++
			} else {
				f.Check, f.Subject, f.Did = "ttl", subject, did
				g.add(f)
			}
		}
		f := Finding{Check: "exemptions", Subject: subject, Did: did, Mend: []string{e.exempt(want)}}
		missing, needless := differing(want, singles(have, want.CollectionGroup, want.FieldPath))
		switch {
		case len(missing) > 0:
			f.Result, f.Detail = Fail, "the field lacks its single-field index ("+strings.Join(missing, ", ")+"): queries and listeners on it fail"
			g.add(f)
		case len(needless) > 0:
			f.Result = Warn
			f.Detail = "the field has single-field indexes that no query uses (" + strings.Join(needless, ", ") + "): they cost writes, and rising values limit a collection to 500 writes a second"
			g.add(f)
		default:
			same++
		}
	}
	if active > 0 || ttls == 0 {
		g.ok("ttl", did, "%d of %d TTL policies are active", active, ttls)
	}
	if same > 0 || len(e.needs.FieldOverrides) == 0 {
		g.ok("exemptions", did, "%d of %d fields are indexed as they should be", same, len(e.needs.FieldOverrides))
	}
}

// ttl judges the TTL policy of a field; ok is true where it is active.
func (e *exam) ttl(want requirements.FieldOverride, field *adminpb.Field) (f Finding, ok bool) {
	mend := []string{e.enableTTL(want.CollectionGroup, want.FieldPath)}
	switch {
	case field.GetTtlConfig() == nil:
		return Finding{Result: Warn, Detail: "there is no TTL policy: what has expired stays, and is paid for, for ever", Mend: mend}, false
	case field.GetTtlConfig().GetState() == adminpb.Field_TtlConfig_ACTIVE:
		return Finding{}, true
	case field.GetTtlConfig().GetState() == adminpb.Field_TtlConfig_CREATING:
		return Finding{Result: Warn, Detail: "the TTL policy is still being applied", Hint: "wait, and look again"}, false
	}
	return Finding{Result: Fail, Detail: "the TTL policy is " + field.GetTtlConfig().GetState().String(), Mend: mend}, false
}

// automatic is what a field has that nothing is said about.
var automatic = []string{"COLLECTION ASCENDING", "COLLECTION CONTAINS", "COLLECTION DESCENDING"}

// singles are the single-field indexes of a field: those of its own configuration,
// or else of its collection's, or else the automatic ones.
func singles(have map[string]*adminpb.Field, collection, field string) []string {
	for _, path := range []string{field, indexes.AnyField} {
		config := have[collection+"/"+path].GetIndexConfig()
		if config == nil || config.GetUsesAncestorConfig() {
			continue
		}
		out := []string{}
		for _, i := range config.GetIndexes() {
			for _, f := range i.GetFields() {
				out = append(out, i.GetQueryScope().String()+" "+mode(f))
			}
		}
		return out
	}
	return automatic
}

// differing compares the single-field indexes that a field should have with those
// that it has.
func differing(want requirements.FieldOverride, have []string) (missing, needless []string) {
	var wanted []string
	for _, i := range want.Indexes {
		wanted = append(wanted, i.QueryScope+" "+i.Order+i.ArrayConfig)
	}
	return without(wanted, have), without(have, wanted)
}

// mode is how a field is indexed: ASCENDING, DESCENDING or CONTAINS.
func mode(f *adminpb.Index_IndexField) string {
	if f.GetArrayConfig() == adminpb.Index_IndexField_CONTAINS {
		return "CONTAINS"
	}
	return f.GetOrder().String()
}

// indexKey tells one index from another. The document ID at the end is there by
// itself, unless it is asked for in the other direction.
func indexKey(collection string, i *adminpb.Index) string {
	fields := slices.Clone(i.GetFields())
	if n := len(fields); n > 1 && fields[n-1].GetFieldPath() == "__name__" && mode(fields[n-1]) == lastDirection(mode(fields[n-2])) {
		fields = fields[:n-1]
	}
	parts := []string{collection, i.GetQueryScope().String()}
	for _, f := range fields {
		parts = append(parts, f.GetFieldPath()+" "+mode(f))
	}
	return strings.Join(parts, "|")
}

// lastDirection is the direction of the document ID behind a field.
func lastDirection(mode string) string {
	if mode == "DESCENDING" {
		return mode
	}
	return "ASCENDING"
}

func wantedKey(i requirements.CompositeIndex) string {
	parts := []string{i.CollectionGroup, i.QueryScope}
	for _, f := range i.Fields {
		parts = append(parts, f.FieldPath+" "+f.Order+f.ArrayConfig)
	}
	return strings.Join(parts, "|")
}

// describeIndex names an index in a line.
func describeIndex(i requirements.CompositeIndex) string {
	parts := make([]string, len(i.Fields))
	for n, f := range i.Fields {
		parts[n] = f.FieldPath
		if f.Order == "DESCENDING" {
			parts[n] += " desc"
		}
		if f.ArrayConfig != "" {
			parts[n] += " contains"
		}
	}
	return i.CollectionGroup + " (" + strings.Join(parts, ", ") + ")"
}

// collectionOf takes the collection group out of a resource's name.
func collectionOf(name string) string {
	_, rest, _ := strings.Cut(name, "/collectionGroups/")
	collection, _, _ := strings.Cut(rest, "/")
	return collection
}

// lastOf is the last segment of a resource's name, without the quotes that a field
// path may have.
func lastOf(name string) string {
	_, field, _ := strings.Cut(name, "/fields/")
	return strings.Trim(field, "`")
}
