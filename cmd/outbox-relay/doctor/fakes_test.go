package doctor_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"cloud.google.com/go/firestore/apiv1/admin/adminpb"
	"cloud.google.com/go/iam/apiv1/iampb"
	pb "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"cloud.google.com/go/pubsub/v2/pstest"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/deploy/local"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/requirements"
)

// The parts of Google's cloud that no emulator has are played by these: they
// answer as the documentation of the API says. None was held against the real ones.

// serveGRPC serves until the test ends, and returns the address.
func serveGRPC(t *testing.T, register func(*grpc.Server)) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	register(server)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(lis)
	}()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	return lis.Addr().String()
}

// definitions is a Firestore's Admin API.
type definitions struct {
	adminpb.UnimplementedFirestoreAdminServer
	database *adminpb.Database
	indexes  []*adminpb.Index
	fields   []*adminpb.Field
	refuse   error
}

func (d *definitions) GetDatabase(context.Context, *adminpb.GetDatabaseRequest) (*adminpb.Database, error) {
	return d.database, d.refuse
}

func (d *definitions) ListIndexes(context.Context, *adminpb.ListIndexesRequest) (*adminpb.ListIndexesResponse, error) {
	return &adminpb.ListIndexesResponse{Indexes: d.indexes}, d.refuse
}

func (d *definitions) ListFields(_ context.Context, req *adminpb.ListFieldsRequest) (*adminpb.ListFieldsResponse, error) {
	if req.GetFilter() != "indexConfig.usesAncestorConfig:false OR ttlConfig:*" {
		return nil, status.Error(codes.InvalidArgument, "this filter is not supported")
	}
	return &adminpb.ListFieldsResponse{Fields: d.fields}, d.refuse
}

// defined is a database with all that is required, as Firestore lists it.
func defined(needs *requirements.Requirements) *definitions {
	const path = "projects/" + project + "/databases/(default)/collectionGroups/"
	d := &definitions{database: &adminpb.Database{Type: adminpb.Database_FIRESTORE_NATIVE, LocationId: "europe-west1"}}
	for _, want := range needs.Indexes {
		i := &adminpb.Index{
			Name: path + want.CollectionGroup + "/indexes/CICAgJim14AK", State: adminpb.Index_READY,
			QueryScope: adminpb.Index_QueryScope(adminpb.Index_QueryScope_value[want.QueryScope]),
		}
		for _, f := range want.Fields {
			i.Fields = append(i.Fields, indexField(f.FieldPath, f.Order, f.ArrayConfig))
		}
		last := want.Fields[len(want.Fields)-1]
		i.Fields = append(i.Fields, indexField("__name__", last.Order, "")) // which it adds by itself
		d.indexes = append(d.indexes, i)
	}
	for _, want := range needs.FieldOverrides {
		f := &adminpb.Field{Name: path + want.CollectionGroup + "/fields/" + want.FieldPath, IndexConfig: &adminpb.Field_IndexConfig{}}
		for _, single := range want.Indexes {
			f.IndexConfig.Indexes = append(f.IndexConfig.Indexes, &adminpb.Index{
				QueryScope: adminpb.Index_QueryScope(adminpb.Index_QueryScope_value[single.QueryScope]),
				Fields:     []*adminpb.Index_IndexField{indexField(want.FieldPath, single.Order, single.ArrayConfig)},
			})
		}
		if want.TTL {
			f.TtlConfig = &adminpb.Field_TtlConfig{State: adminpb.Field_TtlConfig_ACTIVE}
		}
		d.fields = append(d.fields, f)
	}
	return d
}

func indexField(path, order, array string) *adminpb.Index_IndexField {
	f := &adminpb.Index_IndexField{FieldPath: path}
	if array != "" {
		f.ValueMode = &adminpb.Index_IndexField_ArrayConfig_{ArrayConfig: adminpb.Index_IndexField_CONTAINS}
		return f
	}
	f.ValueMode = &adminpb.Index_IndexField_Order_{Order: adminpb.Index_IndexField_Order(adminpb.Index_IndexField_Order_value[order])}
	return f
}

func (d *definitions) serve(t *testing.T) []option.ClientOption {
	t.Helper()
	return local.ClientOptions(serveGRPC(t, func(s *grpc.Server) { adminpb.RegisterFirestoreAdminServer(s, d) }))
}

// guarded is a Pub/Sub with IAM.
type guarded struct {
	iampb.UnimplementedIAMPolicyServer
	closed []string // topics that the caller may not publish to
	hidden []string // topics that the caller may not look at
}

// React implements pstest.Reactor, of GetTopic.
func (g *guarded) React(req any) (handled bool, ret any, err error) {
	if r, ok := req.(*pb.GetTopicRequest); ok && slices.Contains(g.hidden, r.GetTopic()) {
		return true, &pb.Topic{}, status.Error(codes.PermissionDenied, "User not authorized to perform this action.")
	}
	return false, nil, nil
}

func (g *guarded) TestIamPermissions(_ context.Context, req *iampb.TestIamPermissionsRequest) (*iampb.TestIamPermissionsResponse, error) {
	if slices.Contains(g.closed, req.GetResource()) {
		return &iampb.TestIamPermissionsResponse{}, nil
	}
	return &iampb.TestIamPermissionsResponse{Permissions: req.GetPermissions()}, nil
}

func (g *guarded) serve(t *testing.T) string {
	t.Helper()
	fake := pstest.NewServer(pstest.ServerReactorOption{FuncName: "GetTopic", Reactor: g})
	t.Cleanup(func() { fake.Close() })
	return serveGRPC(t, func(s *grpc.Server) {
		iampb.RegisterIAMPolicyServer(s, g)
		pb.RegisterPublisherServer(s, &fake.GServer)
		pb.RegisterSubscriberServer(s, &fake.GServer)
	})
}

// granting is a Resource Manager in which the caller has some permissions.
func granting(t *testing.T, granted ...string) []option.ClientOption {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Permissions []string `json:"permissions"`
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.URL.Path != "/v3/projects/"+project+":testIamPermissions" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"permissions": slices.DeleteFunc(asked.Permissions, func(p string) bool { return !slices.Contains(granted, p) })})
	}))
	t.Cleanup(server.Close)
	return []option.ClientOption{option.WithEndpoint(server.URL), option.WithHTTPClient(server.Client())}
}

// refuseAll has Firestore refuse every call so.
func refuseAll(err error) localfirestore.Fault {
	return localfirestore.Fault{Code: status.Code(err)}
}
