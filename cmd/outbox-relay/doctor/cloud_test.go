package doctor_test

import (
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/firestore/apiv1/admin/adminpb"
	"cloud.google.com/go/pubsub/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/cmd/outbox-relay/doctor"
	localauth "outboxrelay/deploy/local/auth"
	localfirestore "outboxrelay/deploy/local/firestore"
	"outboxrelay/deploy/local/thorough"
)

func TestDefinitions(t *testing.T) {
	const index = "accOutbox (status, lane, createdAt)"
	ofIndex := func(d *definitions, change func(*adminpb.Index)) {
		for _, i := range d.indexes {
			if strings.Contains(i.GetName(), "/accOutbox/") && i.GetFields()[0].GetFieldPath() == "status" {
				change(i)
			}
		}
	}
	ofField := func(d *definitions, name string, change func(*adminpb.Field)) {
		for _, f := range d.fields {
			if strings.HasSuffix(f.GetName(), "/accOutbox/fields/"+name) {
				change(f)
			}
		}
	}
	for _, tc := range []struct {
		name   string
		change func(*definitions)
		want   []string
		mend   string // of the first
	}{
		{"all there", func(*definitions) {}, nil, ""},
		{"an index is missing", func(d *definitions) {
			d.indexes = slices.DeleteFunc(d.indexes, func(i *adminpb.Index) bool { return strings.Contains(i.GetName(), "/accOutbox/") })
		}, []string{"indexes fail " + index}, "gcloud firestore indexes composite create '--database=(default)' --collection-group=accOutbox --query-scope=collection " +
			"--field-config=field-path=status,order=ascending --field-config=field-path=lane,order=ascending --field-config=field-path=createdAt,order=ascending --async --project=my-project"},
		{"an index is in the other direction", func(d *definitions) {
			ofIndex(d, func(i *adminpb.Index) { i.Fields[2] = indexField("createdAt", "DESCENDING", "") })
		}, []string{"indexes fail " + index}, ""},
		{"an index is being built", func(d *definitions) {
			ofIndex(d, func(i *adminpb.Index) { i.State = adminpb.Index_CREATING })
		}, []string{"indexes fail " + index}, "gcloud firestore operations list '--database=(default)' --project=my-project"},
		{"an index is broken", func(d *definitions) {
			ofIndex(d, func(i *adminpb.Index) { i.State = adminpb.Index_NEEDS_REPAIR })
		}, []string{"indexes fail " + index}, ""},
		{"a TTL policy is missing", func(d *definitions) {
			ofField(d, "expireAt", func(f *adminpb.Field) { f.TtlConfig = nil })
		}, []string{"ttl warn accOutbox.expireAt"}, "gcloud firestore fields ttls update expireAt '--database=(default)' --collection-group=accOutbox --enable-ttl --async --project=my-project"},
		{"a TTL policy is being applied", func(d *definitions) {
			ofField(d, "expireAt", func(f *adminpb.Field) { f.TtlConfig.State = adminpb.Field_TtlConfig_CREATING })
		}, []string{"ttl warn accOutbox.expireAt"}, ""},
		{"a TTL policy is broken", func(d *definitions) {
			ofField(d, "expireAt", func(f *adminpb.Field) { f.TtlConfig.State = adminpb.Field_TtlConfig_NEEDS_REPAIR })
		}, []string{"ttl fail accOutbox.expireAt"}, ""},
		{"fields are not exempt", func(d *definitions) {
			ofField(d, "payload", func(f *adminpb.Field) { f.IndexConfig.UsesAncestorConfig = true })
		}, []string{"exemptions warn accOutbox.payload"}, "gcloud firestore indexes fields update payload '--database=(default)' --collection-group=accOutbox --disable-indexes --async --project=my-project"},
		{"a field that is queried is exempt", func(d *definitions) {
			ofField(d, "status", func(f *adminpb.Field) { f.IndexConfig.Indexes = nil })
		}, []string{"exemptions fail accOutbox.status"}, "gcloud firestore indexes fields update status '--database=(default)' --collection-group=accOutbox --index=order=ascending --async --project=my-project"},
		{"a collection group that is queried has the indexes of collections alone", func(d *definitions) {
			for _, f := range d.fields {
				if strings.HasSuffix(f.GetName(), "/notificationEvents/fields/status") {
					f.IndexConfig.UsesAncestorConfig = true
				}
			}
		}, []string{"exemptions fail notificationEvents.status"}, "firebase deploy --only=firestore:indexes --project=my-project"},
		{"a database in Datastore mode", func(d *definitions) {
			d.database.Type = adminpb.Database_DATASTORE_MODE
		}, []string{"firestore.database fail"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := complete(t)
			d := defined(c.needs)
			tc.change(d)
			c.AdminOptions = d.serve(t)
			r := c.examine()
			expect(t, r, tc.want...)
			if len(tc.want) == 0 || tc.mend == "" {
				return
			}
			check, _, _ := strings.Cut(tc.want[0], " ")
			if f := r.Of(check)[0]; !slices.Equal(f.Mend, []string{tc.mend}) {
				t.Errorf("mend %q, want %q", f.Mend, tc.mend)
			}
		})
	}
}

