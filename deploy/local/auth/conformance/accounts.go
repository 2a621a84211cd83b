package conformance

import (
	"errors"
	"net/http"
	"slices"

	"firebase.google.com/go/v4/auth"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/iterator"
)

var accounts = []test{
	{"a created user is found by its ID and its address", func(e *env) {
		created, err := e.admin.CreateUser(e.ctx, (&auth.UserToCreate{}).
			UID("alice").Email("Alice@Example.com").Password("secret1").DisplayName("Alice").PhotoURL("https://example.com/a.png"))
		e.ok(err)
		want := auth.UserInfo{
			UID: "alice", Email: "alice@example.com", DisplayName: "Alice", PhotoURL: "https://example.com/a.png", ProviderID: "firebase",
		}
		e.equal(want, *created.UserInfo)
		byEmail, err := e.admin.GetUserByEmail(e.ctx, "alice@example.com")
		e.ok(err)
		for _, u := range []*auth.UserRecord{e.get("alice"), byEmail} {
			e.equal(want, *u.UserInfo)
			if len(u.ProviderUserInfo) != 1 || u.ProviderUserInfo[0].ProviderID != "password" {
				e.Errorf("providers = %v, want the password", u.ProviderUserInfo)
			}
			if u.UserMetadata.CreationTimestamp == 0 || u.TokensValidAfterMillis == 0 {
				e.Errorf("want times of creation and of the password, got %+v, %d", u.UserMetadata, u.TokensValidAfterMillis)
			}
		}
	}},
	{"a user without an ID is given one", func(e *env) {
		u, err := e.admin.CreateUser(e.ctx, &auth.UserToCreate{})
		e.ok(err)
		if len(u.UID) != 28 {
			e.Errorf("ID = %q, want 28 characters", u.UID)
		}
	}},
	{"what is taken is refused", func(e *env) {
		_, err := e.admin.CreateUser(e.ctx, (&auth.UserToCreate{}).UID("alice").Email("alice@example.com"))
		e.ok(err)
		if _, err := e.admin.CreateUser(e.ctx, (&auth.UserToCreate{}).UID("alice")); !auth.IsUIDAlreadyExists(err) {
			e.Errorf("the same ID: %v", err)
		}
		if _, err := e.admin.CreateUser(e.ctx, (&auth.UserToCreate{}).Email("ALICE@example.com")); !auth.IsEmailAlreadyExists(err) {
			e.Errorf("the same address: %v", err)
		}
		e.create("bob")
		if _, err := e.admin.UpdateUser(e.ctx, "bob", (&auth.UserToUpdate{}).Email("alice@example.com")); !auth.IsEmailAlreadyExists(err) {
			e.Errorf("the address of another: %v", err)
		}
	}},
	{"an unknown user is not found", func(e *env) {
		_, lookup := e.admin.GetUser(e.ctx, "nobody")
		_, byEmail := e.admin.GetUserByEmail(e.ctx, "nobody@example.com")
		for name, err := range map[string]error{
			"lookup": lookup, "by address": byEmail,
			"claims": e.admin.SetCustomUserClaims(e.ctx, "nobody", object{"a": 1}),
			"revoke": e.admin.RevokeRefreshTokens(e.ctx, "nobody"),
			"delete": e.admin.DeleteUser(e.ctx, "nobody"),
		} {
			if !auth.IsUserNotFound(err) {
				e.Errorf("%s: %v, want user not found", name, err)
			}
		}
	}},
	{"an update changes what it names", func(e *env) {
		_, err := e.admin.CreateUser(e.ctx, (&auth.UserToCreate{}).UID("alice").Email("alice@example.com").DisplayName("Alice"))
		e.ok(err)
		u, err := e.admin.UpdateUser(e.ctx, "alice", (&auth.UserToUpdate{}).Email("a@example.com").EmailVerified(true).Disabled(true))
		e.ok(err)
		e.equal("a@example.com", u.Email)
		e.equal("Alice", u.DisplayName)
		e.equal([]bool{true, true}, []bool{u.EmailVerified, u.Disabled})
		if _, err := e.admin.GetUserByEmail(e.ctx, "alice@example.com"); !auth.IsUserNotFound(err) {
			e.Errorf("by the old address: %v", err)
		}
		u, err = e.admin.UpdateUser(e.ctx, "alice", (&auth.UserToUpdate{}).DisplayName("").Disabled(false))
		e.ok(err)
		e.equal("", u.DisplayName)
		e.equal(false, u.Disabled)
	}},
	{"several users in one call", func(e *env) {
		e.create("a")
		e.create("b")
		got, err := e.admin.GetUsers(e.ctx, []auth.UserIdentifier{
			auth.UIDIdentifier{UID: "b"}, auth.UIDIdentifier{UID: "nobody"}, auth.UIDIdentifier{UID: "a"}, auth.UIDIdentifier{UID: "a"},
		})
		e.ok(err)
		var ids []string
		for _, u := range got.Users {
			ids = append(ids, u.UID)
		}
		slices.Sort(ids)
		e.equal([]string{"a", "b"}, ids)
		e.equal(1, len(got.NotFound))
	}},
	{"deleted users are gone", func(e *env) {
		for _, uid := range []string{"a", "b", "c"} {
			e.create(uid)
		}
		e.ok(e.admin.DeleteUser(e.ctx, "a"))
		if _, err := e.admin.GetUser(e.ctx, "a"); !auth.IsUserNotFound(err) {
			e.Errorf("after its deletion: %v", err)
		}
		got, err := e.admin.DeleteUsers(e.ctx, []string{"b", "nobody"})
		e.ok(err)
		e.equal([]int{2, 0}, []int{got.SuccessCount, got.FailureCount})
		e.equal([]string{"c"}, e.list())
	}},
	{"users are listed by ID, in pages", func(e *env) {
		for _, uid := range []string{"c", "a", "e", "b", "d"} {
			e.create(uid)
		}
		e.equal([]string{"a", "b", "c", "d", "e"}, e.list())
		var page []*auth.ExportedUserRecord
		pager := iterator.NewPager(e.admin.Users(e.ctx, ""), 2, "")
		token, err := pager.NextPage(&page)
		e.ok(err)
		e.equal([]int{2, 1}, []int{len(page), len(token)})
		count, err := e.admin.QueryUsers(e.ctx, &auth.QueryUsersRequest{ReturnUserInfo: new(false)})
		e.ok(err)
		e.equal(int64(5), count.Count)
		all, err := e.admin.QueryUsers(e.ctx, &auth.QueryUsersRequest{SortBy: auth.UID, Order: auth.Asc})
		e.ok(err)
		e.equal([]int{5, 5}, []int{len(all.Users), int(all.Count)})
	}},
	{"projects know nothing of each other", func(e *env) {
		e.create("alice")
		other := e.adminOf(e.project + "-other")
		if _, err := other.GetUser(e.ctx, "alice"); !auth.IsUserNotFound(err) {
			e.Errorf("in another project: %v", err)
		}
	}},
	{"a project is cleared as a whole", func(e *env) {
		_, err := e.admin.CreateUser(e.ctx, (&auth.UserToCreate{}).UID("alice").Email("alice@example.com"))
		e.ok(err)
		status, _ := e.request("DELETE", "/emulator/v1/projects/"+e.project+"/accounts", "", owner, nil)
		e.equal(http.StatusOK, status)
		e.equal([]string(nil), e.list())
		_, err = e.admin.CreateUser(e.ctx, (&auth.UserToCreate{}).UID("alice").Email("alice@example.com"))
		e.ok(err)
	}},
}

