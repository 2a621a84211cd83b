package doctor_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cloud.google.com/go/pubsub/v2"

	"outboxrelay/cmd/outbox-relay/doctor"
)

// serviceAccount is a credentials file whose tokens a server of the test makes,
// with its answer's status.
func serviceAccount(t *testing.T, code int) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprint(w, `{"access_token": "hush", "token_type": "Bearer", "expires_in": 3600, "error": "invalid_grant"}`)
	}))
	t.Cleanup(server.Close)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "relay@my-project.iam.gserviceaccount.com", "token_uri": server.URL, "project_id": project,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// beyondEmulators is a complete cloud, but for a Pub/Sub that is Google's own and
// is not dialled.
func beyondEmulators(t *testing.T) *clinic {
	c := complete(t)
	c.PubSub = ""
	c.OpenPubSub = func(context.Context) (*pubsub.Client, error) { return nil, errors.New("not in a test") }
	return c
}

func TestCredentials(t *testing.T) {
	t.Run("of a service account", func(t *testing.T) {
		t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", serviceAccount(t, http.StatusOK))
		c := beyondEmulators(t)
		c.ResourceOptions = granting(t, "datastore.entities.get")
		r := c.examine()
		f := only(t, r, "credentials", "")
		if f.Result != doctor.OK || f.Detail != "service_account, relay@my-project.iam.gserviceaccount.com" {
			t.Errorf("%+v", f)
		}
		p := only(t, r, "permissions", "firebaseauth.users.update")
		want := "gcloud projects add-iam-policy-binding my-project --member=serviceAccount:relay@my-project.iam.gserviceaccount.com --role=roles/firebaseauth.admin --condition=None"
		if p.Result != doctor.Fail || len(p.Mend) != 1 || p.Mend[0] != want {
			t.Errorf("%+v", p)
		}
	})
	t.Run("that do not hold any more", func(t *testing.T) {
		t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", serviceAccount(t, http.StatusUnauthorized))
		r := beyondEmulators(t).examine()
		expect(t, r, "credentials fail")
		f := only(t, r, "credentials", "")
		if len(f.Mend) != 1 || f.Mend[0] != "gcloud auth application-default login" || strings.Contains(f.Detail, "hush") {
			t.Errorf("%+v", f)
		}
		if p := only(t, r, "pubsub", ""); p.Result != doctor.Skip || p.Detail != "there are no credentials" {
			t.Errorf("%+v", p)
		}
	})
	t.Run("that are not there", func(t *testing.T) {
		t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nonexistent.json")
		expect(t, beyondEmulators(t).examine(), "credentials fail")
	})
}
