package firebase

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"google.golang.org/api/option"
	"google.golang.org/api/transport"
	httptransport "google.golang.org/api/transport/http"

	"outboxrelay/contracts"
)

// EnvEmulator is the variable that sends every Firebase client to an emulator.
const EnvEmulator = "FIREBASE_AUTH_EMULATOR_HOST"

// lookAgainAfter is how long missing credentials are taken for granted. Whoever
// adds them waits no longer than that.
const lookAgainAfter = 5 * time.Second

// scopes are those of the Identity Toolkit API.
var scopes = []string{"https://www.googleapis.com/auth/cloud-platform", "https://www.googleapis.com/auth/identitytoolkit"}

// opener makes the client, once there are credentials for it.
type opener struct {
	ctx      context.Context // for what outlives a call: the credentials' own requests
	project  string
	emulator string // HOST:PORT; "": none by option
	base     *http.Transport
	find     func() (*toolkit, error) // open

	busy   chan struct{} // held while the fields below are in use
	opened *toolkit
	lacks  error     // why the last try failed
	tried  time.Time // when
}

// client returns the client, or why there is none. The look for credentials
// knows no context: who waits for it no longer leaves it to whoever comes next.
func (o *opener) client(ctx context.Context) (*toolkit, error) {
	select {
	case o.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, gaveUp(ctx)
	}
	if o.opened != nil {
		defer func() { <-o.busy }()
		return o.opened, nil
	}
	looked := make(chan struct{})
	var found *toolkit
	var lacks error
	go func() { // ends with the look
		defer func() { <-o.busy }()
		defer close(looked)
		found, lacks = o.look()
	}()
	select {
	case <-looked:
		return found, lacks
	case <-ctx.Done():
		return nil, gaveUp(ctx)
	}
}

func gaveUp(ctx context.Context) error {
	return outage(codeOf(ctx.Err()), fmt.Errorf("wait for credentials: %w", ctx.Err()))
}

// look opens the client, unless that failed a moment ago.
func (o *opener) look() (*toolkit, error) {
	if o.lacks != nil && time.Since(o.tried) < lookAgainAfter {
		return nil, o.lacks
	}
	o.opened, o.lacks = o.find()
	o.tried = time.Now()
	return o.opened, o.lacks
}

func (o *opener) open() (*toolkit, error) {
	if address := cmp.Or(os.Getenv(EnvEmulator), o.emulator); address != "" {
		return newToolkit(o.ctx, &http.Client{Transport: asOwner{o.base}, CheckRedirect: asAnswered}, "http://"+address+"/"+host, o.project)
	}
	to, err := o.authorized()
	if err != nil {
		return nil, outage(codeNoCredentials, fmt.Errorf("find credentials of Firebase Auth: %w; run as a service account with role "+
			"roles/firebaseauth.admin, or set GOOGLE_APPLICATION_CREDENTIALS, or %s for an emulator", err, EnvEmulator))
	}
	return newToolkit(o.ctx, &http.Client{Transport: to, CheckRedirect: asAnswered}, production, o.project)
}

// authorized is base with the credentials that this process runs with.
func (o *opener) authorized() (http.RoundTripper, error) {
	creds, err := transport.Creds(o.ctx, option.WithScopes(scopes...))
	if err != nil {
		return nil, err
	}
	if creds == nil {
		return nil, errors.New("none were found")
	}
	return httptransport.NewTransport(o.ctx, o.base, option.WithCredentials(creds))
}

func outage(code string, err error) error {
	return &callError{Failure: &contracts.Failure{Kind: contracts.Outage, Code: code, Err: err}}
}
