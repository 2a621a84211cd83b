package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"cloud.google.com/go/compute/metadata"
	"golang.org/x/oauth2/google"

	"outboxrelay/cmd/outbox-relay/shell"
)

// cloudScope is what the service's clients ask for.
const cloudScope = "https://www.googleapis.com/auth/cloud-platform"

// account is whose credentials the service would find.
type account struct {
	email  string // "" where the credentials do not tell
	kind   string
	person bool
	err    error // why there are none that work
}

// name is how a finding speaks of the account.
func (a account) name() string {
	if a.email == "" {
		return "the caller"
	}
	return a.email
}

// member is the account as IAM's policies name it, quoted for a shell.
func (a account) member() string {
	switch {
	case a.email != "" && a.person:
		return shell.Quote("user:" + a.email)
	case a.email != "":
		return shell.Quote("serviceAccount:" + a.email)
	}
	return `"user:$(gcloud config get-value account)"`
}

// credentials looks for what the service's clients would find.
func (e *exam) credentials(ctx context.Context) Group {
	g := Group{Name: "credentials"}
	const check = "credentials"
	if !e.anyReal() {
		g.skip(check, "emulators ask for none")
		return g
	}
	ctx, cancel := within(ctx)
	defer cancel()
	const did = "look for application default credentials, and make a token of them"
	e.account = findAccount(ctx)
	if err := e.account.err; err != nil {
		g.add(Finding{
			Check: check, Result: Fail, Did: did, Detail: why(err), Mend: []string{loginCommand},
			Hint: "on Cloud Run the service account of the service is found by itself; elsewhere log in, or set GOOGLE_APPLICATION_CREDENTIALS",
		})
		return g
	}
	f := Finding{Check: check, Result: OK, Did: did, Detail: e.account.kind + ", " + e.account.name()}
	if e.account.person {
		f.Detail += ": what follows is about this person, and not about the service's account"
		f.Hint = "to look with the service account's rights: " + loginCommand + " --impersonate-service-account=EMAIL"
	}
	g.add(f)
	return g
}

// anyReal reports whether one of the services that the catalog needs is Google's
// own.
func (e *exam) anyReal() bool {
	return e.Firestore == "" || e.PubSub == "" || e.Auth == "" && e.handles()
}

// findAccount finds the credentials and makes a token, which proves that they
// still hold. The token itself is dropped.
func findAccount(ctx context.Context) account {
	creds, err := google.FindDefaultCredentials(ctx, cloudScope)
	if err != nil {
		return account{err: err}
	}
	a := readAccount(creds.JSON)
	if len(creds.JSON) == 0 {
		a.email, err = metadata.EmailWithContext(ctx, "default")
		if err != nil {
			return account{err: err}
		}
	}
	if _, err := creds.TokenSource.Token(); err != nil {
		// The answer may repeat what was sent: only its beginning says what is wrong.
		line, _, _ := strings.Cut(err.Error(), "\n")
		a.err = errors.New("make a token: " + line)
	}
	return a
}

// readAccount tells whose a credentials file is. Without one they are the
// platform's.
func readAccount(file []byte) account {
	if len(file) == 0 {
		return account{kind: "the platform's service account"}
	}
	var f struct {
		Type        string `json:"type"`
		Email       string `json:"client_email"`
		Impersonate string `json:"service_account_impersonation_url"`
	}
	if err := json.Unmarshal(file, &f); err != nil {
		return account{err: errors.New("the credentials file is no JSON")}
	}
	a := account{email: f.Email, kind: f.Type, person: f.Type == "authorized_user"}
	if _, rest, ok := strings.Cut(f.Impersonate, "/serviceAccounts/"); ok {
		a.email, _, _ = strings.Cut(rest, ":")
	}
	return a
}
