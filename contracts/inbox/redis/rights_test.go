package redis_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"outboxrelay/contracts/inbox"
	"outboxrelay/contracts/inbox/inboxtest"
	"outboxrelay/contracts/inbox/redis"
	"outboxrelay/deploy/local/redis/redistest"
)

// rights are those that docs/CONSUMERS.md lists.
func rights(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/CONSUMERS.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`redis-cli ACL SETUSER inbox on '>PASSWORD' (.*)`).FindSubmatch(page)
	if found == nil {
		t.Fatal("the page has no command that makes a user")
	}
	return strings.Fields(strings.ReplaceAll(string(found[1]), "'", ""))
}

// userWith is a client of a user of the same Redis that has the rights, and ends with the test.
func userWith(t *testing.T, admin *goredis.Client, rights []string) *goredis.Client {
	t.Helper()
	name := "inbox-" + uuid.NewString()
	args := []any{"ACL", "SETUSER", name, "on", ">PASSWORD"}
	for _, rule := range rights {
		args = append(args, rule)
	}
	if err := admin.Do(t.Context(), args...).Err(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.Do(context.Background(), "ACL", "DELUSER", name) })
	o := *admin.Options()
	o.Username, o.Password = name, "PASSWORD"
	return open(t, &o)
}

// What docs/CONSUMERS.md lists are all the rights that a user of Redis needs for an inbox.
func TestConformsWithTheRightsOfThePage(t *testing.T) {
	client := userWith(t, redistest.Client(t), rights(t))
	t.Run("suite", func(t *testing.T) {
		inboxtest.Conformance(t, func(*testing.T) inboxtest.Fixture { return inboxtest.Fixture{Store: redis.New(client)} })
	})
	if err := client.Set(t.Context(), "another", 1, 0).Err(); err == nil {
		t.Error("the user may write other keys")
	}
}

// Without one of these rights a script ends halfway: an event whose mark is refused stays with its claim, so that it is not handled
// again at once, and none is lost to an error for good once the right is there.
func TestRightThatIsMissingLeavesNoEventBehind(t *testing.T) {
	admin := redistest.Client(t)
	full := redis.New(admin)
	all := rights(t)
	for i, right := range all {
		if name, ok := strings.CutPrefix(right, "+"); ok {
			t.Run("without "+name, func(t *testing.T) {
				poor := redis.New(userWith(t, admin, slices.Delete(slices.Clone(all), i, i+1)))
				ask := inbox.Ask{
					Ref:         inbox.Ref{Consumer: "billing", EventID: uuid.NewString(), Token: "first"},
					AggregateID: uuid.NewString(), Version: 1, Lease: time.Minute, Keep: time.Hour,
				}
				claim, err := poor.Claim(t.Context(), ask)
				claimed := err == nil && claim.Verdict == inbox.Claimed
				var settled error
				if claimed {
					settled = poor.Settle(t.Context(), ask.Ref, inbox.EndProcessed, time.Hour)
				}
				other := ask
				other.Token = "second"
				claim, err = full.Claim(t.Context(), other)
				switch {
				case err != nil:
					t.Fatalf("with all rights it cannot be claimed: %v", err)
				case claimed && claim.Verdict == inbox.Claimed:
					t.Errorf("the first claim, whose end is %v, does not stand: the event is handled again at once", settled)
				}
				if claimed && claim.Verdict == inbox.Busy {
					if err := full.Settle(t.Context(), ask.Ref, inbox.EndProcessed, time.Hour); err != nil {
						t.Errorf("with all rights it cannot be settled: %v", err)
					}
				}
			})
		}
	}
}
