package auth_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	firebase "firebase.google.com/go/v4"
	gcp "firebase.google.com/go/v4/auth"
	"github.com/google/go-cmp/cmp"

	"outboxrelay/deploy/local/auth"
	"outboxrelay/deploy/local/crashtest"
)

// dial returns the administrator of a project at addr.
func dial(t *testing.T, addr string) *gcp.Client {
	t.Helper()
	t.Setenv("FIREBASE_AUTH_EMULATOR_HOST", addr)
	app, err := firebase.NewApp(context.Background(), &firebase.Config{ProjectID: "p"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := app.Auth(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// users are the IDs, addresses and claims of all users.
func users(t *testing.T, c *gcp.Client) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, u := range must(c.GetUsers(t.Context(), []gcp.UserIdentifier{
		gcp.UIDIdentifier{UID: "a"}, gcp.UIDIdentifier{UID: "b"}, gcp.EmailIdentifier{Email: "new@example.com"}, gcp.EmailIdentifier{Email: "old@example.com"},
	})).Users {
		out[u.UID] = []any{u.Email, u.CustomClaims}
	}
	return out
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestAcknowledgedChangesSurviveAKill(t *testing.T) {
	dir := t.TempDir()
	first := crashtest.StartChild(t, dir)
	c := dial(t, first.Addr)
	for _, uid := range []string{"a", "b"} {
		must(c.CreateUser(t.Context(), (&gcp.UserToCreate{}).UID(uid)))
	}
	must(c.UpdateUser(t.Context(), "a", (&gcp.UserToUpdate{}).Email("old@example.com")))
	must(c.UpdateUser(t.Context(), "a", (&gcp.UserToUpdate{}).Email("new@example.com")))
	if err := c.SetCustomUserClaims(t.Context(), "a", map[string]any{"roles": []string{"admin"}}); err != nil {
		t.Fatal(err)
	}
	if err := c.DeleteUser(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	first.Kill()

	want := map[string]any{"a": []any{"new@example.com", map[string]any{"roles": []any{"admin"}}}}
	second := crashtest.StartChild(t, dir)
	if diff := cmp.Diff(want, users(t, dial(t, second.Addr))); diff != "" {
		t.Errorf("after a kill (-want +got):\n%s", diff)
	}
	req := must(http.NewRequest(http.MethodDelete, "http://"+second.Addr+"/emulator/v1/projects/p/accounts", http.NoBody))
	if err := must(http.DefaultClient.Do(req)).Body.Close(); err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	second.Kill()
	if diff := cmp.Diff(map[string]any{}, users(t, dial(t, crashtest.StartChild(t, dir).Addr))); diff != "" {
		t.Errorf("after all were cleared, and a kill (-want +got):\n%s", diff)
	}
}

func TestALongLogIsCompacted(t *testing.T) {
	dir := t.TempDir()
	s, addr := start(t, auth.Options{DataDir: dir})
	c := dial(t, addr)
	must(c.CreateUser(t.Context(), (&gcp.UserToCreate{}).UID("a").Email("new@example.com")))
	padding := strings.Repeat("x", 900)
	for i := range 1200 {
		if err := c.SetCustomUserClaims(t.Context(), "a", map[string]any{"n": i, "padding": padding}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := sizeOf(t, dir)
	_, addr = start(t, auth.Options{DataDir: dir})
	want := map[string]any{"a": []any{"new@example.com", map[string]any{"n": 1199.0, "padding": padding}}}
	if diff := cmp.Diff(want, users(t, dial(t, addr))); diff != "" {
		t.Errorf("after compaction (-want +got):\n%s", diff)
	}
	if after := sizeOf(t, dir); after > before/100 {
		t.Errorf("%d bytes on disk, %d before it was opened again; want a small part", after, before)
	}
}

func sizeOf(t *testing.T, dir string) (size int64) {
	t.Helper()
	for _, entry := range must(os.ReadDir(dir)) {
		size += must(entry.Info()).Size()
	}
	return size
}

func TestADirectoryIsOpenedOnce(t *testing.T) {
	dir := t.TempDir()
	start(t, auth.Options{DataDir: dir})
	if _, err := auth.Open(auth.Options{DataDir: dir}); err == nil {
		t.Error("a second server opened the same directory")
	}
}
