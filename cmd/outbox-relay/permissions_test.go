package main

import (
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/contracts"
	"outboxrelay/deploy/local/thorough"
	"outboxrelay/deploy/requirements"
	"outboxrelay/dlq"
)

// TestE2EPermissionsAreThoseOfTheCalls listens to all that the service calls: when it
// starts, sets claims, dead-letters, freezes, replays, releases and ends. Each call's
// permission has to be among those required, and each of those has to be for a
// call that was made.
func TestE2EPermissionsAreThoseOfTheCalls(t *testing.T) {
	thorough.EndToEnd(t)
	c := openConsulate(t)
	tap := &wiretap{t: t, calls: map[string]bool{}}
	env := maps.Clone(c.env)
	env[gcp.EnvFirestore], env[gcp.EnvPubSub], env[gcp.EnvAuth] = tap.grpc(c.env[gcp.EnvFirestore]), tap.grpc(c.env[gcp.EnvPubSub]), tap.http(c.env[gcp.EnvAuth])
	env["SWEEP_INTERVAL"] = "1s"
	addTopic(t, env["CATALOG"])
	c.env = env
	service := c.serve()

	account := c.aggregate("permitted")
	c.user(account, nil)
	good := c.roleChange(account, 1, map[string]any{"accountId": account, "roles": roles(1)})
	c.append(good)
	eventually(t, "claims are set", func() bool { return c.status(good) == contracts.Delivered })

	nobody := c.aggregate("nobody")
	bad := c.roleChange(nobody, 1, map[string]any{"accountId": nobody, "roles": roles(1)})
	c.append(bad)
	id := dlq.ID(keyOf(bad))
	eventually(t, "the record is a dead letter", func() bool { return c.exists(contracts.CollectionDeadLetters, id) })
	c.mustDLQ("viewer", "groups")
	c.user(nobody, nil)
	c.mustDLQ("security", "authorize", id, "--reason", "the user exists now")
	c.mustDLQ("security-2", "replay", id, "--wait", "--reason", "authorized")
	c.mustDLQ("security", "release", nobody, "--reason", "the claims are right")
	eventually(t, "the freeze is gone", func() bool { return !c.exists(contracts.CollectionFrozen, dlq.FreezeID(nobody)) })
	eventually(t, "a sweep counts", func() bool { return slices.Contains(tap.called(), "BeginTransaction") })
	service.signal(t, syscall.SIGTERM)
	service.wait(t)

	catalog, err := loadCatalog("") // without a stand-in: with claims
	if err != nil {
		t.Fatal(err)
	}
	required := requirements.Of(catalog).Permissions
	// A count that the stop cuts off ends with a Rollback, which asks for what
	// BeginTransaction does.
	called := slices.DeleteFunc(tap.called(), func(call string) bool { return call == "Rollback" })
	for _, call := range called {
		if !slices.ContainsFunc(required, func(p requirements.Permission) bool { return slices.Contains(p.Methods, call) }) {
			t.Errorf("the service calls %s, and no permission in deploy/requirements is for it", call)
		}
	}
	for _, p := range required {
		for _, method := range p.Methods {
			if !slices.Contains(called, method) {
				t.Errorf("%s is required for %s, which the service did not call", p.Name, method)
			}
		}
	}
	t.Logf("called: %s", strings.Join(called, ", "))
}

// addTopic gives a target of the catalog in a file a topic that is missing.
func addTopic(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "topic: ier-tag-subscriber", "topic: ier-tag-subscriber-new", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}
