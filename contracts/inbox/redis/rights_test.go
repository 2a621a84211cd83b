package redis_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"outboxrelay/contracts/inbox/inboxtest"
	"outboxrelay/contracts/inbox/redis"
	"outboxrelay/deploy/local/redis/redistest"
)

// What docs/CONSUMERS.md lists are all the rights that a user of Redis needs for an inbox.
func TestConformsWithTheRightsOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/CONSUMERS.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`redis-cli ACL SETUSER inbox on '>PASSWORD' (.*)`).FindSubmatch(page)
	if found == nil {
		t.Fatal("the page has no command that makes a user")
	}
	admin, name := redistest.Client(t), "inbox-"+uuid.NewString()
	args := []any{"ACL", "SETUSER", name, "on", ">PASSWORD"}
	for rule := range strings.FieldsSeq(strings.ReplaceAll(string(found[1]), "'", "")) {
		args = append(args, rule)
	}
	if err := admin.Do(t.Context(), args...).Err(); err != nil {
		t.Fatal(err)
	}
	defer admin.Do(t.Context(), "ACL", "DELUSER", name)
	o := *admin.Options()
	o.Username, o.Password = name, "PASSWORD"
	client := open(t, &o)
	t.Run("suite", func(t *testing.T) {
		inboxtest.Conformance(t, func(*testing.T) inboxtest.Fixture { return inboxtest.Fixture{Store: redis.New(client)} })
	})
	if err := client.Set(t.Context(), "another", 1, 0).Err(); err == nil {
		t.Error("the user may write other keys")
	}
}