// Who may not read definitions learns of missing indexes through the queries.
func TestDefinitionsThatMayNotBeRead(t *testing.T) {
	c := complete(t)
	c.AdminOptions = (&definitions{refuse: status.Error(codes.PermissionDenied, "missing datastore.databases.getMetadata")}).serve(t)
	r := c.examine()
	expect(t, r)
	if f := r.Of("indexes"); len(f) != 1 || f[0].Result != doctor.OK || f[0].Did != "try a query for each index" {
		t.Errorf("indexes: %+v", f)
	}
	for _, check := range []string{"ttl", "exemptions", "firestore.database"} {
		if f := only(t, r, check, ""); f.Result != doctor.Skip || !strings.Contains(f.Detail, "may not read definitions") {
			t.Errorf("%s: %+v", check, f)
		}
	}
}

func TestPublishing(t *testing.T) {
	c := complete(t)
	c.PubSub = (&guarded{closed: []string{topicName("ier-notif-router")}}).serve(t)
	c.withPubSub(func(client *pubsub.Client) {
		for _, topic := range c.needs.Topics {
			c.topic(client, topic.Name)
			c.subscribe(client, topic, topic.Subscription.Name, nil)
		}
	})
	r := c.examine()
	expect(t, r, "pubsub.publish fail ier-notif-router")
	if f := only(t, r, "pubsub.publish", "ier-notif-router"); len(f.Mend) != 1 || !strings.Contains(f.Mend[0], "add-iam-policy-binding ier-notif-router") {
		t.Errorf("%+v", f)
	}
	if n := c.cloud.PubSub.Counts(); len(n.Published) != 0 {
		t.Errorf("published: %v", n.Published)
	}
}

func TestPermissions(t *testing.T) {
	c := complete(t)
	var every []string
	for _, p := range c.needs.Permissions {
		every = append(every, p.Name)
	}
	c.ResourceOptions = granting(t, every...)
	expect(t, c.examine())

	c.ResourceOptions = granting(t, slices.DeleteFunc(every, func(p string) bool { return p == "firebaseauth.users.update" || p == "pubsub.topics.publish" })...)
	r := c.examine()
	expect(t, r, "permissions fail firebaseauth.users.update")
	f := only(t, r, "permissions", "firebaseauth.users.update")
	if want := "gcloud projects add-iam-policy-binding my-project --member=\"user:$(gcloud config get-value account)\" --role=roles/firebaseauth.admin --condition=None"; !slices.Equal(f.Mend, []string{want}) {
		t.Errorf("mend %q, want %q", f.Mend, want)
	}

	// What only --ensure-topics needs is asked for with it alone.
	without := slices.DeleteFunc(slices.Clone(every), func(p string) bool { return p == "pubsub.topics.create" })
	c.ResourceOptions, c.EnsureTopics = granting(t, append(without, "firebaseauth.users.update", "pubsub.topics.publish")...), true
	r = c.examine()
	expect(t, r, "permissions warn pubsub.topics.create")
	if f := only(t, r, "permissions", "pubsub.topics.create"); !strings.Contains(f.Hint, "condition") || len(f.Mend) != 0 {
		t.Errorf("%+v, want a word of conditions, and no grant on the project", f)
	}
}

