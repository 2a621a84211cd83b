package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/uuid"

	"outboxrelay/cmd/outbox-relay/appender"
	"outboxrelay/cmd/outbox-relay/demo"
	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

// googleAuth names the variable with the address of Google's Auth emulator.
const googleAuth = "OUTBOX_RELAY_GOOGLE_AUTH"

// consulate is a clinic whose service sets claims, with an emulated Auth beside
// it and the apps of its users.
type consulate struct {
	*clinic
	users *demo.Auth
}

// placeWithAuth is a project of its own on Google's emulators where they run, all
// three of them, and else on the embedded cloud.
func placeWithAuth(t *testing.T, embedded func(gcp.Place) gcp.Place) gcp.Place {
	t.Helper()
	at := gcp.Place{
		Project: "p-" + uuid.NewString()[:8], Database: firestore.DefaultDatabaseID,
		Firestore: os.Getenv(googleFirestore), PubSub: os.Getenv(googlePubSub), Auth: os.Getenv(googleAuth),
	}
	switch {
	case at.Firestore == "" || at.PubSub == "":
		return embedded(at)
	case at.Auth == "":
		t.Skip("Google's Auth emulator is not running: see make test-emulators")
	}
	return at
}

// openConsulate is where placeWithAuth is.
func openConsulate(t *testing.T) *consulate {
	t.Helper()
	at := placeWithAuth(t, func(gcp.Place) gcp.Place {
		cloud := startCloud(t)
		cloud.at.Auth = cloud.AuthAddr
		return cloud.at
	})
	return openConsulateAt(t, at)
}

func openConsulateAt(t *testing.T, at gcp.Place) *consulate {
	t.Helper()
	c := &consulate{clinic: openClinicAt(t, at, map[string]string{
		"GOOGLE_CLOUD_PROJECT": at.Project, gcp.EnvFirestore: at.Firestore, gcp.EnvPubSub: at.PubSub, gcp.EnvAuth: at.Auth, envLeaseTerm: standTerm.String(),
	})}
	delete(c.env, "STAND_IN")
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c.users = &demo.Auth{Addr: at.Auth, Project: at.Project, HTTP: &http.Client{Transport: transport}}
	return c
}

// serve starts the service as a process of its own.
func (c *consulate) serve() *child {
	c.t.Helper()
	service := startChild(c.t, c.env, "serve", "--host", "127.0.0.1", "--port", "0", "--ensure-topics")
	c.await(service.stderr)
	return service
}

// admin calls Auth as an administrator does.
func (c *consulate) admin(method string, body, answer any) {
	c.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	url := fmt.Sprintf("http://%s/identitytoolkit.googleapis.com/v1/projects/%s/%s", c.users.Addr, c.users.Project, method)
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer owner")
	resp, err := c.users.HTTP.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: %s", method, resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		c.t.Fatal(err)
	}
}

// user makes a user who has claims of somebody else's already.
func (c *consulate) user(account string, others map[string]any) {
	c.t.Helper()
	if err := c.users.CreateUser(c.t.Context(), account); err != nil {
		c.t.Fatal(err)
	}
	if len(others) == 0 {
		return
	}
	text, err := json.Marshal(others)
	if err != nil {
		c.t.Fatal(err)
	}
	c.admin("accounts:update", map[string]any{"localId": account, "customAttributes": string(text)}, &struct{}{})
}

// claims are a user's custom claims as they stand in Auth.
func (c *consulate) claims(account string) map[string]any {
	c.t.Helper()
	var answer struct {
		Users []struct {
			CustomAttributes string `json:"customAttributes"`
		} `json:"users"`
	}
	c.admin("accounts:lookup", map[string]any{"localId": []string{account}}, &answer)
	claims := map[string]any{}
	if len(answer.Users) != 1 || answer.Users[0].CustomAttributes == "" {
		return claims
	}
	if err := json.Unmarshal([]byte(answer.Users[0].CustomAttributes), &claims); err != nil {
		c.t.Fatal(err)
	}
	return claims
}

// roleChange is a RoleChanged with a payload of the test's.
func (c *consulate) roleChange(account string, v int64, payload map[string]any) appender.Record {
	r := c.record(contracts.SecurityBlock, account, v)
	r.Fields[contracts.FieldPayload] = payload
	return r
}

// roles are an account's after its version v.
func roles(v int64) []any { return []any{"member", fmt.Sprint("role-", v)} }

// signalsOf lists an account's messages on token-refresh-signal, as they arrived.
func (c *consulate) signalsOf(account string) []signalMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.signals), func(s signalMessage) bool { return s.Account != account })
}

// document reads a document of an account's; nil when there is none.
func (c *consulate) document(collection, account string) map[string]any {
	snap, err := c.docs.Collection(collection).Doc(dlq.ID(account)).Get(c.t.Context())
	if err != nil {
		return nil
	}
	return snap.Data()
}

// awaitField listens to a document until a field of it has a value, and tells
// when it heard of that.
func (c *consulate) awaitField(ctx context.Context, path, field string, want any) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, testPatience) // Stop alone leaves goroutines behind
	defer cancel()
	snaps := c.docs.Doc(path).Snapshots(ctx)
	defer snaps.Stop()
	for {
		snap, err := snaps.Next()
		if err != nil {
			return time.Time{}, fmt.Errorf("listen to %s: %w", path, err)
		}
		if snap.Data()[field] == want {
			return time.Now(), nil
		}
	}
}

// with is a and b together.
func with(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}