// list is the IDs of all users, in the order in which they come.
func (e *env) list() []string {
	e.Helper()
	var ids []string
	it := e.admin.Users(e.ctx, "")
	for {
		u, err := it.Next()
		if errors.Is(err, iterator.Done) {
			return ids
		}
		e.ok(err)
		ids = append(ids, u.UID)
	}
}

// claims are about custom claims as the administrator sees them.
var claims = []test{
	{"claims are read back as they were set", func(e *env) {
		e.create("alice")
		if got := e.get("alice").CustomClaims; len(got) != 0 {
			e.Errorf("at first: %v, want none", got)
		}
		e.setClaims(object{"roles": []string{"admin", "ops"}, "n": 7, "deep": object{"x": true}})
		want := object{"roles": []any{"admin", "ops"}, "n": 7.0, "deep": object{"x": true}}
		e.equal(want, e.get("alice").CustomClaims)
	}},
	{"a set replaces all, and none are none", func(e *env) {
		e.create("alice")
		e.setClaims(object{"a": 1, "b": 2})
		e.setClaims(object{"c": 3})
		e.equal(object{"c": 3.0}, e.get("alice").CustomClaims)
		e.setClaims(nil)
		if got := e.get("alice").CustomClaims; len(got) != 0 {
			e.Errorf("claims = %v, want none", got)
		}
	}},
	{"other changes leave claims alone, and claims leave the rest", func(e *env) {
		_, err := e.admin.CreateUser(e.ctx, (&auth.UserToCreate{}).UID("alice").Email("alice@example.com").Password("secret1"))
		e.ok(err)
		before := e.get("alice")
		e.setClaims(object{"a": 1})
		after := e.get("alice")
		after.CustomClaims = nil
		if d := cmp.Diff(before, after); d != "" {
			e.Errorf("what setting claims changed besides (-before +after):\n%s", d)
		}
		_, err = e.admin.UpdateUser(e.ctx, "alice", (&auth.UserToUpdate{}).DisplayName("Alice"))
		e.ok(err)
		e.ok(e.admin.RevokeRefreshTokens(e.ctx, "alice"))
		e.equal(object{"a": 1.0}, e.get("alice").CustomClaims)
	}},
}