// What deploy/terraform grants in the project is Firebase Auth's alone: datastore.* has a
// condition on the database's name, pubsub.* is granted on each topic.
func TestGrantsOfTerraform(t *testing.T) {
	terraform := func(t *testing.T) *clinic {
		c := complete(t)
		c.ResourceOptions = granting(t, "firebaseauth.users.get", "firebaseauth.users.update")
		return c
	}
	const inProject = "roles/datastore.user --condition=None"
	t.Run("the calls succeed", func(t *testing.T) {
		r := terraform(t).examine()
		expect(t, r)
		for _, p := range []string{"datastore.entities.get", "datastore.databases.get", "datastore.entities.delete", "pubsub.topics.get"} {
			if f := only(t, r, "permissions", p); !strings.HasPrefix(f.Detail, "not in the whole project, but the call succeeds") {
				t.Errorf("%+v", f)
			}
		}
	})
	t.Run("a call is refused", func(t *testing.T) {
		c := terraform(t)
		c.cloud.Firestore.Faults().Add(localfirestore.Fault{Method: "Commit", Collection: "relay-doctor", Code: codes.PermissionDenied})
		r := c.examine()
		expect(t, r, "firestore.write fail", "permissions fail datastore.entities.create", "permissions fail datastore.entities.update", "permissions fail datastore.entities.delete")
		if f := only(t, r, "permissions", "datastore.entities.create"); len(f.Mend) != 1 || !strings.HasSuffix(f.Mend[0], inProject) {
			t.Errorf("%+v", f)
		}
	})
	t.Run("a topic may not be looked at", func(t *testing.T) {
		c := terraform(t)
		c.PubSub = (&guarded{hidden: []string{topicName("ier-notif-router")}}).serve(t)
		c.withPubSub(func(client *pubsub.Client) {
			for _, topic := range c.needs.Topics {
				c.topic(client, topic.Name)
				c.subscribe(client, topic, topic.Subscription.Name, nil)
			}
		})
		r := c.examine()
		expect(t, r, "permissions fail pubsub.topics.get")
		f := only(t, r, "permissions", "pubsub.topics.get")
		if len(f.Mend) != 1 || !strings.Contains(f.Mend[0], "topics add-iam-policy-binding ier-notif-router") || !strings.HasSuffix(f.Mend[0], "--role=roles/pubsub.viewer") {
			t.Errorf("%+v", f)
		}
	})
	t.Run("no call was made", func(t *testing.T) {
		thorough.EndToEnd(t) // it takes as long as the examination waits
		c := terraform(t)
		c.PubSub = blackHole(t)
		r := c.examine()
		f := only(t, r, "permissions", "pubsub.topics.get")
		if f.Result != doctor.Warn || !strings.Contains(f.Hint, "condition") {
			t.Errorf("%+v", f)
		}
	})
}

// Auth says in a 400, too, that the caller or the project may not.
func TestWhatAuthRefuses(t *testing.T) {
	for message, mend := range map[string]string{
		"INSUFFICIENT_PERMISSION": "--role=roles/firebaseauth.admin",
		"CONFIGURATION_NOT_FOUND": "services enable identitytoolkit.googleapis.com",
		"PROJECT_DISABLED":        "",
	} {
		t.Run(message, func(t *testing.T) {
			c := complete(t)
			if _, err := c.cloud.Auth.Faults().Add(localauth.Fault{Method: localauth.MethodLookup, Status: 400, Message: message}); err != nil {
				t.Fatal(err)
			}
			r := c.examine()
			expect(t, r, "auth.lookup fail")
			if f := only(t, r, "auth.lookup", ""); !strings.Contains(f.Detail, message) || !strings.Contains(strings.Join(f.Mend, " "), mend) || (len(f.Mend) > 0) != (mend != "") {
				t.Errorf("%+v, want %s and to mend it by %q", f, message, mend)
			}
		})
	}
}
